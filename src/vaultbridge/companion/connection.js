// The connection.

/** The bridge refused; the message is its own. */
class Refusal extends Error {}

const LOST = new Error('The connection to the bridge was lost.');

/** The connection to a bridge: finds it, says hello, and reconnects by itself after a loss. */
class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Map<number, Asked>} */ #asked = new Map();
  /** @type {number | undefined} */ #timer;
  #next = 1;
  #tries = 0;
  /** The number of the current attempt; an older one that resumes late stops. */
  #round = 0;
  /** @type {ConnectionState} */ state = 'off';
  why = '';

  /** @param {() => Endpoint[]} find @param {() => object} greeting @param {Listener} on */
  constructor(find, greeting, on) {
    this.find = find;
    this.greeting = greeting;
    this.on = on;
  }

  /** Connect, or reconnect at once. */
  connect() {
    this.#disconnect();
    this.#tries = 0;
    this.#setState('connecting', '');
    void this.#try();
  }

  /** The app is visible or online again: stop waiting, and check whether the connection still works. */
  hurry() {
    if (this.#timer !== undefined) this.connect();
    else if (this.state === 'connected') void this.ask('ping').catch(() => null);
  }

  stop() {
    this.#disconnect();
    this.#setState('off', '');
  }

  #disconnect() {
    this.#round++;
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
    const socket = this.#socket;
    this.#socket = null;
    if (socket) this.#discard(socket);
    this.#failAll();
  }

  /** Close it and ignore what it still sends. @param {WebSocket} socket */
  #discard(socket) {
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
    socket.close();
  }

  /** @param {ConnectionState} state @param {string} why */
  #setState(state, why) {
    this.state = state;
    this.why = why;
    this.on.state(state, why);
  }

  async #try() {
    const round = ++this.#round;
    this.#timer = undefined;
    let endpoints;
    try {
      endpoints = this.find();
    } catch (error) {
      // The settings are wrong, and only a person can change that: no further attempt.
      this.#setState('refused', /** @type {Error} */ (error).message);
      return;
    }
    let why = 'No bridge is running for this vault. “vaultbridge serve” starts one.';
    let refused = false;
    for (const endpoint of endpoints) {
      const problem = await this.#greet(endpoint, round);
      if (round !== this.#round || problem === null) return;
      refused = problem instanceof Refusal;
      why = problem.message;
    }
    this.#wait(refused ? 'refused' : 'waiting', why);
  }

  /** @param {ConnectionState} state @param {string} why */
  #wait(state, why) {
    const seconds = WAITS[Math.min(this.#tries++, WAITS.length - 1)];
    // The random part keeps editors from reconnecting all at the same moment.
    this.#timer = window.setTimeout(() => void this.#try(), seconds * 1000 * (0.8 + Math.random() * 0.4));
    this.#setState(state, why);
  }

  /** Null on success. @param {Endpoint} endpoint @param {number} round @returns {Promise<Error | null>} */
  async #greet(endpoint, round) {
    let socket;
    try {
      socket = new WebSocket(endpoint.url, SUBPROTOCOL);
    } catch {
      return new Error('The app does not allow a connection to this address.');
    }
    this.#socket = socket;
    socket.onmessage = (event) => this.#receive(socket, event.data);
    try {
      await this.#expect((id) => {
        socket.onopen = () => this.#asked.get(id)?.done(null);
        socket.onerror = socket.onclose = () => this.#failAll(new Error('The bridge cannot be reached at its address.'));
      });
      socket.onerror = null;
      socket.onclose = (event) => this.#failAll(event.code === 1008 ? new Refusal('The token is missing or wrong.') : LOST);
      const hello = await this.ask('hello', { protocol: 1, token: endpoint.token, vault: endpoint.vault, ...this.greeting() });
      if (round !== this.#round) return null;
      this.#tries = 0;
      socket.onclose = () => this.#lost(socket);
      this.#setState('connected', '');
      this.on.greeted(hello);
      return null;
    } catch (error) {
      if (this.#socket === socket) this.#socket = null;
      this.#discard(socket);
      return /** @type {Error} */ (error);
    }
  }

  /** @param {WebSocket} socket */
  #lost(socket) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#failAll();
    this.#wait('waiting', LOST.message);
  }

  /** @param {Error} [error] */
  #failAll(error = LOST) {
    for (const asked of [...this.#asked.values()]) asked.fail(error);
  }

  /** @param {WebSocket} socket @param {string} data */
  async #receive(socket, data) {
    if (socket !== this.#socket) return;
    const message = JSON.parse(data);
    if (message.method === undefined) {
      const asked = this.#asked.get(message.id);
      if (message.error) asked?.fail(new Refusal(message.error.message));
      else asked?.done(message.result);
    } else if (message.id === undefined) this.on.notified(message.method, message.params ?? {});
    else {
      let done = false;
      try {
        done = await this.on.requested(message.method, message.params ?? {});
      } catch (error) {
        console.error('vaultbridge: %s failed', message.method, error);
      }
      this.#sendIfOpen({ id: message.id, result: { done } });
    }
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) throw new Error('The bridge is not connected at the moment.');
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** Send what nobody waits for, which is lost with the connection; a socket may be closing before we notice.
   * @param {object} message */
  #sendIfOpen(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send(message);
  }

  /** @param {string} method @param {object} params */
  tell(method, params) {
    if (this.state === 'connected') this.#sendIfOpen({ method, params });
  }

  /** The bridge's answer. Fails with a Refusal in its words, or an Error when it is gone.
   * @param {string} method @param {object} [params] @returns {Promise<any>} */
  ask(method, params = {}) {
    return this.#expect((id) => this.#send({ id, method, params }));
  }

  /** Waits for an answer that comes soon, or fails. @param {(id: number) => void} begin @returns {Promise<any>} */
  #expect(begin) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const end = (/** @type {() => void} */ how) => {
        window.clearTimeout(late);
        this.#asked.delete(id);
        how();
      };
      const late = window.setTimeout(() => {
        end(() => reject(new Error('The bridge did not answer in time.')));
        // A connection that was cut silently looks fine from here.
        if (this.state === 'connected') this.connect();
      }, ASK_MS);
      this.#asked.set(id, { done: (value) => end(() => resolve(value)), fail: (error) => end(() => reject(error)) });
      try {
        begin(id);
      } catch (error) {
        end(() => reject(error));
      }
    });
  }
}
