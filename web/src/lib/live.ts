// The live connection to the server, over the socket `/editor` (docs/editor-protocol.md). It reconnects by itself.

import { api, getVaultName, setDefaultVault } from './api';
import { Store } from './store';
import { getToken } from './token';

const RETRY_MS = [250, 500, 1000, 2000, 4000, 8000, 15000]; // before each attempt to reconnect; the last one repeats
const ANSWER_MS = 15000; // a server on this machine answers at once; one that stays silent is gone
const REFUSED_CODE = 1008; // with which the server closes a connection whose token is wrong

export type LiveState =
  | { status: 'starting' }
  | { status: 'connected' }
  /** With an access token, the page can send requests but receives no events. */
  | { status: 'limited' }
  | { status: 'lost'; seconds: number }
  | { status: 'refused'; reason: string; command?: string };

export interface Hello {
  vault: string;
  vaults: string[];
  shareSelection: boolean;
  assistants: number;
  version: string;
}

type Params = Record<string, unknown>;
type Handler = (params: any) => unknown;

class LiveError extends Error {
  /** `isRefusal`: the server answered, and refused the request. */
  constructor(message: string, readonly isRefusal = false) {
    super(message);
  }
}

class LiveConnection {
  readonly state = new Store<LiveState>({ status: 'starting' });
  readonly hello = new Store<Hello | null>(null);
  #socket: WebSocket | null = null;
  #pending = new Map<number, { resolve: (value: any) => void; reject: (error: Error) => void }>();
  #handlers = new Map<string, Set<Handler>>();
  #nextId = 1;
  #attempts = 0;
  #timer = 0;

  constructor() {
    addEventListener('online', () => this.#retryNow());
    document.addEventListener('visibilitychange', () => document.hidden || this.#retryNow());
  }

  /** Handles a message from the server, such as `proposalOpened`. If it is a request, what the handler returns is the answer. */
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
    socket.onopen = () => this.#sendHello(socket);
    socket.onmessage = (event) => this.#handleMessage(JSON.parse(event.data));
    socket.onclose = (event) => this.#handleClose(socket, event.code);
  }

  /** Opens a new connection, as another vault needs one. */
  reconnect(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.connect();
  }

  async #sendHello(socket: WebSocket): Promise<void> {
    const abilities = { proposals: true, activity: true, open: true };
    const vault = getVaultName();
    try {
      const hello = await this.request<Hello>('hello', { app: 'page', protocol: 1, token: getToken(), abilities, ...(vault && { vault }) });
      this.#attempts = 0;
      if (!vault) setDefaultVault(hello.vault);
      this.hello.set(hello);
      this.state.set({ status: 'connected' });
    } catch (error) {
      if (error instanceof LiveError && error.isRefusal) {
        this.#socket = null; // trying again with the same token would not help
        void this.#handleRefusal(error.message);
      }
      socket.close();
    }
  }

  #handleClose(socket: WebSocket, code: number): void {
    if (this.#socket !== null && socket !== this.#socket) return;
    for (const { reject } of this.#pending.values()) reject(new LiveError('The connection to the server was lost.'));
    this.#pending.clear();
    if (socket !== this.#socket) return;
    this.#socket = null;
    if (code === REFUSED_CODE) return void this.#handleRefusal('The token is missing or wrong.');
    const delay = RETRY_MS[Math.min(this.#attempts++, RETRY_MS.length - 1)] ?? 0;
    this.#timer = setTimeout(() => this.connect(), delay * (0.8 + Math.random() * 0.4));
    this.state.set({ status: 'lost', seconds: Math.max(1, Math.round(delay / 1000)) });
  }

  /** The socket is for the bridge's own token only. With an access token, the page shows what that token may see. */
  async #handleRefusal(reason: string): Promise<void> {
    const home = await api<{ vault: string; vaults: string[] }>('home', { query: { limit: 1 } }).catch(() => null);
    this.state.set(home ? { status: 'limited' } : { status: 'refused', reason });
    if (home && !getVaultName()) setDefaultVault(home.vault);
    if (home) this.hello.set({ vault: home.vault, vaults: home.vaults, shareSelection: false, assistants: 0, version: '' });
  }

  /** Whether the server can be expected to answer. */
  isReachable(): boolean {
    return ['connected', 'limited'].includes(this.state.get().status);
  }

  #retryNow(): void {
    if (this.#timer) this.connect();
  }

  async #handleMessage(message: { id?: number; method?: string; params?: Params; result?: unknown; error?: { message: string } }): Promise<void> {
    if (message.method === undefined) {
      const pending = this.#pending.get(message.id ?? 0);
      this.#pending.delete(message.id ?? 0);
      if (message.error) pending?.reject(new LiveError(message.error.message, true));
      else pending?.resolve(message.result);
      return;
    }
    let result: unknown;
    for (const handler of this.#handlers.get(message.method) ?? []) result = (await handler(message.params ?? {})) ?? result;
    if (message.id !== undefined && this.#isOpen()) this.#send({ id: message.id, result: result ?? { done: false } });
  }

  #isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  #send(message: object): void {
    if (!this.#isOpen()) throw new LiveError('The server is not connected at the moment.');
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Sends a notification. It is dropped while the server is away. */
  notify(method: string, params: Params): void {
    if (this.state.get().status === 'connected' && this.#isOpen()) this.#send({ method, params });
  }

  /** Sends a request and waits for its answer. Throws LiveError. */
  request<T>(method: string, params: Params = {}): Promise<T> {
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new LiveError('The server did not answer in time.'));
        this.#socket?.close();
      }, ANSWER_MS);
      this.#pending.set(id, {
        resolve: (value) => (clearTimeout(timer), resolve(value)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      });
      try {
        this.#send({ id, method, params });
      } catch (error) {
        this.#pending.delete(id);
        clearTimeout(timer);
        reject(error);
      }
    });
  }
}

export const live = new LiveConnection();
