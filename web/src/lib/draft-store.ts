// Texts that a person has started and not submitted yet. They survive switching views and reloading the page; before the
// tab is closed, the person is asked.

import { Store } from './store';

const STORE_MS = 300; // after the last keystroke; a page that goes away stores at once
const MAX_CHARS = 4_000_000; // of all drafts: browsers give a page about five million characters

const stores: { hasDrafts: () => boolean; persist: () => void }[] = [];

/** Drafts by key, which a reload does not lose. Drafts too long to be stored are held in memory only. */
export class DraftStore<T> extends Store<ReadonlyMap<string, T>> {
  #timer = 0;

  constructor(readonly name: string) {
    super(load<T>(name));
    this.subscribe(() => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#persist(), STORE_MS);
    });
    stores.push({ hasDrafts: () => this.get().size > 0, persist: () => this.#persist() });
  }

  put(key: string, draft: T): void {
    this.set(new Map(this.get()).set(key, draft));
  }

  remove(key: string): void {
    if (!this.get().has(key)) return;
    const rest = new Map(this.get());
    rest.delete(key);
    this.set(rest);
  }

  #persist(): void {
    clearTimeout(this.#timer);
    const text = JSON.stringify([...this.get()]);
    try {
      if (this.get().size && text.length <= MAX_CHARS) sessionStorage.setItem(this.name, text);
      else sessionStorage.removeItem(this.name);
    } catch {
      sessionStorage.removeItem(this.name); // no room: what was stored before is older than what is on the page
    }
  }
}

function load<T>(name: string): ReadonlyMap<string, T> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(name) ?? '[]'));
  } catch {
    return new Map();
  }
}

addEventListener('beforeunload', (event) => stores.some(({ hasDrafts }) => hasDrafts()) && event.preventDefault());
addEventListener('pagehide', () => stores.forEach(({ persist }) => persist()));
