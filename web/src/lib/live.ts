// The live connection to the server: the socket `/editor` (docs/editor-protocol.md), kept open.

import { api, setDefaultVault, vaultName } from './api';
import { token } from './token';
import { Value } from './value';

const WAITS = [250, 500, 1000, 2000, 4000, 8000, 15000]; // ms before the next attempt; the last one repeats
const ASK_MS = 15000; // a server on this machine answers at once; a silent one is gone
const REFUSED = 1008; // the code with which the server closes a connection whose token is wrong

export type LiveState =
  | { word: 'starting' }
  | { word: 'connected' }
  /** An access token: the page can ask, but hears nothing by itself. */
  | { word: 'limited' }
  | { word: 'lost'; seconds: number }
  | { word: 'refused'; why: string };

export interface Hello {
  vault: string;
  vaults: string[];
  shareSelection: boolean;
  assistants: number;
  version: string;
}

type Params = Record<string, unknown>;
type Handler = (params: any) => unknown;

export class LiveError extends Error {
  /** `refused`: the server answered, and its answer is no. */
  constructor(message: string, readonly refused = false) {
    super(message);
  }
}

export class Live {
  readonly state = new Value<LiveState>({ word: 'starting' });
  readonly hello = new Value<Hello | null>(null);
  #socket: WebSocket | null = null;
  #asked = new Map<number, { done: (value: any) => void; fail: (error: Error) => void }>();
  #handlers = new Map<string, Set<Handler>>();
  #next = 1;
  #tries = 0;
  #timer = 0;

  constructor() {
    addEventListener('online', () => this.#hurry());
    document.addEventListener('visibilitychange', () => document.hidden || this.#hurry());
  }

  /** Acts on a message of the server, such as `proposalOpened`. What a handler of a request returns is the answer. */
  on(method: string, handler: Handler): () => void {
    const handlers = this.#handlers.get(method) ?? new Set();
    this.#handlers.set(method, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  connect(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/editor`, 'vaultbridge.editor.v1');
    this.#socket = socket;
    socket.onopen = () => this.#greet(socket);
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#lost(socket, event.code);
  }

  /** Connect anew, as after a change of vault. */
  reconnect(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.connect();
  }

  async #greet(socket: WebSocket): Promise<void> {
    const abilities = { proposals: true, activity: true, open: true };
    const vault = vaultName();
    try {
      const hello = await this.ask<Hello>('hello', { app: 'page', protocol: 1, token: token(), abilities, ...(vault && { vault }) });
      this.#tries = 0;
      if (!vault) setDefaultVault(hello.vault);
      this.hello.set(hello);
      this.state.set({ word: 'connected' });
    } catch (error) {
      if (error instanceof LiveError && error.refused) {
        this.#socket = null; // another attempt with the same token would not help
        void this.#refused(error.message);
      }
      socket.close();
    }
  }

  #lost(socket: WebSocket, code: number): void {
    if (this.#socket !== null && socket !== this.#socket) return;
    for (const asked of this.#asked.values()) asked.fail(new LiveError('The connection to the server was lost.'));
    this.#asked.clear();
    if (socket !== this.#socket) return;
    this.#socket = null;
    if (code === REFUSED) return void this.#refused('The token is missing or wrong.');
    const wait = WAITS[Math.min(this.#tries++, WAITS.length - 1)] ?? 0;
    this.#timer = setTimeout(() => this.connect(), wait * (0.8 + Math.random() * 0.4));
    this.state.set({ word: 'lost', seconds: Math.max(1, Math.round(wait / 1000)) });
  }

  /** The socket is for the bridge's own token. With an access token the page shows what that one shows. */
  async #refused(why: string): Promise<void> {
    interface Seen { vault: string; vaults: string[] }
    const seen = await api<Seen>('home', { query: { limit: 1 } }).catch(() => null);
    this.state.set(seen ? { word: 'limited' } : { word: 'refused', why });
    if (seen && !vaultName()) setDefaultVault(seen.vault);
    if (seen) this.hello.set({ vault: seen.vault, vaults: seen.vaults, shareSelection: false, assistants: 0, version: '' });
  }

  /** Whether the server answers requests now. */
  isUp(): boolean {
    return ['connected', 'limited'].includes(this.state.get().word);
  }

  #hurry(): void {
    if (this.#timer) this.connect();
  }

  async #receive(message: { id?: number; method?: string; params?: Params; result?: unknown; error?: { message: string } }): Promise<void> {
    if (message.method === undefined) {
      const asked = this.#asked.get(message.id ?? 0);
      this.#asked.delete(message.id ?? 0);
      if (message.error) asked?.fail(new LiveError(message.error.message, true));
      else asked?.done(message.result);
      return;
    }
    let answer: unknown;
    for (const handler of this.#handlers.get(message.method) ?? []) answer = (await handler(message.params ?? {})) ?? answer;
    if (message.id !== undefined && this.#isOpen()) this.#send({ id: message.id, result: answer ?? { done: false } });
  }

  #isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  #send(message: object): void {
    if (!this.#isOpen()) throw new LiveError('The server is not connected at the moment.');
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** A notification; dropped while the server is away. */
  tell(method: string, params: Params): void {
    if (this.state.get().word === 'connected' && this.#isOpen()) this.#send({ method, params });
  }

  /** The answer to a request. Throws LiveError. */
  ask<T>(method: string, params: Params = {}): Promise<T> {
    const id = this.#next++;
    return new Promise<T>((resolve, reject) => {
      const late = setTimeout(() => {
        this.#asked.delete(id);
        reject(new LiveError('The server did not answer in time.'));
        this.#socket?.close();
      }, ASK_MS);
      this.#asked.set(id, {
        done: (value) => (clearTimeout(late), resolve(value)),
        fail: (error) => (clearTimeout(late), reject(error)),
      });
      try {
        this.#send({ id, method, params });
      } catch (error) {
        this.#asked.delete(id);
        clearTimeout(late);
        reject(error);
      }
    });
  }
}

export const live = new Live();
