// A stand-in for the `obsidian` module: the part of the public API that the companion uses, over a real folder.
// Behaviour follows obsidian.d.ts 1.13 and its comments. Nothing of the companion is in here.
'use strict';

const fs = require('fs');
const path = require('path');
const { Page } = require('./dom.cjs');

const page = new Page();
const Platform = { isDesktopApp: true, isMobile: false };

class Events {
  #refs = new Set();

  on(name, act) {
    const ref = { name, act, from: this };
    this.#refs.add(ref);
    return ref;
  }

  offref(ref) {
    this.#refs.delete(ref);
  }

  trigger(name, ...data) {
    for (const ref of [...this.#refs]) if (ref.name === name) ref.act(...data);
  }

  get count() {
    return this.#refs.size;
  }
}

class Component {
  #undo = [];

  register(undo) {
    this.#undo.push(undo);
  }

  registerEvent(ref) {
    this.register(() => ref.from.offref(ref));
  }

  registerDomEvent(target, type, act) {
    target.addEventListener(type, act);
    this.register(() => target.removeEventListener(type, act));
  }

  onload() {}

  onunload() {}

  unload() {
    this.#undo.splice(0).reverse().forEach((undo) => undo());
    this.onunload();
  }
}

class TFile {
  constructor(vault, at) {
    Object.assign(this, { vault, path: at, name: path.basename(at) });
  }
}

class FileSystemAdapter {
  constructor(folder) {
    this.folder = folder;
  }

  getBasePath() {
    return this.folder;
  }
}

class Vault extends Events {
  constructor(folder) {
    super();
    this.adapter = new FileSystemAdapter(folder);
  }

  getName() {
    return path.basename(this.adapter.folder);
  }

  getFileByPath(at) {
    return fs.existsSync(path.join(this.adapter.folder, at)) ? new TFile(this, at) : null;
  }

  async read(file) {
    return fs.readFileSync(path.join(this.adapter.folder, file.path), 'utf8');
  }

  cachedRead(file) {
    return this.read(file);
  }

  write(at, text) {
    fs.writeFileSync(path.join(this.adapter.folder, at), text);
    this.trigger('modify', new TFile(this, at));
  }
}

class View extends Component {
  constructor(leaf) {
    super();
    Object.assign(this, { leaf, app: leaf.app, contentEl: page.createElement('div') });
  }

  async onOpen() {}

  async onClose() {}
}

class ItemView extends View {}

class FileView extends ItemView {
  file = null;
}

class TextFileView extends FileView {}

class Editor {
  #from = { line: 0, ch: 0 };
  #to = { line: 0, ch: 0 };
  focused = false;
  seen = null;

  constructor(view, text) {
    this.view = view;
    this.text = text;
  }

  get #lines() {
    return this.text.split('\n');
  }

  lineCount = () => this.#lines.length;
  lastLine = () => this.#lines.length - 1;
  getLine = (line) => this.#lines[line];
  hasFocus = () => this.focused;
  getCursor = (side) => (side === 'to' ? this.#to : this.#from);

  #offset({ line, ch }) {
    if (line > this.lastLine() || ch > this.getLine(line).length) throw new RangeError('outside of the document');
    return this.#lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + ch;
  }

  getRange(from, to) {
    return this.text.slice(this.#offset(from), this.#offset(to));
  }

  setSelection(from, to = from) {
    [this.#from, this.#to] = this.#offset(from) <= this.#offset(to) ? [from, to] : [to, from];
    this.view.app.updated({ selectionSet: true });
  }

  scrollIntoView(range) {
    this.seen = range;
  }

  /** A person types: the whole text becomes another. */
  write(text) {
    this.text = text;
    this.view.app.workspace.trigger('editor-change', this, this.view);
    this.view.app.updated({ docChanged: true });
  }
}

class MarkdownView extends TextFileView {
  mode = 'source';

  getViewType = () => 'markdown';
  getMode = () => this.mode;
  getViewData = () => this.editor.text;

  async save() {
    this.app.vault.write(this.file.path, this.editor.text);
  }
}

class WorkspaceLeaf {
  pinned = false;
  view = { getViewType: () => 'empty' };
  deferred = null;

  constructor(app, root) {
    Object.assign(this, { app, root });
  }

  getRoot() {
    return this.root;
  }

  getViewState() {
    if (this.deferred) return { type: 'markdown', state: { file: this.deferred }, pinned: this.pinned };
    const state = this.view.file ? { file: this.view.file.path } : {};
    return { type: this.view.getViewType(), state, pinned: this.pinned };
  }

  async loadIfDeferred() {
    const at = this.deferred;
    this.deferred = null;
    if (at) await this.openFile(this.app.vault.getFileByPath(at), { active: false });
  }

  async openFile(file, { active = true } = {}) {
    const view = new MarkdownView(this);
    view.file = file;
    view.editor = new Editor(view, (await this.app.vault.read(file)).replace(/\r\n/g, '\n'));
    this.view = view;
    if (active) this.app.workspace.setActiveLeaf(this);
    this.app.workspace.trigger('layout-change');
  }

  async setViewState({ type, active }) {
    this.view = this.app.views.get(type)(this);
    page.body.append(this.view.contentEl);
    await this.view.onOpen();
    if (active) this.app.workspace.setActiveLeaf(this);
    this.app.workspace.trigger('layout-change');
  }

  async detach() {
    await this.view.onClose?.();
    this.view.contentEl?.remove();
    this.app.workspace.removed(this);
  }
}

class Workspace extends Events {
  rootSplit = {};
  leftSplit = {};
  rightSplit = {};
  leaves = [];
  activeLeaf = null;
  #recent = null;

  constructor(app) {
    super();
    this.app = app;
  }

  /** Null once the layout is there; until then, who waits for it. */
  waiting = null;

  onLayoutReady(act) {
    if (this.waiting) this.waiting.push(act);
    else act();
  }

  ready() {
    const waiting = this.waiting ?? [];
    this.waiting = null;
    waiting.forEach((act) => act());
  }

  getLeaf(kind) {
    if (kind === false && this.activeLeaf) return this.activeLeaf;
    return this.newLeaf(this.rootSplit);
  }

  newLeaf(root) {
    const leaf = new WorkspaceLeaf(this.app, root);
    this.leaves.push(leaf);
    return leaf;
  }

  iterateAllLeaves(act) {
    this.leaves.forEach(act);
  }

  getLeavesOfType(type) {
    return this.leaves.filter((leaf) => leaf.getViewState().type === type);
  }

  setActiveLeaf(leaf) {
    this.activeLeaf = leaf;
    if (leaf.view instanceof FileView) this.#recent = leaf;
    for (const one of this.leaves) if (one.view.editor) one.view.editor.focused = false;
    this.trigger('active-leaf-change', leaf);
    this.trigger('file-open', this.getActiveFile());
  }

  async revealLeaf(leaf) {
    await leaf.loadIfDeferred();
    this.setActiveLeaf(leaf);
  }

  removed(leaf) {
    this.leaves = this.leaves.filter((one) => one !== leaf);
    if (this.#recent === leaf) this.#recent = null;
    if (this.activeLeaf === leaf) this.activeLeaf = null;
    this.trigger('layout-change');
  }

  get activeEditor() {
    return this.activeLeaf?.view instanceof MarkdownView ? this.activeLeaf.view : null;
  }

  getActiveFile() {
    return (this.activeLeaf?.view instanceof FileView ? this.activeLeaf : this.#recent)?.view.file ?? null;
  }
}

class App {
  views = new Map();
  extensions = new Set();
  commands = new Map();
  statusBar = [];
  settingTabs = [];
  modals = [];
  notices = [];

  constructor(folder, stored) {
    this.vault = new Vault(folder);
    this.workspace = new Workspace(this);
    this.stored = new Map(Object.entries(stored));
  }

  loadLocalStorage(key) {
    return this.stored.has(key) ? JSON.parse(this.stored.get(key)) : null;
  }

  saveLocalStorage(key, data) {
    if (data === null) this.stored.delete(key);
    else this.stored.set(key, JSON.stringify(data));
  }

  /** CodeMirror tells its listeners. */
  updated(update) {
    const whole = { selectionSet: false, docChanged: false, focusChanged: false, ...update };
    for (const listener of this.extensions) listener(whole);
  }
}

class Plugin extends Component {
  constructor(app, manifest) {
    super();
    Object.assign(this, { app, manifest });
  }

  #add(collection, key, value) {
    collection.set(key, value);
    this.register(() => collection.delete(key));
  }

  addCommand(command) {
    this.#add(this.app.commands, `${this.manifest.id}:${command.id}`, command);
    return command;
  }

  registerView(type, make) {
    this.#add(this.app.views, type, make);
  }

  registerEditorExtension(extension) {
    this.app.extensions.add(extension);
    this.register(() => this.app.extensions.delete(extension));
  }

  addStatusBarItem() {
    const item = page.createElement('div');
    this.app.statusBar.push(item);
    this.register(() => this.app.statusBar.splice(this.app.statusBar.indexOf(item), 1));
    return item;
  }

  addSettingTab(tab) {
    this.app.settingTabs.push(tab);
    this.register(() => this.app.settingTabs.splice(this.app.settingTabs.indexOf(tab), 1));
  }

  async loadData() {
    throw new Error('data.json lies in the vault');
  }

  async saveData() {
    throw new Error('data.json lies in the vault');
  }
}

class Modal {
  constructor(app) {
    Object.assign(this, { app, contentEl: page.createElement('div'), title: '' });
  }

  setTitle(title) {
    this.title = title;
  }

  open() {
    this.app.modals.push(this);
    page.body.append(this.contentEl);
    void this.onOpen();
  }

  close() {
    this.app.modals.splice(this.app.modals.indexOf(this), 1);
    this.contentEl.remove();
    this.onClose();
  }
}

/** The app that runs; notices belong to no other. */
const running = { app: null };

class Notice {
  constructor(message) {
    this.messageEl = page.createElement('div');
    this.messageEl.append(message);
    page.body.append(this.messageEl);
    running.app.notices.push(this);
    this.shown = true;
  }

  hide() {
    this.shown = false;
    this.messageEl.remove();
  }
}

class Control {
  inputEl = page.createElement('input');
  disabled = false;

  #act = () => {};

  setValue(value) {
    this.value = value;
    return this;
  }

  addOptions(options) {
    this.options = options;
    return this;
  }

  setPlaceholder() {
    return this;
  }

  setButtonText(text) {
    this.text = text;
    return this;
  }

  setDisabled(disabled) {
    this.disabled = disabled;
    return this;
  }

  onChange(act) {
    this.#act = act;
    return this;
  }

  onClick(act) {
    this.#act = act;
    return this;
  }

  /** A person changes it. */
  use(value) {
    this.value = value;
    this.#act(value);
  }
}

class Setting {
  constructor(container) {
    this.element = page.createElement('section');
    this.element.setting = this;
    container.append(this.element);
  }

  setName(name) {
    this.name = name;
    return this;
  }

  setDesc(text) {
    this.text = text;
    return this;
  }

  #with(act) {
    this.control = new Control();
    act(this.control);
    return this;
  }

  addText = this.#with;
  addToggle = this.#with;
  addDropdown = this.#with;
  addButton = this.#with;
}

class PluginSettingTab {
  constructor(app, plugin) {
    Object.assign(this, { app, plugin, containerEl: page.createElement('div') });
  }
}

module.exports = {
  api: {
    App, Component, Editor, FileSystemAdapter, FileView, ItemView, MarkdownView, Modal, Notice, Platform, Plugin,
    PluginSettingTab, Setting, TFile, TextFileView,
  },
  codemirror: { EditorView: { updateListener: { of: (listener) => listener } } },
  page,
  running,
};
