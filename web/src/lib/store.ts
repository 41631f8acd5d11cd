// A value that views subscribe to: the only kind of state that they share.

import { useEffect, useState } from 'preact/hooks';

export class Store<T> {
  #value: T;
  #subscribers = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const subscriber of [...this.#subscribers]) subscriber(value);
  }

  /** Calls `subscriber` after every change. Call the result to unsubscribe. */
  subscribe(subscriber: (value: T) => void): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }
}

/** The current value; the component is rendered again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, render] = useState(0);
  const value = store.get();
  useEffect(() => {
    // It may have changed since the component was rendered.
    if (!Object.is(store.get(), value)) render((n) => n + 1);
    return store.subscribe(() => render((n) => n + 1));
  }, [store]);
  return value;
}
