// Runs the companion as Obsidian does, for a test that speaks JSON lines: {id, verb, args} in, {id, result | error} out.
//
//     node --experimental-websocket host.cjs MAIN.JS VAULT STORED
//
// STORED is the device's local storage, as JSON. The process ends when its input ends and nothing
// of the companion keeps it alive.
'use strict';

const fs = require('fs');
const Module = require('module');
const path = require('path');
const readline = require('readline');
const dom = require('./dom.cjs');
const { api, codemirror, page, running } = require('./app.cjs');

const [main, folder, stored, mobile] = process.argv.slice(2);

// The window as the companion sees it, with its timers and sockets counted.
const timers = new Set();
const sockets = new Set();
const Native = globalThis.WebSocket;
globalThis.window = Object.assign(new dom.Listened(), {
  setTimeout(act, ms) {
    const timer = setTimeout(() => (timers.delete(timer), act(), setImmediate(check)), ms);
    timers.add(timer);
    return timer;
  },
  clearTimeout(timer) {
    timers.delete(timer);
    clearTimeout(timer);
  },
});
globalThis.document = page;
globalThis.WebSocket = class extends Native {
  constructor(...args) {
    super(...args);
    sockets.add(this);
    this.addEventListener('close', () => (sockets.delete(this), setImmediate(check)));
    this.addEventListener('message', () => setImmediate(check));
  }
};
if (mobile) {
  Object.assign(api.Platform, { isDesktop: false, isMobile: true });
  api.FileSystemAdapter = class {};
}

// What the app provides to plugins; a plugin on a phone gets no module of Node.
const provided = { obsidian: api, '@codemirror/view': codemirror };
const resolve = Module._load;
Module._load = (name, parent, ...rest) => {
  if (name in provided) return provided[name];
  if (mobile && parent?.filename === main) throw new Error(`no module ${name} on this device`);
  return resolve(name, parent, ...rest);
};

const app = new api.App(folder, JSON.parse(stored));
running.app = app;
const Companion = require(main);
const manifest = JSON.parse(fs.readFileSync(path.join(path.dirname(main), 'manifest.json'), 'utf8'));
const plugin = new Companion(app, manifest);

// What a person sees

const leafOf = (note) => app.workspace.leaves.find((leaf) => leaf.view.file?.path === note);
const editorOf = (note) => leafOf(note).view.editor;
const review = () => app.workspace.getLeavesOfType('vaultbridge-review')[0]?.view ?? null;
const cardNodes = () => review()?.contentEl.querySelectorAll('.vaultbridge-change') ?? [];
const buttonsOf = (node) => node.querySelectorAll('button');
const cards = () =>
  cardNodes().map((node) => ({
    path: node.querySelector('h3').textContent,
    summary: node.querySelector('p').textContent,
    warning: node.querySelector('.vaultbridge-warning')?.textContent ?? '',
    minus: node.querySelectorAll('.vaultbridge-minus').map((row) => row.children[1].textContent.replace('removed: ', '')),
    plus: node.querySelectorAll('.vaultbridge-plus').map((row) => row.children[1].textContent.replace('added: ', '')),
    changes: node.querySelectorAll('label').map((label) => label.textContent.trim()),
    buttons: buttonsOf(node).map((button) => button.textContent),
    enabled: buttonsOf(node).filter((button) => !button.disabled).map((button) => button.textContent),
    text: node.querySelector('textarea')?.value ?? null,
    all: node.textContent,
  }));
const views = {
  cards,
  status: () => app.statusBar[0]?.textContent ?? '',
  notices: () => app.notices.map((notice) => notice.messageEl.textContent),
  openNotices: () => app.notices.filter((notice) => notice.shown).map((notice) => notice.messageEl.textContent),
  modal: () => app.modals[0]?.contentEl.textContent ?? '',
  focused: () => page.activeElement.textContent || page.activeElement.tagName,
  announcement: () => review()?.contentEl.querySelector('.vaultbridge-announcement').textContent ?? '',
  state: () => plugin.connection.state,
  reason: () => plugin.connection.reason,
  selected: (note) => {
    const editor = editorOf(note);
    return editor.getRange(editor.getCursor('from'), editor.getCursor('to'));
  },
  review: () => plugin.reviewState?.review ?? null,
  decided: () => review().decided.element.querySelectorAll('li').map((row) => row.textContent),
  activity: () => review().activity.list.querySelectorAll('li').map((row) => row.textContent),
  assistants: () => review().activity.assistants.querySelectorAll('li').map((row) => row.textContent),
  all: () => (review() ? buttonsOf(review().acceptAll).map((button) => button.textContent) : []),
  active: () => app.workspace.getActiveFile()?.path ?? null,
  tabs: () => app.workspace.leaves.map((leaf) => leaf.getViewState().state.file ?? leaf.getViewState().type),
  leftovers: () => ({
    timers: timers.size,
    sockets: [...sockets].filter((socket) => socket.readyState <= WebSocket.OPEN).length,
    events: app.workspace.count + app.vault.count,
    listeners: window.listenerCount + page.listenerCount,
    notices: app.notices.filter((notice) => notice.shown).length,
    parts: app.commands.size + app.views.size + app.statusBar.length + app.settingTabs.length + app.extensions.size,
  }),
  settings: () => app.settingTabs[0].containerEl.children.map(({ setting }) => setting.name),
  stored: () => Object.fromEntries(app.stored),
};

// What a person does

// `then` names a view to return at once, because the next message may come before the test can ask.
const cardOf = (note) => cardNodes().find((node) => node.querySelector('h3').textContent === note);
const verbs = {
  load: ({ slow }) => {
    if (slow) app.workspace.waiting = [];
    return plugin.onload();
  },
  finishLayout: () => app.workspace.ready(),
  unload: () => plugin.unload(),
  see: ({ what, about }) => views[what](about),
  open: ({ note, area }) => {
    const { workspace } = app;
    const leaf = area ? workspace.newLeaf(workspace[area]) : workspace.getLeaf('tab');
    return leaf.openFile(app.vault.getFileByPath(note), { active: !area });
  },
  defer: ({ note }) => {
    app.workspace.newLeaf(app.workspace.rootSplit).deferred = note;
    app.workspace.trigger('layout-change');
  },
  pin: ({ note }) => {
    leafOf(note).pinned = true;
    app.workspace.trigger('layout-change');
  },
  close: ({ note }) => leafOf(note).detach(),
  closeReview: () => app.workspace.getLeavesOfType('vaultbridge-review')[0].detach(),
  goTo: ({ note }) => app.workspace.setActiveLeaf(leafOf(note)),
  preview: ({ note }) => {
    leafOf(note).view.mode = 'preview';
    app.workspace.trigger('layout-change');
  },
  select: ({ note, from, to }) => {
    const [start, end] = [from, to ?? from].map(([line, ch]) => ({ line, ch }));
    editorOf(note).setSelection(start, end);
  },
  write: ({ note, text, then }) => {
    editorOf(note).focused = true;
    editorOf(note).write(text);
    return then && views[then]();
  },
  save: ({ note }) => leafOf(note).view.save(),
  // The app's watcher notices a write by another program, and shows it.
  noticeChange: async ({ note }) => {
    const leaf = leafOf(note);
    app.vault.trigger('modify', new api.TFile(app.vault, note));
    if (leaf) leaf.view.editor.write(await app.vault.read(leaf.view.file));
  },
  runCommand: ({ name, then }) => {
    const command = app.commands.get(`vaultbridge:${name}`);
    if (command.callback) {
      command.callback();
      return then && views[then]();
    }
    if (!command.checkCallback(true)) return false;
    return void command.checkCallback(false);
  },
  openMenu: ({ event, note }) => {
    const menu = new api.Menu();
    const file = new api.TFile(app.vault, note);
    const rest = event === 'file-menu' ? [file] : [editorOf(note), leafOf(note).view];
    app.workspace.trigger(event, menu, ...rest);
    menu.items[0]?.act();
    return menu.items.map(({ title }) => title);
  },
  press: ({ note, button }) => {
    const found = buttonsOf(cardOf(note)).find((candidate) => candidate.textContent === button);
    found.focus();
    found.click();
  },
  pressNth: ({ index, button }) => buttonsOf(cardNodes()[index]).find((candidate) => candidate.textContent === button).click(),
  pressEdit: ({ note, file }) => buttonsOf(cardOf(note)).find((button) => button.getAttribute('data-part') === `edit ${file}`).click(),
  choose: ({ note, change, take }) => {
    const box = cardOf(note).querySelectorAll('input')[change];
    box.checked = take;
    box.dispatch('change');
  },
  type: ({ note, text }) => {
    const area = cardOf(note).querySelector('textarea');
    area.value = text;
    area.dispatch('input');
  },
  giveReason: ({ note, text }) => {
    const input = cardOf(note).querySelectorAll('input').at(-1);
    input.value = text;
    input.dispatch('input');
  },
  showPanel: ({ name }) => review().tabs.get(name).click(),
  filter: ({ value }) => {
    const choice = review().activity.element.querySelector('select');
    choice.value = value;
    choice.dispatch('change');
  },
  pressIn: ({ panel, button }) => {
    const found = buttonsOf(review().panels.get(panel)).find((candidate) => (candidate.getAttribute('aria-label') ?? candidate.textContent) === button);
    found.click();
  },
  pressNotice: () => app.notices.find((notice) => notice.shown).messageEl.querySelector('button').click(),
  pressStatus: ({ key }) => app.statusBar[0].dispatch(key ? 'keydown' : 'click', { key }),
  pressModal: ({ button }) => app.modals[0].contentEl.querySelectorAll('button').find((candidate) => candidate.textContent === button).click(),
  showSettings: () => app.settingTabs[0].display(),
  leaveSettings: () => app.settingTabs[0].hide(),
  set: ({ name, value }) => {
    const { setting } = app.settingTabs[0].containerEl.children.find((row) => row.setting.name === name);
    if (setting.control.disabled) throw new Error('it is disabled');
    setting.control.use(value);
  },
  goOnline: () => window.dispatch('online'),
  callPart: ({ name, args }) => Companion.parts[name](...args),
};

// The conversation

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
let waiting = [];

/** Check every condition that a test waits for; one that throws is not met yet. */
function check() {
  waiting = waiting.filter(({ id, what, about, text }) => {
    let met = false;
    try {
      met = new Function('it', `return (${text});`)(views[what](about));
    } catch {
      met = false;
    }
    if (met) send({ id, result: views[what](about) });
    return !met;
  });
}

let scheduled = false;
dom.onChange(() => {
  if (scheduled) return;
  scheduled = true;
  // Once the current change is complete.
  setImmediate(() => {
    scheduled = false;
    check();
  });
});

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, verb, args } = JSON.parse(line);
  if (verb === 'until') {
    waiting.push({ id, ...args });
    check();
    return;
  }
  try {
    send({ id, result: (await verbs[verb](args)) ?? null });
  } catch (error) {
    send({ id, error: String(error.stack ?? error) });
  }
  check();
});
