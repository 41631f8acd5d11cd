/*
 * The companion: joins the running Obsidian to `vaultbridge serve` over the editor protocol
 * (docs/editor-protocol.md of vaultbridge).
 *
 * It tells which notes are open, where the person is and what is selected, opens and saves notes when asked, and
 * lets a person decide on proposed changes. It writes no note: after an acceptance the assistant does, with
 * the text that it is given. It stores nothing in the vault, which is synced and which assistants read:
 * settings and a token typed by hand lie in the app's local storage of this device, and on the desktop the token
 * is read from the bridge's own files whenever a connection begins.
 *
 * One file, because the mobile app can load no second one. In order: differences, finding the bridge, the
 * connection, reports, errands, proposals, the review, status and settings, the plugin.
 */
'use strict';

const obsidian = require('obsidian');
const { EditorView } = require('@codemirror/view');

/**
 * @typedef {{at: number, gone: number, lines: string[]}} Hunk  `gone` lines from line `at` on become `lines`
 * @typedef {{id: string, client: string, tabName: string, path: string, oldText: string, newText: string}} Diff
 * @typedef {{url: string, token: string, vault: string}} Place  where a bridge may listen, and for which vault
 * @typedef {{line: number, character: number}} Position
 * @typedef {{start: Position, end: Position, text?: string}} Range
 * @typedef {{text: string, changed: boolean}} Piece
 * @typedef {{done: (value: any) => void, fail: (error: Error) => void}} Asked
 * @typedef {{state: (word: LineState, why: string) => void, greeted: (hello: any) => void,
 *   told: (method: string, params: any) => void, asked: (method: string, params: any) => Promise<boolean>}} Listener
 * @typedef {'off' | 'connecting' | 'connected' | 'waiting' | 'refused'} LineState
 * @typedef {{automatic: boolean, address: string, token: string, vault: string, openReview: boolean}} Settings
 */

const VIEW_TYPE = 'vaultbridge-review';
const STORED_AS = 'vaultbridge-companion';
const SUBPROTOCOL = 'vaultbridge.editor.v1';
const ABILITIES = { diffs: true, open: true, save: true, assistants: true };

/** Seconds before the next try; the last one repeats. A bridge that was restarted is back within the first. */
const WAITS = [0.5, 1, 2, 4, 8, 15];
/** A bridge answers at once; one that is silent for so long is gone. */
const ASK_MS = 10_000;
/** Reports go out at most this often: a dragged selection is one report, and the bridge waits for calm itself. */
const REPORT_MS = 100;
/** The bridge keeps no more of a selection. */
const SELECTION_CHARS = 262_144;
/** The bridge keeps no more open files. */
const OPEN_FILES = 500;
/** Files looked at in one folder of bridges: a runaway folder must not hang the app. */
const FILES_LOOKED_AT = 1000;
/** A bridge's file has some hundred bytes. */
const PRIVATE_FILE_BYTES = 65_536;
/** Edits between two texts that are looked for: time and memory grow with the square, so beyond it is one block. */
const MOST_EDITS = 1500;
/** Words of one line that are compared; a longer line is marked in whole. */
const MOST_WORDS = 600;
/** The part of a line that must stay for marked words to help rather than confuse. */
const ALIKE = 0.35;
/** Unchanged lines shown around a change. */
const AROUND = 3;
/** Lines of one change drawn at once; the rest on request, so that a huge change does not stop the app. */
const LINES_DRAWN = 1000;

// ---------------------------------------------------------------------------------------------- differences

/** The text as the app and the bridge both mean it: no byte order mark, LF. @param {string} text */
const plain = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');

/** The lines of a text, each with its own line end. @param {string} text @returns {string[]} */
const linesOf = (text) => text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];

/** @param {string} line */
const bare = (line) => line.replace(/[\r\n]+$/, '');

/**
 * Stretches that are equal in both lists, as [index in a, index in b, length], in order (Myers' O(ND)).
 * @param {string[]} a @param {string[]} b @param {number} [most] @returns {[number, number, number][]}
 */
function equalRuns(a, b, most = MOST_EDITS) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  /** @type {[number, number, number][]} */
  const runs = [[0, 0, head]];
  for (const [x, y] of equalPairs(a.slice(head, a.length - tail), b.slice(head, b.length - tail), most)) {
    const last = runs[runs.length - 1];
    if (last[0] + last[2] === head + x && last[1] + last[2] === head + y) last[2]++;
    else runs.push([head + x, head + y, 1]);
  }
  runs.push([a.length - tail, b.length - tail, tail]);
  return runs;
}

/** @param {string[]} a @param {string[]} b @param {number} most @returns {[number, number][]} */
function equalPairs(a, b, most) {
  if (!a.length || !b.length) return [];
  const limit = Math.min(most, a.length + b.length);
  const zero = limit + 1;
  const reach = new Int32Array(2 * limit + 3);
  /** @type {Int32Array[]} */
  const before = [];
  for (let d = 0; d <= limit; d++) {
    before.push(reach.slice(zero - d - 1, zero + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1]);
      let x = down ? reach[zero + k + 1] : reach[zero + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return wayBack(a.length, b.length, before);
    }
  }
  return [];
}

/** @param {number} x @param {number} y @param {Int32Array[]} before @returns {[number, number][]} */
function wayBack(x, y, before) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let d = before.length - 1; d >= 0; d--) {
    const k = x - y;
    const reach = (/** @type {number} */ diagonal) => before[d][diagonal + d + 1];
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const fromX = d ? (down ? reach(k + 1) : reach(k - 1)) : 0;
    const fromY = d ? fromX - (down ? k + 1 : k - 1) : 0;
    const start = d ? (down ? fromX : fromX + 1) : 0;
    while (x > start) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/** What turns one text into the other, in order; at least one equal line lies between two hunks.
 * @param {string} oldText @param {string} newText @returns {Hunk[]} */
function hunksOf(oldText, newText) {
  const [a, b] = [linesOf(oldText), linesOf(newText)];
  const hunks = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY, length] of equalRuns(a, b)) {
    if (x < nextX || y < nextY) hunks.push({ at: x, gone: nextX - x, lines: b.slice(y, nextY) });
    [x, y] = [nextX + length, nextY + length];
  }
  return hunks;
}

/** `lines` from `start` up to `end` with these hunks applied. @param {string[]} lines @param {Hunk[]} hunks
 * @param {number} [start] @param {number} [end] */
function applied(lines, hunks, start = 0, end = lines.length) {
  const parts = [];
  let at = start;
  for (const hunk of hunks) {
    parts.push(...lines.slice(at, hunk.at), ...hunk.lines);
    at = hunk.at + hunk.gone;
  }
  return [...parts, ...lines.slice(at, end)].join('');
}

/**
 * Both changes of `base` in one text. Where they touch the same or neighbouring lines, `theirs` stands and `clash` says
 * so: compared with `mine` it is then a visible change, which a person may leave out.
 * @param {string} base @param {string} mine @param {string} theirs @returns {{text: string, clash: boolean}}
 */
function merged(base, mine, theirs) {
  const lines = linesOf(base);
  const [ours, others] = [hunksOf(base, mine), hunksOf(base, theirs)];
  const parts = [];
  let [at, clash] = [0, false];
  while (ours.length || others.length) {
    const start = Math.min(ours[0]?.at ?? lines.length, others[0]?.at ?? lines.length);
    let end = start;
    const [here, there] = [/** @type {Hunk[]} */ ([]), /** @type {Hunk[]} */ ([])];
    for (let grew = true; grew; ) {
      grew = false;
      for (const [from, to] of [[ours, here], [others, there]])
        while (from.length && from[0].at <= end) {
          const hunk = /** @type {Hunk} */ (from.shift());
          end = Math.max(end, hunk.at + hunk.gone);
          to.push(hunk);
          grew = true;
        }
    }
    const [left, right] = [applied(lines, here, start, end), applied(lines, there, start, end)];
    clash ||= here.length > 0 && there.length > 0 && left !== right;
    parts.push(lines.slice(at, start).join(''), there.length ? right : left);
    at = end;
  }
  return { text: parts.join('') + lines.slice(at).join(''), clash };
}

/** @param {string} text @returns {string[]} */
const wordsOf = (text) => text.match(/[\p{L}\p{M}\p{N}_]+|\s+|[^]/gu) ?? [];

/** Both lines in pieces; one piece each where they have too little in common.
 * @param {string} oldLine @param {string} newLine @returns {[Piece[], Piece[]]} */
function comparedWords(oldLine, newLine) {
  const [a, b] = [wordsOf(oldLine), wordsOf(newLine)];
  const kept = (/** @type {[number, number, number][]} */ runs) =>
    runs.reduce((sum, [x, , n]) => sum + a.slice(x, x + n).join('').trim().length, 0);
  const runs = a.length > MOST_WORDS || b.length > MOST_WORDS ? [] : equalRuns(a, b, MOST_WORDS);
  if (!runs.length || kept(runs) < ALIKE * Math.max(oldLine.trim().length, newLine.trim().length))
    return [[{ text: oldLine, changed: false }], [{ text: newLine, changed: false }]];
  const pieces = (/** @type {string[]} */ words, /** @type {0 | 1} */ side) => {
    const found = [];
    let at = 0;
    for (const run of runs) {
      if (run[side] > at) found.push({ text: words.slice(at, run[side]).join(''), changed: true });
      if (run[2]) found.push({ text: words.slice(run[side], run[side] + run[2]).join(''), changed: false });
      at = run[side] + run[2];
    }
    return found;
  };
  return [pieces(a, 0), pieces(b, 1)];
}

// ---------------------------------------------------------------------------------------- finding the bridge

/** Where bridges leave word, as vaultbridge itself decides it; more than one place, because an app in a sandbox
 * is told other ones. @param {NodeJS.ProcessEnv} env @param {string} platform @param {string} home */
function bridgeFolders(env, platform, home) {
  const path = require('path');
  const folders = [env.VAULTBRIDGE_CACHE ?? ''];
  if (platform === 'win32') folders.push(path.join(env.LOCALAPPDATA || path.join(home, 'AppData', 'Local'), 'vaultbridge', 'Cache'));
  else if (platform === 'darwin') folders.push(path.join(home, 'Library', 'Caches', 'vaultbridge'));
  else {
    if (env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)) folders.push(path.join(env.XDG_CACHE_HOME, 'vaultbridge'));
    folders.push(path.join(home, '.cache', 'vaultbridge'));
  }
  return [...new Set(folders.filter(Boolean))];
}

/** The bridges that serve this vault, by what they have written down: in their cache folders, and in the lock files
 * for Claude Code, which lie at a known place even when the caches were moved. Desktop only.
 * @param {string} vaultFolder @returns {Place[]} */
function bridgesOnThisMachine(vaultFolder) {
  const [fs, os, path] = [require('fs'), require('os'), require('path')];
  const names = (/** @type {string} */ folder) => {
    try {
      return fs.readdirSync(folder).sort().slice(0, FILES_LOOKED_AT);
    } catch {
      return [];
    }
  };
  const read = (/** @type {string} */ file) => {
    try {
      return fs.statSync(file).size > PRIVATE_FILE_BYTES ? null : JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch {
      return null;
    }
  };
  const same = (/** @type {unknown} */ folder) => {
    if (typeof folder !== 'string' || !folder) return false;
    try {
      // By identity: case, accents and links are written in more than one way.
      const [one, other] = [folder, vaultFolder].map((each) => fs.statSync(each, { bigint: true }));
      return one.dev === other.dev && one.ino === other.ino;
    } catch {
      return false;
    }
  };
  /** @type {Map<number, Place>} */
  const found = new Map();
  const consider = (/** @type {any} */ said, /** @type {unknown} */ folder, /** @type {unknown} */ token) => {
    const { port, pid, host = '127.0.0.1', certificate = '', name = '' } = said;
    if (!same(folder) || !Number.isInteger(port) || port < 1 || port > 65535 || typeof token !== 'string') return;
    // The app compares a certificate with the name that people call the server by, and judges it itself.
    const address = String((certificate && name) || host);
    if (found.has(port) || !isAlive(pid) || !/^[\w.:-]+$/.test(address)) return;
    const dialled = address.includes(':') ? `[${address}]` : address;
    found.set(port, { url: `${certificate ? 'wss' : 'ws'}://${dialled}:${port}/editor`, token, vault: String(folder) });
  };
  const home = os.homedir();
  for (const base of bridgeFolders(process.env, process.platform, home))
    for (const name of names(base))
      for (const file of ['bridge.json', 'guest.json']) {
        const said = read(path.join(base, name, file));
        if (said) consider(said, said.vault, said.token);
      }
  for (const folder of [path.join(home, '.claude'), process.env.CLAUDE_CONFIG_DIR ?? ''])
    for (const name of folder ? names(path.join(folder, 'ide')) : []) {
      const said = read(path.join(folder, 'ide', name));
      // Other editors have locks there too; only ours name their port.
      if (said?.port && Array.isArray(said.workspaceFolders))
        for (const one of said.workspaceFolders) consider(said, one, said.authToken);
    }
  return [...found.values()];
}

/** Whether the process that wrote a file still runs; the token is for nobody else who may have its port now.
 * @param {unknown} pid */
function isAlive(pid) {
  if (typeof pid !== 'number' || pid <= 0) return false;
  // In this sandbox no process outside can be seen.
  if (process.env.FLATPAK_ID) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/** Where the editors' door is at an address that a person typed. @param {string} text */
function doorAt(text) {
  const given = text.trim();
  if (!given) throw new Error('Say where the bridge is: its address is missing in the settings.');
  const read = (/** @type {string} */ written) => {
    try {
      return new URL(written);
    } catch {
      throw new Error(`“${given}” is no address. One looks like https://computer:3000.`);
    }
  };
  const local = (/** @type {URL} */ url) => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  const named = /^\w+:\/\//.test(given);
  const url = read(named ? given : `https://${given}`);
  const secure = named ? /^(https|wss):$/.test(url.protocol) : !local(url);
  if (!secure && !/^(https?|ws):$/.test(url.protocol))
    throw new Error('The address begins with https:// or, on this device, http://.');
  if (!secure && !local(url)) throw new Error('Use https:// for another machine: the token could be read on its way.');
  return `${secure ? 'wss' : 'ws'}://${url.host}${url.pathname.replace(/\/$/, '')}/editor`;
}

// --------------------------------------------------------------------------------------------- the connection

/** The bridge said no, in its own words. */
class Refusal extends Error {}

const LOST = new Error('The connection to the bridge was lost.');

/** One line to a bridge, kept up: finds it, says hello, and comes back by itself after a loss. */
class Line {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Map<number, Asked>} */ #asked = new Map();
  /** @type {number | undefined} */ #timer;
  #next = 1;
  #tries = 0;
  /** Which attempt is the current one; an older one that wakes up late stops. */
  #round = 0;
  /** @type {LineState} */ state = 'off';
  why = '';

  /** @param {() => Place[]} find @param {() => object} greeting @param {Listener} on */
  constructor(find, greeting, on) {
    this.find = find;
    this.greeting = greeting;
    this.on = on;
  }

  /** Begin, or begin anew at once. */
  connect() {
    this.#hangUp();
    this.#tries = 0;
    this.#become('connecting', '');
    void this.#try();
  }

  /** The app is seen or online again: do not wait any longer, and find out whether the line still stands. */
  hurry() {
    if (this.#timer !== undefined) this.connect();
    else if (this.state === 'connected') void this.ask('ping').catch(() => null);
  }

  stop() {
    this.#hangUp();
    this.#become('off', '');
  }

  #hangUp() {
    this.#round++;
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
    const socket = this.#socket;
    this.#socket = null;
    if (socket) this.#discard(socket);
    this.#failAll();
  }

  /** What it still says concerns nobody. @param {WebSocket} socket */
  #discard(socket) {
    socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
    socket.close();
  }

  /** @param {LineState} state @param {string} why */
  #become(state, why) {
    this.state = state;
    this.why = why;
    this.on.state(state, why);
  }

  async #try() {
    const round = ++this.#round;
    this.#timer = undefined;
    let places;
    try {
      places = this.find();
    } catch (error) {
      // The settings make no sense, and only a person can change that: no further try.
      this.#become('refused', /** @type {Error} */ (error).message);
      return;
    }
    let why = 'No bridge is running for this vault. “vaultbridge serve” starts one.';
    let refused = false;
    for (const place of places) {
      const problem = await this.#greet(place, round);
      if (round !== this.#round || problem === null) return;
      refused = problem instanceof Refusal;
      why = problem.message;
    }
    this.#wait(refused ? 'refused' : 'waiting', why);
  }

  /** @param {LineState} state @param {string} why */
  #wait(state, why) {
    const seconds = WAITS[Math.min(this.#tries++, WAITS.length - 1)];
    // Not all editors at the same moment.
    this.#timer = window.setTimeout(() => void this.#try(), seconds * 1000 * (0.8 + Math.random() * 0.4));
    this.#become(state, why);
  }

  /** Null when we are in. @param {Place} place @param {number} round @returns {Promise<Error | null>} */
  async #greet(place, round) {
    let socket;
    try {
      socket = new WebSocket(place.url, SUBPROTOCOL);
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
      const hello = await this.ask('hello', { protocol: 1, token: place.token, vault: place.vault, ...this.greeting() });
      if (round !== this.#round) return null;
      this.#tries = 0;
      socket.onclose = () => this.#lost(socket);
      this.#become('connected', '');
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
    } else if (message.id === undefined) this.on.told(message.method, message.params ?? {});
    else {
      let done = false;
      try {
        done = await this.on.asked(message.method, message.params ?? {});
      } catch (error) {
        console.error('vaultbridge: %s failed', message.method, error);
      }
      if (socket === this.#socket) this.#send({ id: message.id, result: { done } });
    }
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) throw new Error('The bridge is not connected just now.');
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** @param {string} method @param {object} params */
  tell(method, params) {
    if (this.state === 'connected') this.#send({ method, params });
  }

  /** The bridge's answer. Fails with a Refusal in its words, or an Error when it is gone.
   * @param {string} method @param {object} [params] @returns {Promise<any>} */
  ask(method, params = {}) {
    return this.#expect((id) => this.#send({ id, method, params }));
  }

  /** Something that comes soon, or fails. @param {(id: number) => void} begin @returns {Promise<any>} */
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
        // A line that is cut without a word looks whole from here.
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

// ---------------------------------------------------------------------------------------------------- reports

/** What the app has open, told to the bridge when it changed. Reads the workspace; changes nothing in it. */
class Reports {
  /** @type {number | undefined} */ #timer;
  /** @type {Map<string, string>} */ #told = new Map();
  /** Paths whose editor has changed and may be ahead of the file. @type {Set<string>} */ #suspects = new Set();
  #written = false;
  /** @type {{path: string | null, selection?: Range}} */ #focus = { path: null };

  /** `noteChanged` is called, no more often than reports go out, when a note's text may be another.
   * @param {import('obsidian').App} app @param {(method: string, params: object) => void} tell
   * @param {() => void} noteChanged */
  constructor(app, tell, noteChanged) {
    this.app = app;
    this.tell = tell;
    this.noteChanged = noteChanged;
  }

  /** Something may have changed. */
  soon() {
    this.#timer ??= window.setTimeout(() => {
      this.#timer = undefined;
      void this.#report();
    }, REPORT_MS);
  }

  /** Somebody wrote in an editor. @param {string} path */
  edited(path) {
    this.#suspects.add(path);
    this.written();
  }

  /** A file of the vault is another. */
  written() {
    this.#written = true;
    this.soon();
  }

  /** The bridge knows nothing (any more). */
  anew() {
    this.#told.clear();
    this.soon();
  }

  stop() {
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #report() {
    if (this.#written) this.noteChanged();
    this.#written = false;
    const unsaved = await this.#unsaved();
    this.#say('openFiles', { files: openFiles(this.app, unsaved) });
    this.#say('focus', this.#whereThePersonIs());
  }

  /** @param {string} method @param {object} params */
  #say(method, params) {
    const written = JSON.stringify(params);
    if (this.#told.get(method) === written) return;
    this.#told.set(method, written);
    this.tell(method, params);
  }

  async #unsaved() {
    for (const path of [...this.#suspects]) if (!(await isUnsaved(this.app, path))) this.#suspects.delete(path);
    return new Set(this.#suspects);
  }

  #whereThePersonIs() {
    const { workspace } = this.app;
    const info = workspace.activeEditor;
    const path = (info?.file ?? workspace.getActiveFile())?.path ?? null;
    // In the review or a sidebar there is no editor: the note that was last worked in keeps its selection.
    if (info === null && path === this.#focus.path) return this.#focus;
    const editor = info instanceof obsidian.MarkdownView && info.getMode() === 'preview' ? undefined : info?.editor;
    this.#focus = path === null || !editor ? { path } : { path, selection: selectionOf(editor) };
    return this.#focus;
  }
}

/** @param {import('obsidian').Editor} editor @returns {Range} */
function selectionOf(editor) {
  const [from, to] = [editor.getCursor('from'), editor.getCursor('to')];
  return {
    start: { line: from.line, character: from.ch },
    end: { line: to.line, character: to.ch },
    text: editor.getRange(from, to).slice(0, SELECTION_CHARS),
  };
}

/** The leaves of the main area and of other windows. Sidebars show things about a note, not the note.
 * @param {import('obsidian').App} app */
function mainLeaves(app) {
  /** @type {import('obsidian').WorkspaceLeaf[]} */
  const leaves = [];
  const { leftSplit, rightSplit } = app.workspace;
  app.workspace.iterateAllLeaves((leaf) => {
    const root = leaf.getRoot();
    if (root !== leftSplit && root !== rightSplit) leaves.push(leaf);
  });
  return leaves;
}

/** The path a leaf shows, also of one that the app has not loaded yet.
 * @param {import('obsidian').WorkspaceLeaf} leaf @returns {string | null} */
function pathIn(leaf) {
  if (leaf.view instanceof obsidian.FileView) return leaf.view.file?.path ?? null;
  const file = leaf.getViewState().state?.file;
  return typeof file === 'string' ? file : null;
}

/** @param {import('obsidian').App} app @param {Set<string>} unsaved */
function openFiles(app, unsaved) {
  /** @type {Map<string, {path: string, dirty: boolean, pinned: boolean, lines: number}>} */
  const files = new Map();
  for (const leaf of mainLeaves(app)) {
    const path = pathIn(leaf);
    if (path === null) continue;
    const known = files.get(path);
    const lines = leaf.view instanceof obsidian.MarkdownView ? leaf.view.editor.lineCount() : 0;
    files.set(path, {
      path,
      dirty: unsaved.has(path),
      pinned: Boolean(leaf.getViewState().pinned) || Boolean(known?.pinned),
      lines: lines || (known?.lines ?? 0),
    });
  }
  return [...files.values()].slice(0, OPEN_FILES);
}

/** The view that holds a file's text, if it is open. @param {import('obsidian').App} app @param {string} path */
function textViewOf(app, path) {
  for (const leaf of mainLeaves(app))
    if (leaf.view instanceof obsidian.TextFileView && leaf.view.file?.path === path) return leaf.view;
  return null;
}

/** Whether the app shows another text than the file has. The app saves a little after the last keystroke and does not
 * say what waits, so both are compared. @param {import('obsidian').App} app @param {string} path */
async function isUnsaved(app, path) {
  const view = textViewOf(app, path);
  if (!view?.file) return false;
  const saved = await app.vault.cachedRead(view.file);
  return plain(saved) !== plain(view.getViewData());
}

// ---------------------------------------------------------------------------------------------------- errands

/** Show a note, and select what is asked. @param {import('obsidian').App} app
 * @param {{path: string, selection?: Range, preview?: boolean, front?: boolean}} wanted */
async function openNote(app, { path, selection, preview = false, front = true }) {
  const file = app.vault.getFileByPath(path);
  if (!file) return false;
  let leaf = mainLeaves(app).find((one) => pathIn(one) === path);
  if (leaf) await leaf.loadIfDeferred();
  else {
    // In a tab of its own, so that it does not take the place of what the person has in front of them.
    leaf = app.workspace.getLeaf(preview ? false : 'tab');
    await leaf.openFile(file, { active: front });
  }
  if (front) {
    await app.workspace.revealLeaf(leaf);
    app.workspace.setActiveLeaf(leaf, { focus: true });
  }
  if (selection && leaf.view instanceof obsidian.MarkdownView) {
    const { editor } = leaf.view;
    const [from, to] = [selection.start, selection.end].map(({ line, character }) => {
      // The bridge counts in the file; the editor may hold another text.
      const row = Math.min(line, editor.lastLine());
      const end = editor.getLine(row).length;
      return { line: row, ch: row < line ? end : Math.min(character, end) };
    });
    editor.setSelection(from, to);
    editor.scrollIntoView({ from, to }, true);
  }
  return true;
}

/** Write what waits in an open note to its file, as the app itself would in a moment.
 * @param {import('obsidian').App} app @param {string} path */
async function saveNote(app, path) {
  const view = textViewOf(app, path);
  if (!view) return false;
  await view.save();
  return !(await isUnsaved(app, path));
}

/** A note as the person sees it: what is in its editor, else what is in its file; '' for one that is not there.
 * @param {import('obsidian').App} app @param {string} path */
async function currentText(app, path) {
  const view = textViewOf(app, path);
  if (view) return plain(view.getViewData());
  const file = app.vault.getFileByPath(path);
  return file ? plain(await app.vault.read(file)) : '';
}

// -------------------------------------------------------------------------------------------------- proposals

/** A proposed change on a person's table: what is taken of it, and what they made of it. No app, no page. */
class Proposal {
  /** @type {Hunk[]} */ hunks = [];
  /** @type {Set<Hunk>} */ taken = new Set();
  /** The text in the form while the person writes, else null. @type {string | null} */ draft = null;
  /** What became of it because the note changed meanwhile. @type {'' | 'kept' | 'clash'} */ moved = '';
  deciding = false;
  linesDrawn = LINES_DRAWN;

  /** @param {Diff} diff */
  constructor(diff) {
    this.diff = diff;
    this.base = plain(diff.oldText);
    this.#propose(diff.newText);
  }

  /** @param {string} text */
  #propose(text) {
    this.target = text;
    this.hunks = hunksOf(this.base, text);
    this.taken = new Set(this.hunks);
  }

  /** The whole text that an acceptance gives to the assistant. */
  get final() {
    return this.draft ?? applied(linesOf(this.base), this.hunks.filter((hunk) => this.taken.has(hunk)));
  }

  get edited() {
    return this.final !== merged(plain(this.diff.oldText), this.base, this.diff.newText).text;
  }

  /** Take or leave one change. @param {Hunk} hunk @param {boolean} take */
  choose(hunk, take) {
    if (take) this.taken.add(hunk);
    else this.taken.delete(hunk);
  }

  beginEditing() {
    this.draft = this.final;
  }

  endEditing() {
    this.#propose(this.final);
    this.draft = null;
  }

  backToTheProposal() {
    this.draft = null;
    this.#propose(merged(plain(this.diff.oldText), this.base, this.diff.newText).text);
  }

  /** The note is now `current`. What the person wrote in it meanwhile is kept; true when anything is another now.
   * @param {string} current */
  rebase(current) {
    if (current === this.base) return false;
    const { text, clash } = merged(this.base, current, this.final);
    const writing = this.draft !== null;
    this.base = current;
    this.#propose(text);
    if (writing) this.draft = text;
    this.moved = clash || this.moved === 'clash' ? 'clash' : 'kept';
    return true;
  }
}

// ------------------------------------------------------------------------------------------------- the review

/** Control, direction and zero-width characters: they change what a line means and look like nothing. */
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

/** What is said of a line's end that is not the usual one. @type {Record<string, string>} */
const LINE_ENDS = { '': 'no line end', '\r': 'CR', '\r\n': 'CR LF' };

/** Makes elements of one document (the app has one for each window). Text only ever becomes text.
 * @param {Document} page */
const maker = (page) => {
  /** @param {string} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children */
  const el = (tag, attributes = {}, ...children) => {
    const node = page.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  /** @param {string} text @param {() => void} act @param {Record<string, string>} [attributes] */
  const button = (text, act, attributes = {}) => {
    const node = /** @type {HTMLButtonElement} */ (el('button', { type: 'button', ...attributes }, text));
    node.addEventListener('click', act);
    return node;
  };
  return { el, button };
};

/** @param {number} count @param {string} word */
const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** The tab in which a person decides. It shows the plugin's proposals and keeps none itself. */
class ReviewView extends obsidian.ItemView {
  /** @type {Map<string, HTMLElement>} */ #cards = new Map();

  /** @param {import('obsidian').WorkspaceLeaf} leaf @param {Companion} companion */
  constructor(leaf, companion) {
    super(leaf);
    this.companion = companion;
  }

  getViewType() {
    return VIEW_TYPE;
  }

  getDisplayText() {
    return 'Proposed changes';
  }

  getIcon() {
    return 'git-compare';
  }

  async onOpen() {
    this.make = maker(this.contentEl.ownerDocument);
    this.contentEl.classList.add('vaultbridge-review');
    this.said = this.make.el('p', { class: 'vaultbridge-said', role: 'status', 'aria-live': 'polite' });
    this.empty = this.make.el('p', { class: 'vaultbridge-quiet', tabindex: '-1' });
    this.list = this.make.el('div');
    this.contentEl.append(this.said, this.empty, this.list);
    this.companion.proposals.forEach((proposal) => this.show(proposal));
    this.count();
  }

  async onClose() {
    this.contentEl.replaceChildren();
    this.#cards.clear();
  }

  /** Tells also a person who listens instead of looking. @param {string} text */
  say(text) {
    if (this.said) this.said.textContent = text;
  }

  count() {
    if (!this.empty) return;
    const connected = this.companion.line.state === 'connected';
    this.empty.textContent = connected ? 'No change is waiting.' : 'No change is waiting. The bridge is not connected.';
    this.empty.hidden = this.companion.proposals.size > 0;
  }

  /** Draw a proposal, for the first time or again. @param {Proposal} proposal */
  show(proposal) {
    const card = this.#card(proposal);
    const known = this.#cards.get(proposal.diff.id);
    const focused = known?.contains(known.ownerDocument.activeElement) ?? false;
    if (known) known.replaceWith(card);
    else this.list?.append(card);
    this.#cards.set(proposal.diff.id, card);
    this.count();
    if (focused) this.#focusOn(card, proposal.draft === null ? 'h3' : 'textarea');
  }

  /** @param {string} id */
  drop(id) {
    const card = this.#cards.get(id);
    if (!card) return;
    const focused = card.contains(card.ownerDocument.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    this.#cards.delete(id);
    this.count();
    if (focused && next) this.#focusOn(next, 'h3');
    else if (focused) this.empty?.focus();
  }

  focusFirst() {
    const first = this.list?.firstElementChild;
    if (first) this.#focusOn(first, 'h3');
    else this.empty?.focus();
  }

  /** @param {Element} card @param {string} tag */
  #focusOn(card, tag) {
    /** @type {HTMLElement | null} */ (card.querySelector(tag))?.focus();
  }

  /** @param {Proposal} proposal */
  #card(proposal) {
    const { el, button } = this.#tools();
    const { diff } = proposal;
    const title = `vaultbridge-title-${diff.id}`;
    const about = { 'aria-describedby': title };
    const accept = button('Accept', () => void this.companion.accept(proposal), { class: 'mod-cta', ...about });
    const label = () => {
      const [taken, all] = [proposal.taken.size, proposal.hunks.length];
      accept.textContent = proposal.draft !== null || taken === all ? 'Accept' : `Accept ${taken} of ${counted(all, 'change')}`;
      accept.disabled = proposal.deciding || (proposal.draft === null && taken === 0);
    };
    label();
    const reject = button('Reject', () => void this.companion.reject(proposal), { class: 'mod-warning', ...about });
    const edit = button(proposal.draft === null ? 'Edit' : 'Show the changes', () => {
      if (proposal.draft === null) proposal.beginEditing();
      else proposal.endEditing();
      this.show(proposal);
      const card = this.#cards.get(diff.id);
      if (card) this.#focusOn(card, proposal.draft === null ? 'h3' : 'textarea');
    }, about);
    const open = button('Open the note', () => void openNote(this.app, { path: diff.path }), about);
    for (const one of [reject, edit]) one.disabled = proposal.deciding;
    const buttons = [accept, reject, edit, ...(diff.oldText || proposal.base ? [open] : [])];
    if (proposal.edited)
      buttons.push(button('Back to the proposal', () => {
        proposal.backToTheProposal();
        this.show(proposal);
      }, about));
    return el('article', { class: 'vaultbridge-change', 'aria-labelledby': title, 'data-id': diff.id },
      el('h3', { id: title, tabindex: '-1' }, diff.path),
      el('p', { class: 'vaultbridge-quiet' }, this.#summary(proposal)),
      ...this.#warning(proposal),
      proposal.draft === null ? this.#changes(proposal, label) : this.#form(proposal),
      el('footer', {}, ...buttons));
  }

  #tools() {
    return this.make ?? maker(this.contentEl.ownerDocument);
  }

  /** @param {Proposal} proposal */
  #summary(proposal) {
    const added = proposal.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
    const removed = proposal.hunks.reduce((sum, hunk) => sum + hunk.gone, 0);
    const words = [proposal.diff.client, proposal.base ? '' : 'a new note', counted(proposal.hunks.length, 'change'),
      `+${added} −${removed}`, proposal.edited ? 'edited by you' : ''];
    return words.filter(Boolean).join(' · ');
  }

  /** @param {Proposal} proposal */
  #warning(proposal) {
    if (!proposal.moved) return [];
    const text = proposal.moved === 'kept'
      ? 'The note has changed since this was proposed. What was written meanwhile is kept: look again before you accept.'
      : 'The note has changed since this was proposed, in the same lines. Below you see what an acceptance would do to the '
        + 'note as it is now: leave out what you want to keep, or edit it.';
    return [this.#tools().el('p', { class: 'vaultbridge-warning', role: 'alert' }, text)];
  }

  /** @param {Proposal} proposal */
  #form(proposal) {
    const area = /** @type {HTMLTextAreaElement} */ (this.#tools().el('textarea', {
      'aria-label': `The text that ${proposal.diff.path} will have`,
      spellcheck: 'false',
      rows: String(Math.min(30, linesOf(proposal.draft ?? '').length + 2)),
    }));
    area.value = proposal.draft ?? '';
    area.addEventListener('input', () => {
      proposal.draft = area.value;
    });
    return area;
  }

  /** @param {Proposal} proposal @param {() => void} chosen */
  #changes(proposal, chosen) {
    const { el, button } = this.#tools();
    if (!proposal.hunks.length) return el('p', { class: 'vaultbridge-quiet' }, 'This leaves the note as it is.');
    const lines = linesOf(proposal.base);
    const body = el('div');
    let room = proposal.linesDrawn;
    for (const [index, hunk] of proposal.hunks.entries()) {
      if (room <= 0) break;
      const before = index ? proposal.hunks[index - 1].at + proposal.hunks[index - 1].gone : 0;
      const after = proposal.hunks[index + 1]?.at ?? lines.length;
      body.append(this.#hunk(proposal, hunk, index, room, [lines.slice(Math.max(before, hunk.at - AROUND), hunk.at),
        lines.slice(hunk.at + hunk.gone, Math.min(after, hunk.at + hunk.gone + AROUND))], chosen));
      room -= hunk.gone + hunk.lines.length;
    }
    if (room < 0)
      body.append(button('Show more', () => {
        proposal.linesDrawn += LINES_DRAWN;
        this.show(proposal);
      }));
    return body;
  }

  /** @param {Proposal} proposal @param {Hunk} hunk @param {number} index @param {number} room
   * @param {[string[], string[]]} around @param {() => void} chosen */
  #hunk(proposal, hunk, index, room, [before, after], chosen) {
    const { el } = this.#tools();
    const lines = linesOf(proposal.base);
    const name = `Change ${index + 1} of ${proposal.hunks.length}`;
    const where = hunk.gone > 1 ? `lines ${hunk.at + 1}–${hunk.at + hunk.gone}` : `line ${hunk.at + 1}`;
    const section = el('section', { class: 'vaultbridge-hunk', 'aria-label': name });
    const box = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox' }));
    const mark = () => section.classList.toggle('vaultbridge-left', !box.checked);
    box.checked = proposal.taken.has(hunk);
    box.addEventListener('change', () => {
      proposal.choose(hunk, box.checked);
      mark();
      chosen();
    });
    mark();
    const rows = el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `${name}, ${where}` });
    const gone = lines.slice(hunk.at, hunk.at + hunk.gone);
    const words = gone.map((line, i) => (i < hunk.lines.length ? comparedWords(bare(line), bare(hunk.lines[i])) : null));
    before.forEach((line) => rows.append(this.#row('same', line)));
    gone.slice(0, room).forEach((line, i) => rows.append(this.#row('minus', line, words[i]?.[0])));
    hunk.lines.slice(0, Math.max(0, room - gone.length)).forEach((line, i) => rows.append(this.#row('plus', line, words[i]?.[1])));
    after.forEach((line) => rows.append(this.#row('same', line)));
    section.append(el('label', {}, box, ` ${name}, ${where}`), rows);
    return section;
  }

  /** @param {'same' | 'minus' | 'plus'} kind @param {string} line @param {Piece[]} [pieces] */
  #row(kind, line, pieces) {
    const { el } = this.#tools();
    const sign = { same: ' ', minus: '−', plus: '+' }[kind];
    const heard = { same: '', minus: 'removed: ', plus: 'added: ' }[kind];
    const shown = pieces ?? [{ text: bare(line), changed: false }];
    const content = shown.map(({ text, changed }) =>
      el(!changed ? 'span' : kind === 'plus' ? 'ins' : 'del', {}, ...this.#visible(text)));
    const end = LINE_ENDS[line.slice(bare(line).length)];
    if (kind !== 'same' && end) content.push(el('span', { class: 'vaultbridge-unseen' }, end));
    return el('div', { class: `vaultbridge-line vaultbridge-${kind}` },
      el('span', { class: 'vaultbridge-sign', 'aria-hidden': 'true' }, sign),
      el('span', { class: 'vaultbridge-text' },
        ...(heard ? [el('span', { class: 'vaultbridge-heard' }, heard)] : []), ...content));
  }

  /** @param {string} text */
  #visible(text) {
    const { el } = this.#tools();
    /** @type {(Node | string)[]} */
    const parts = [];
    let at = 0;
    for (const found of text.matchAll(UNSEEN)) {
      const code = /** @type {number} */ (found[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
      parts.push(text.slice(at, found.index), el('span', { class: 'vaultbridge-unseen' }, `U+${code}`));
      at = found.index + found[0].length;
    }
    return [...parts, text.slice(at)];
  }
}

// ---------------------------------------------------------------------------------------- status and settings

const STATE_WORDS = {
  off: 'switched off',
  connecting: 'connecting…',
  connected: 'connected',
  waiting: 'not connected',
  refused: 'refused',
};

class StatusModal extends obsidian.Modal {
  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app);
    this.companion = companion;
  }

  async onOpen() {
    this.setTitle('vaultbridge');
    const { el, button } = maker(this.contentEl.ownerDocument);
    const { companion } = this;
    const rows = el('dl', { class: 'vaultbridge-status' });
    const row = (/** @type {string} */ name, /** @type {string} */ value) => rows.append(el('dt', {}, name), el('dd', {}, value));
    row('Bridge', `${STATE_WORDS[companion.line.state]}. ${companion.line.why}`.replace(/\. $/, ''));
    const again = button('Reconnect', () => {
      companion.line.connect();
      this.close();
    });
    const review = button('Review proposed changes', () => {
      this.close();
      void companion.showReview();
    });
    this.contentEl.append(rows, el('footer', { class: 'vaultbridge-buttons' }, again, review));
    if (companion.line.state !== 'connected') return;
    const status = await companion.line.ask('status').catch(() => null);
    if (status === null) return;
    row('Vault', status.vault);
    const other = status.version === companion.manifest.version ? ''
      : ` (the companion is ${companion.manifest.version}: “vaultbridge companion install” brings it up to date)`;
    row('Version', `${status.version}${other}`);
    row('Assistants', status.clients.map((/** @type {any} */ client) => client.software || client.name).join(', ') || 'none connected');
    row('They see', status.shareSelection ? (status.focus ?? 'no note is active') : 'nothing: sharing is switched off');
    row('Changes waiting', String(status.diffs));
  }

  onClose() {
    this.contentEl.replaceChildren();
  }
}

class SettingsTab extends obsidian.PluginSettingTab {
  #changed = false;

  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app, companion);
    this.companion = companion;
  }

  /** @param {Partial<Settings>} change */
  #set(change) {
    this.companion.keep(change);
    this.#changed = true;
  }

  hide() {
    if (this.#changed) this.companion.line.connect();
    this.#changed = false;
  }

  display() {
    const { containerEl, companion } = this;
    const { settings, line } = companion;
    containerEl.replaceChildren();
    new obsidian.Setting(containerEl)
      .setName('Bridge')
      .setDesc(`${STATE_WORDS[line.state]}. ${line.why}`.replace(/\. $/, ''))
      .addButton((button) => button.setButtonText('Reconnect').onClick(() => {
        this.#changed = false;
        line.connect();
      }));
    if (obsidian.Platform.isDesktopApp)
      new obsidian.Setting(containerEl)
        .setName('Find the bridge on this computer')
        .setDesc('Address and token are read from the files of “vaultbridge serve”. Switch it off to type them.')
        .addToggle((toggle) => toggle.setValue(settings.automatic).onChange((automatic) => {
          this.#set({ automatic });
          this.display();
        }));
    if (!companion.automatic) this.#byHand(containerEl);
    new obsidian.Setting(containerEl)
      .setName('Open the review when a change is proposed')
      .setDesc('While you type in a note, a notice comes instead.')
      .addToggle((toggle) => toggle.setValue(settings.openReview).onChange((openReview) => companion.keep({ openReview })));
    new obsidian.Setting(containerEl)
      .setName('Share what I have open')
      .setDesc('Assistants are told the active note, the selection and the open notes. Mentions are sent in any case. '
        + 'This is the bridge’s switch: it counts for all editors, until the bridge is restarted.')
      .addToggle((toggle) => toggle.setValue(companion.shares).setDisabled(line.state !== 'connected')
        .onChange((share) => void companion.share(share)));
  }

  /** @param {HTMLElement} containerEl */
  #byHand(containerEl) {
    const { settings } = this.companion;
    new obsidian.Setting(containerEl)
      .setName('Address')
      .setDesc('Such as https://computer:3000, or the link that “vaultbridge page” prints.')
      .addText((text) => text.setPlaceholder('https://computer:3000').setValue(settings.address).onChange((typed) => {
        const [address, token] = typed.trim().split(/#token=/);
        this.#set(token ? { address, token } : { address });
        if (token) this.display();
      }));
    new obsidian.Setting(containerEl)
      .setName('Token')
      .setDesc('Kept on this device only, never in the vault.')
      .addText((text) => {
        text.inputEl.type = 'password';
        text.inputEl.autocomplete = 'off';
        text.setValue(settings.token).onChange((token) => this.#set({ token: token.trim() }));
      });
    new obsidian.Setting(containerEl)
      .setName('Vault')
      .setDesc('Its name on that computer, when it is another one than here.')
      .addText((text) => text.setPlaceholder(this.app.vault.getName()).setValue(settings.vault)
        .onChange((vault) => this.#set({ vault: vault.trim() })));
  }
}

// ------------------------------------------------------------------------------------------------- the plugin

class Companion extends obsidian.Plugin {
  /** @type {Map<string, Proposal>} */ proposals = new Map();
  /** @type {Map<string, import('obsidian').Notice>} */ #notices = new Map();
  shares = true;
  assistants = 0;
  /** The last refusal that the person was told of. */ #complained = '';
  #unloaded = false;
  line = new Line(() => this.#places(), () => ({ app: 'obsidian', abilities: ABILITIES }), {
    state: (word, why) => this.#stateChanged(word, why),
    greeted: (hello) => void this.#greeted(hello),
    told: (method, params) => this.#told(method, params),
    asked: (method, params) => this.#asked(method, params),
  });
  reports = new Reports(this.app, (method, params) => this.line.tell(method, params), () => void this.#lookAgain());
  /** @type {Settings} */ settings = { automatic: true, address: '', token: '', vault: '', openReview: true };

  async onload() {
    this.settings = { ...this.settings, ...this.app.loadLocalStorage(STORED_AS) };
    this.registerView(VIEW_TYPE, (leaf) => new ReviewView(leaf, this));
    this.addSettingTab(new SettingsTab(this));
    this.#addCommands();
    this.#addStatusBar();
    this.app.workspace.onLayoutReady(() => this.#begin());
  }

  onunload() {
    this.#unloaded = true;
    this.line.stop();
    this.reports.stop();
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    this.proposals.clear();
  }

  get automatic() {
    return obsidian.Platform.isDesktopApp && this.settings.automatic;
  }

  /** Remember for this device. @param {Partial<Settings>} change */
  keep(change) {
    this.settings = { ...this.settings, ...change };
    this.app.saveLocalStorage(STORED_AS, this.settings);
  }

  /** @returns {Place[]} */
  #places() {
    const { adapter } = this.app.vault;
    if (this.automatic)
      return adapter instanceof obsidian.FileSystemAdapter ? bridgesOnThisMachine(adapter.getBasePath()) : [];
    const { address, token, vault } = this.settings;
    // By name, always: a bridge may serve several vaults, and the first one need not be this one.
    return [{ url: doorAt(address), token, vault: vault || this.app.vault.getName() }];
  }

  #begin() {
    // The app may have been slow, and the person quick to switch us off.
    if (this.#unloaded) return;
    const { workspace, vault } = this.app;
    const soon = () => this.reports.soon();
    this.registerEvent(workspace.on('file-open', soon));
    this.registerEvent(workspace.on('active-leaf-change', soon));
    this.registerEvent(workspace.on('layout-change', soon));
    this.registerEvent(workspace.on('editor-change', (_editor, info) => {
      if (info.file) this.reports.edited(info.file.path);
    }));
    const written = () => this.reports.written();
    this.registerEvent(vault.on('create', written));
    this.registerEvent(vault.on('modify', written));
    this.registerEvent(vault.on('rename', written));
    this.registerEvent(vault.on('delete', written));
    this.registerEvent(workspace.on('editor-menu', (menu) => this.#addToMenu(menu, () => this.#mentionActive(), 'Mention to Claude')));
    this.registerEvent(workspace.on('file-menu', (menu, file) => {
      if (file instanceof obsidian.TFile) this.#addToMenu(menu, () => this.#mention({ note: file.path }), 'Mention to Claude');
    }));
    // The app has no event for a moved cursor; its editors do, in every window.
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.focusChanged) soon();
    }));
    this.registerDomEvent(window, 'online', () => this.line.hurry());
    this.registerDomEvent(document, 'visibilitychange', () => {
      if (!document.hidden) this.line.hurry();
    });
    this.line.connect();
  }

  #addCommands() {
    this.addCommand({
      id: 'mention',
      name: 'Send selection to Claude as mention',
      // Claude Code's editors share these keys.
      hotkeys: [{ modifiers: ['Mod', 'Alt'], key: 'k' }],
      checkCallback: (checking) => {
        const possible = this.line.state === 'connected' && this.app.workspace.getActiveFile() !== null;
        if (possible && !checking) void this.#mentionActive();
        return possible;
      },
    });
    this.addCommand({ id: 'review', name: 'Review proposed changes', callback: () => void this.showReview() });
    this.addCommand({ id: 'status', name: 'Show status', callback: () => new StatusModal(this).open() });
    this.addCommand({ id: 'reconnect', name: 'Reconnect', callback: () => this.line.connect() });
  }

  #addStatusBar() {
    // The mobile app has none.
    if (obsidian.Platform.isMobile) return;
    this.statusBar = this.addStatusBarItem();
    this.statusBar.classList.add('mod-clickable');
    this.statusBar.setAttribute('role', 'button');
    this.statusBar.setAttribute('tabindex', '0');
    const act = () => (this.proposals.size ? void this.showReview() : new StatusModal(this).open());
    this.registerDomEvent(this.statusBar, 'click', act);
    this.registerDomEvent(this.statusBar, 'keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') act();
    });
    this.#drawStatusBar();
  }

  #drawStatusBar() {
    if (!this.statusBar) return;
    const [count, state] = [this.proposals.size, this.line.state];
    const there = this.assistants ? `connected, ${counted(this.assistants, 'assistant')}` : 'connected';
    const word = state !== 'connected' ? STATE_WORDS[state] : count ? counted(count, 'change') : there;
    this.statusBar.textContent = `Bridge: ${word}`;
    this.statusBar.setAttribute('aria-label', count ? 'Review the proposed changes' : this.line.why || 'Show the bridge’s status');
  }

  /** @param {LineState} word @param {string} why */
  #stateChanged(word, why) {
    // Said once, not with every further try.
    if (word === 'refused' && why !== this.#complained) new obsidian.Notice(`vaultbridge: ${why}`);
    this.#complained = word === 'refused' ? why : word === 'connected' ? '' : this.#complained;
    this.#drawStatusBar();
    this.#reviews().forEach((view) => view.count());
  }

  /** @param {any} hello */
  async #greeted(hello) {
    this.shares = hello.shareSelection;
    this.assistants = hello.assistants;
    this.#drawStatusBar();
    this.reports.anew();
    const { diffs } = await this.line.ask('diffs').catch(() => ({ diffs: null }));
    if (diffs === null) return;
    // Whatever was decided or withdrawn while we were away is over.
    const waiting = new Set(diffs.map((/** @type {Diff} */ diff) => diff.id));
    for (const id of this.proposals.keys()) if (!waiting.has(id)) this.#over(id, 'withdrawn');
    for (const diff of diffs) await this.#proposed(diff);
  }

  /** @param {string} method @param {any} params */
  #told(method, params) {
    if (method === 'diffOpened') void this.#proposed(params);
    else if (method === 'diffClosed') this.#over(params.id, params.reason);
    else if (method === 'assistantsChanged') {
      this.assistants = params.assistants;
      this.#drawStatusBar();
    }
  }

  /** @param {string} method @param {any} params */
  async #asked(method, params) {
    if (method === 'openFile') return openNote(this.app, params);
    if (method === 'saveFile') {
      const done = await saveNote(this.app, params.path);
      this.reports.soon();
      return done;
    }
    return false;
  }

  // proposed changes

  /** @returns {ReviewView[]} */
  #reviews() {
    const views = this.app.workspace.getLeavesOfType(VIEW_TYPE).map((leaf) => leaf.view);
    return views.filter((view) => view instanceof ReviewView);
  }

  /** @param {Diff} diff */
  async #proposed(diff) {
    const known = this.proposals.get(diff.id)?.diff;
    if (known && known.path === diff.path && known.newText === diff.newText && known.oldText === diff.oldText) return;
    if (known) this.#over(diff.id, 'withdrawn');
    const proposal = new Proposal(diff);
    this.proposals.set(diff.id, proposal);
    proposal.rebase(await currentText(this.app, diff.path));
    // It may be over by now.
    if (this.proposals.get(diff.id) !== proposal) return;
    this.#drawStatusBar();
    this.#reviews().forEach((view) => {
      view.show(proposal);
      view.say(`A change to ${diff.path} is waiting.`);
    });
    if (this.settings.openReview && !this.app.workspace.activeEditor?.editor?.hasFocus()) await this.showReview();
    else this.#notices.set(diff.id, this.#invitation(diff));
  }

  /** @param {Diff} diff */
  #invitation(diff) {
    const notice = new obsidian.Notice('', 0);
    const { el, button } = maker(notice.messageEl.ownerDocument);
    notice.messageEl.append(el('p', {}, `An assistant proposes a change to ${diff.path}.`), button('Review', () => void this.showReview()));
    return notice;
  }

  /** @param {string} id @param {string} reason */
  #over(id, reason) {
    const proposal = this.proposals.get(id);
    if (!proposal) return;
    this.proposals.delete(id);
    this.#notices.get(id)?.hide();
    this.#notices.delete(id);
    if (!proposal.deciding && proposal.edited)
      new obsidian.Notice(`Your edit of ${proposal.diff.path} was not used: the change was ${reason} elsewhere.`);
    this.#drawStatusBar();
    this.#reviews().forEach((view) => {
      view.drop(id);
      view.say(`The change to ${proposal.diff.path} was ${reason}.`);
    });
  }

  async showReview() {
    const { workspace } = this.app;
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    let leaf = workspace.getLeavesOfType(VIEW_TYPE)[0];
    if (!leaf) {
      leaf = workspace.getLeaf('tab');
      await leaf.setViewState({ type: VIEW_TYPE, active: true });
    }
    await workspace.revealLeaf(leaf);
    if (leaf.view instanceof ReviewView) leaf.view.focusFirst();
  }

  /** @param {Proposal} proposal */
  async accept(proposal) {
    const { id, path, newText } = proposal.diff;
    if (proposal.deciding) return;
    if (proposal.rebase(await currentText(this.app, path))) {
      // What the person saw is not what would happen: they decide again.
      this.#reviews().forEach((view) => view.show(proposal));
      return;
    }
    const { final } = proposal;
    await this.#decide(proposal, async () => {
      // The assistant writes the file. What waits in the editor must be there before, or one of the two is lost.
      if (await isUnsaved(this.app, path)) await saveNote(this.app, path);
      await this.line.ask('acceptDiff', final === newText ? { id } : { id, text: final });
    });
  }

  /** @param {Proposal} proposal */
  async reject(proposal) {
    await this.#decide(proposal, () => this.line.ask('rejectDiff', { id: proposal.diff.id }));
  }

  /** @param {Proposal} proposal @param {() => Promise<void>} act */
  async #decide(proposal, act) {
    if (proposal.deciding) return;
    proposal.deciding = true;
    this.#reviews().forEach((view) => view.show(proposal));
    try {
      await act();
    } catch (error) {
      proposal.deciding = false;
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
      this.#reviews().forEach((view) => view.show(proposal));
    }
  }

  /** A proposal is shown against the note as it is. */
  async #lookAgain() {
    for (const proposal of [...this.proposals.values()])
      if (!proposal.deciding && proposal.rebase(await currentText(this.app, proposal.diff.path)))
        this.#reviews().forEach((view) => view.show(proposal));
  }

  // mentions

  /** @param {import('obsidian').Menu} menu @param {() => void} act @param {string} title */
  #addToMenu(menu, act, title) {
    if (this.line.state === 'connected') menu.addItem((item) => item.setTitle(title).setIcon('at-sign').onClick(act));
  }

  /** The selected lines of the active note, or the whole note. */
  #mentionActive() {
    const info = this.app.workspace.activeEditor;
    const file = info?.file ?? this.app.workspace.getActiveFile();
    if (!file) return;
    const range = info?.editor ? selectionOf(info.editor) : null;
    if (!range?.text) return this.#mention({ note: file.path });
    // A selection that ends before the first character of a line does not mean that line.
    const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
    return this.#mention({ note: file.path, lineStart: range.start.line, lineEnd: last });
  }

  /** @param {{note: string, lineStart?: number, lineEnd?: number}} wanted */
  async #mention(wanted) {
    try {
      const { path, assistants } = await this.line.ask('mention', wanted);
      new obsidian.Notice(assistants ? `${path} was mentioned.` : `No assistant is connected. One that connects within 10 seconds hears of ${path}.`);
    } catch (error) {
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {boolean} share */
  async share(share) {
    try {
      await this.line.ask('shareSelection', { share });
      this.shares = share;
    } catch (error) {
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
    }
  }
}

module.exports = Companion;
/** For the tests of vaultbridge; the app takes no notice of it. */
module.exports.parts = { applied, bridgeFolders, comparedWords, doorAt, hunksOf, linesOf, merged, Proposal };
