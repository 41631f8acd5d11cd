// Texts that a person has started and not submitted yet. They survive switching views and reloading the page; before the
// tab is closed, the person is asked.

import { Value } from './value';

const STORE_MS = 300; // after the last keystroke; a page that goes away stores at once
const CHARS = 4_000_000; // stored at most: browsers give a page about five million characters

const all: { begun: () => boolean; store: () => void }[] = [];

/** A map that a reload does not empty. A text too long to be stored is kept in memory alone. */
export class Kept<T> extends Value<ReadonlyMap<string, T>> {
  #timer = 0;

  /** `isBegun`: whether an entry is worth asking for before the tab is closed. */
  constructor(readonly name: string, isBegun: (entry: T) => boolean = () => true) {
    super(read<T>(name));
    this.watch(() => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#store(), STORE_MS);
    });
    all.push({ begun: () => [...this.get().values()].some(isBegun), store: () => this.#store() });
  }

  put(key: string, entry: T | undefined): void {
    const next = new Map(this.get());
    if (entry === undefined) next.delete(key);
    else next.set(key, entry);
    this.set(next);
  }

  #store(): void {
    clearTimeout(this.#timer);
    const text = JSON.stringify([...this.get()]);
    try {
      if (this.get().size && text.length <= CHARS) sessionStorage.setItem(this.name, text);
      else sessionStorage.removeItem(this.name);
    } catch {
      sessionStorage.removeItem(this.name); // no room; what was stored before is older than what is on the page
    }
  }
}

function read<T>(name: string): ReadonlyMap<string, T> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(name) ?? '[]'));
  } catch {
    return new Map();
  }
}

addEventListener('beforeunload', (event) => all.some(({ begun }) => begun()) && event.preventDefault());
addEventListener('pagehide', () => all.forEach(({ store }) => store()));
