/** Tells stale answers from fresh ones, in whatever order answers and events arrive: the server may have changed a thing after
 * it wrote an answer that comes late. Everything that is received about a `key` passes `accept` before it is stored. */
export class RequestOrder {
  #last = 0;
  #accepted = new Map<string, number>();

  /** Call this when a request is sent, and pass the result to `accept` when it is answered. */
  start(): number {
    return ++this.#last;
  }

  /** Whether nothing newer was accepted. An event answers no request, so it is as new as it can be. */
  accept(key: string, started = this.start()): boolean {
    if (started < (this.#accepted.get(key) ?? 0)) return false;
    this.#accepted.set(key, started);
    return true;
  }

  /** Forgets everything: the keys mean other things now, as after a restart of the server. */
  clear(): void {
    this.#accepted.clear();
  }
}
