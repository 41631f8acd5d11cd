// The connection.

/** The bridge refused; the message is the bridge's. */
class Refusal extends Error {}

const CONNECTION_LOST = new Error('The connection to the bridge was lost.');

/** The connection to a bridge: finds it, says hello, and reconnects by itself after a loss. */
class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Map<number, PendingRequest>} */ #pending = new Map();
  /** @type {number | undefined} */ #timer;
  #nextId = 1;
  #attempts = 0;
  /** The number of the current attempt; an older one that resumes late stops. */
  #current = 0;
  /** @type {ConnectionState} */ state = 'off';
  reason = '';

  /** @param {() => Endpoint[]} findEndpoints @param {() => object} makeHello @param {Handlers} handlers */
  constructor(findEndpoints, makeHello, handlers) {
    this.findEndpoints = findEndpoints;
    this.makeHello = makeHello;
    this.handlers = handlers;
  }

  /** Connects, or reconnects at once. */
  connect() {
    this.#disconnect();
    this.#attempts = 0;
    this.#setState('connecting', '');
    void this.#attempt();
  }

  /** Stops waiting, and checks whether the connection still works: the app is visible or online again. */
  retryNow() {
    if (this.#timer !== undefined) this.connect();
    else if (this.state === 'connected') void this.request('ping').catch(() => null);
  }

  stop() {
    this.#disconnect();
    this.#setState('off', '');
  }

  #disconnect() {
    this.#current++;
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
    const socket = this.#socket;
    this.#socket = null;
    if (socket) this.#discard(socket);
    this.#rejectAll();
  }

  /** Closes a socket and ignores what it still sends. @param {WebSocket} socket */
  #discard(socket) {
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
    socket.close();
  }

  /** @param {ConnectionState} state @param {string} reason */
  #setState(state, reason) {
    this.state = state;
    this.reason = reason;
    this.handlers.onState(state, reason);
  }

  async #attempt() {
    const attempt = ++this.#current;
    this.#timer = undefined;
    let endpoints;
    try {
      endpoints = this.findEndpoints();
    } catch (error) {
      // The settings are wrong, and only a person can correct them: there is no further attempt.
      this.#setState('refused', /** @type {Error} */ (error).message);
      return;
    }
    let reason = 'No bridge is running for this vault. “vaultbridge serve” starts one.';
    let isRefused = false;
    for (const endpoint of endpoints) {
      const problem = await this.#open(endpoint, attempt);
      if (attempt !== this.#current || problem === null) return;
      isRefused = problem instanceof Refusal;
      reason = problem.message;
    }
    this.#retryLater(isRefused ? 'refused' : 'waiting', reason);
  }

  /** @param {ConnectionState} state @param {string} reason */
  #retryLater(state, reason) {
    const seconds = RETRY_SECONDS[Math.min(this.#attempts++, RETRY_SECONDS.length - 1)];
    // The random part prevents editors from all reconnecting at the same moment.
    this.#timer = window.setTimeout(() => void this.#attempt(), seconds * 1000 * (0.8 + Math.random() * 0.4));
    this.#setState(state, reason);
  }

  /** Opens a connection and says hello. Null on success. @param {Endpoint} endpoint @param {number} attempt @returns {Promise<Error | null>} */
  async #open(endpoint, attempt) {
    let socket;
    try {
      socket = new WebSocket(endpoint.url, SUBPROTOCOL);
    } catch {
      return new Error('The app does not allow a connection to this address.');
    }
    this.#socket = socket;
    socket.onmessage = (event) => this.#handleMessage(socket, event.data);
    try {
      await this.#waitForAnswer((id) => {
        socket.onopen = () => this.#pending.get(id)?.resolve(null);
        socket.onerror = socket.onclose = () => this.#rejectAll(new Error('The bridge cannot be reached at its address.'));
      });
      socket.onerror = null;
      socket.onclose = (event) => this.#rejectAll(event.code === 1008 ? new Refusal('The token is missing or wrong.') : CONNECTION_LOST);
      const hello = await this.request('hello', { protocol: 1, token: endpoint.token, vault: endpoint.vault, ...this.makeHello() });
      if (attempt !== this.#current) return null;
      this.#attempts = 0;
      socket.onclose = () => this.#handleClose(socket);
      this.#setState('connected', '');
      this.handlers.onHello(hello);
      return null;
    } catch (error) {
      if (this.#socket === socket) this.#socket = null;
      this.#discard(socket);
      return /** @type {Error} */ (error);
    }
  }

  /** @param {WebSocket} socket */
  #handleClose(socket) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#rejectAll();
    this.#retryLater('waiting', CONNECTION_LOST.message);
  }

  /** @param {Error} [error] */
  #rejectAll(error = CONNECTION_LOST) {
    for (const { reject } of [...this.#pending.values()]) reject(error);
  }

  /** @param {WebSocket} socket @param {string} data */
  async #handleMessage(socket, data) {
    if (socket !== this.#socket) return;
    const message = JSON.parse(data);
    if (message.method === undefined) {
      const pending = this.#pending.get(message.id);
      if (message.error) pending?.reject(new Refusal(message.error.message));
      else pending?.resolve(message.result);
    } else if (message.id === undefined) this.handlers.onNotification(message.method, message.params ?? {});
    else {
      let done = false;
      try {
        done = await this.handlers.onRequest(message.method, message.params ?? {});
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

  /** Sends what nobody waits for, so that it may be lost with the connection.
   * @param {object} message */
  #sendIfOpen(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send(message);
  }

  /** Sends a notification. It is dropped while the bridge is away. @param {string} method @param {object} params */
  notify(method, params) {
    if (this.state === 'connected') this.#sendIfOpen({ method, params });
  }

  /** Sends a request and waits for the answer. Throws a Refusal with the bridge's message, or an Error if it is gone.
   * @param {string} method @param {object} [params] @returns {Promise<any>} */
  request(method, params = {}) {
    return this.#waitForAnswer((id) => this.#send({ id, method, params }));
  }

  /** Starts something, and waits for its answer for a limited time. @param {(id: number) => void} start @returns {Promise<any>} */
  #waitForAnswer(start) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const finish = (/** @type {() => void} */ settle) => {
        window.clearTimeout(timer);
        this.#pending.delete(id);
        settle();
      };
      const timer = window.setTimeout(() => {
        finish(() => reject(new Error('The bridge did not answer in time.')));
        // A connection that was lost silently still looks open.
        if (this.state === 'connected') this.connect();
      }, ANSWER_MS);
      this.#pending.set(id, { resolve: (value) => finish(() => resolve(value)), reject: (error) => finish(() => reject(error)) });
      try {
        start(id);
      } catch (error) {
        finish(() => reject(error));
      }
    });
  }
}
