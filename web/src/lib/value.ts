// A value that views watch: the one kind of state that is shared between them.

import { useEffect, useState } from 'preact/hooks';

export class Value<T> {
  #value: T;
  #watchers = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  /** Calls `watcher` after every change; the result ends that. */
  watch(watcher: (value: T) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** Which of several answers and events about the same thing is the newest, in whatever order they arrive. Everything about
 * a `name` passes `take` before it is stored: the server may have changed the thing after it wrote an answer that comes late. */
export class Order {
  #turn = 0;
  #taken = new Map<string, number>();

  /** Call it when a question is sent, and `take` with its result when the answer is there. */
  ask(): number {
    return ++this.#turn;
  }

  /** Whether nothing newer was taken. What comes by itself, such as an event, has no question: it is of this moment. */
  take(name: string, asked = this.ask()): boolean {
    if (asked < (this.#taken.get(name) ?? 0)) return false;
    this.#taken.set(name, asked);
    return true;
  }

  /** The names mean other things from now on, as after a restart of the server. */
  clear(): void {
    this.#taken.clear();
  }
}

/** The value now; the component is drawn again when it changes. */
export function useValue<T>(value: Value<T>): T {
  const [, draw] = useState(0);
  const seen = value.get();
  useEffect(() => {
    // It may have changed between drawing and now.
    if (!Object.is(value.get(), seen)) draw((n) => n + 1);
    return value.watch(() => draw((n) => n + 1));
  }, [value]);
  return seen;
}
