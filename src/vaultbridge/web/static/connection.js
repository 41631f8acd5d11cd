// The page's connection to the bridge: `/editor` (docs/editor-protocol.md) and the tools of Bridge v1.

const WAITS = [250, 500, 1000, 2000, 4000, 8000, 15000]; // ms before the next attempt; the last one repeats
const ASK_MS = 15000; // a bridge on this machine answers at once; a silent one is gone

class Bridge {
  #socket = null;
  #asked = new Map();
  #next = 1;
  #tries = 0;
  #timer = 0;
  #hasVaults = null;

  /** `on`: state(word, why), greeted(hello), and one method for each message of the bridge. */
  constructor(token, on) {
    this.token = token;
    this.on = on;
    this.vault = '';
    addEventListener('online', () => this.#hurry());
    document.addEventListener('visibilitychange', () => document.hidden || this.#hurry());
  }

  connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/editor`, 'vaultbridge.editor.v1');
    this.#socket = socket;
    socket.onopen = () => this.#greet(socket);
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#lost(socket, event.code);
  }

  async #greet(socket) {
    const abilities = { diffs: true, open: true };
    try {
      const hello = await this.ask('hello', { app: 'page', protocol: 1, token: this.token, abilities });
      this.#tries = 0;
      this.vault = hello.vault;
      this.#hasVaults = null;
      this.on.state('connected');
      this.on.greeted(hello);
    } catch (error) {
      if (error.refused) {
        this.#socket = null; // another attempt with the same token would not help
        this.on.state('refused', error.message);
      }
      socket.close();
    }
  }

  #lost(socket, code) {
    for (const asked of this.#asked.values()) asked.fail(new Error('The connection to the bridge was lost.'));
    this.#asked.clear();
    if (socket !== this.#socket) return;
    this.#socket = null;
    if (code === 1008) return this.on.state('refused', 'The token is missing or wrong.');
    const wait = WAITS[Math.min(this.#tries++, WAITS.length - 1)];
    this.#timer = setTimeout(() => this.connect(), wait * (0.8 + Math.random() * 0.4));
    this.on.state('lost', `Trying again in ${Math.max(1, Math.round(wait / 1000))} s.`);
  }

  #hurry() {
    if (this.#timer) this.connect();
  }

  async #receive(message) {
    if (message.method === undefined) {
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      if (message.error) asked?.fail(Object.assign(new Error(message.error.message), { refused: true }));
      else asked?.done(message.result);
      return;
    }
    const answer = await this.on[message.method]?.(message.params ?? {});
    if (message.id !== undefined) this.#send({ id: message.id, result: answer ?? { done: false } });
  }

  #send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) throw new Error('The bridge is not connected at the moment.');
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  tell(method, params) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send({ method, params });
  }

  /** The answer; an error of the bridge has `refused`. */
  ask(method, params = {}) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#asked.delete(id);
        reject(new Error('The bridge did not answer in time.'));
        this.#socket?.close();
      }, ASK_MS);
      const ending = (end) => (value) => (clearTimeout(late), end(value));
      this.#asked.set(id, { done: ending(resolve), fail: ending(reject) });
      try {
        this.#send({ id, method, params });
      } catch (error) {
        this.#asked.delete(id);
        ending(reject)(error);
      }
    });
  }

  /** The content of a tool's answer. */
  async tool(name, args) {
    this.#hasVaults ??= await this.#fetch('tools').then(
      ({ tools }) => tools.some((tool) => tool.name === 'search' && tool.inputSchema.properties?.vault));
    const vault = this.#hasVaults ? { vault: this.vault } : {};
    const answer = await this.#fetch(`tools/${name}/call`, JSON.stringify({ arguments: { ...args, ...vault } }));
    if (!answer.success) throw new Error((answer.content?.[0]?.text ?? 'The tool failed.').replace(/^Error: /, ''));
    return answer.content;
  }

  async #fetch(path, body) {
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' };
    let response;
    try {
      response = await fetch(`/bridge/v1/${path}`, { method: body ? 'POST' : 'GET', headers, body });
    } catch {
      throw new Error('The bridge cannot be reached at the moment.');
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.message ?? `The bridge answered ${response.status}.`);
    return answer;
  }
}

export { Bridge };
