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
