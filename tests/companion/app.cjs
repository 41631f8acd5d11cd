// A stand-in for the `obsidian` module: the part of the public API that the companion uses, over a real folder.
// Behaviour follows the comments of obsidian.d.ts. That everything offered here is in there, with a signature that fits, is
// checked by `standin.ts`, which also lists what belongs to the tests alone. Nothing of the companion is in here.
'use strict';

const fs = require('fs');
const path = require('path');
const { Page } = require('./dom.cjs');

/** @typedef {typeof import('obsidian')} Obsidian */

/** What the app would give here. @template T @param {unknown} value @returns {T} */
const as = (value) => /** @type {any} */ (value);

/** @type {Document} */
const page = as(new Page());
const Platform = { isDesktop: true, isMobile: false };

class Events {
  /** @type {Set<{name: string, act: (...data: any[]) => unknown, from: Events}>} */ #refs = new Set();

  /** @param {string} name @param {(...data: any[]) => unknown} act @returns {import('obsidian').EventRef} */
  on(name, act) {
    const ref = { name, act, from: this };
    this.#refs.add(ref);
    return ref;
  }

  /** @param {import('obsidian').EventRef} ref */
  offref(ref) {
    this.#refs.delete(as(ref));
  }

  /** @param {string} name @param {unknown[]} data */
  trigger(name, ...data) {
    for (const ref of [...this.#refs]) if (ref.name === name) ref.act(...data);
  }

  get count() {
    return this.#refs.size;
  }
}

class Component {
  /** @type {(() => any)[]} */ #undo = [];

  /** @param {() => any} undo */
  register(undo) {
    this.#undo.push(undo);
  }

  /** @param {import('obsidian').EventRef} ref */
  registerEvent(ref) {
    /** @type {{from: Events}} */ const { from } = as(ref);
    this.register(() => from.offref(ref));
  }

  /** @param {Window | Document | HTMLElement} target @param {string} type @param {(...event: any[]) => any} act */
  registerDomEvent(target, type, act) {
    target.addEventListener(type, act);
    this.register(() => target.removeEventListener(type, act));
  }

  /** @returns {void | Promise<void>} */
  onload() {}

  onunload() {}

  unload() {
    this.#undo.splice(0).reverse().forEach((undo) => undo());
    this.onunload();
  }
}

class TFile {
  /** @param {Vault} vault @param {string} at */
  constructor(vault, at) {
    /** @type {import('obsidian').Vault} */ this.vault = as(vault);
    this.path = at;
    this.name = path.basename(at);
  }
}

class FileSystemAdapter {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
  }

  getBasePath() {
    return this.folder;
  }
}

class Vault extends Events {
  /** @param {string} folder */
  constructor(folder) {
    super();
    this.folder = folder;
    /** @type {import('obsidian').DataAdapter} */ this.adapter = as(new FileSystemAdapter(folder));
  }

  getName() {
    return path.basename(this.folder);
  }

  /** @param {string} at @returns {import('obsidian').TFile | null} */
  getFileByPath(at) {
    return fs.existsSync(path.join(this.folder, at)) ? as(new TFile(this, at)) : null;
  }

  /** @param {import('obsidian').TFile} file */
  async read(file) {
    return fs.readFileSync(path.join(this.folder, file.path), 'utf8');
  }

  /** @param {import('obsidian').TFile} file */
  cachedRead(file) {
    return this.read(file);
  }

  /** @param {string} at @param {string} text */
  write(at, text) {
    fs.writeFileSync(path.join(this.folder, at), text);
    this.trigger('modify', new TFile(this, at));
  }
}

class View extends Component {
  /** @param {import('obsidian').WorkspaceLeaf} leaf */
  constructor(leaf) {
    super();
    this.leaf = leaf;
    /** @type {{app: App}} */ const { app } = as(leaf);
    /** @type {import('obsidian').App} */ this.app = as(app);
    this.containerEl = page.createElement('div');
  }

  getViewType() {
    return '';
  }

  getDisplayText() {
    return '';
  }

  getIcon() {
    return 'document';
  }

  /** @protected */
  async onOpen() {}

  /** @protected */
  async onClose() {}
}

class ItemView extends View {
  contentEl = page.createElement('div');
}

class FileView extends ItemView {
  /** @type {import('obsidian').TFile | null} */ file = null;
}

class TextFileView extends FileView {
  getViewData() {
    return '';
  }

  async save() {}
}

class Editor {
  #from = { line: 0, ch: 0 };
  #to = { line: 0, ch: 0 };
  focused = false;
  /** @type {import('obsidian').EditorRange | null} */ seen = null;

  /** @param {MarkdownView} view @param {string} text */
  constructor(view, text) {
    this.view = view;
    this.text = text;
  }

  get #lines() {
    return this.text.split('\n');
  }

  lineCount() {
    return this.#lines.length;
  }

  lastLine() {
    return this.#lines.length - 1;
  }

  /** @param {number} line */
  getLine(line) {
    return this.#lines[line];
  }

  hasFocus() {
    return this.focused;
  }

  /** @param {'from' | 'to' | 'head' | 'anchor'} [side] */
  getCursor(side) {
    return side === 'to' ? this.#to : this.#from;
  }

  /** @param {import('obsidian').EditorPosition} place */
  #offset({ line, ch }) {
    if (line > this.lastLine() || ch > this.getLine(line).length) throw new RangeError('outside of the document');
    return this.#lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + ch;
  }

  /** @param {import('obsidian').EditorPosition} from @param {import('obsidian').EditorPosition} to */
  getRange(from, to) {
    return this.text.slice(this.#offset(from), this.#offset(to));
  }

  /** @param {import('obsidian').EditorPosition} from @param {import('obsidian').EditorPosition} [to] */
  setSelection(from, to = from) {
    [this.#from, this.#to] = this.#offset(from) <= this.#offset(to) ? [from, to] : [to, from];
    this.view.host.updated({ selectionSet: true });
  }

  /** @param {import('obsidian').EditorRange} range @param {boolean} [center] */
  scrollIntoView(range, center) {
    this.seen = range;
  }

  /** A person types: the whole text becomes another. @param {string} text */
  write(text) {
    this.text = text;
    this.view.app.workspace.trigger('editor-change', this, this.view);
    this.view.host.updated({ docChanged: true });
  }
}

class MarkdownView extends TextFileView {
  /** @type {import('obsidian').MarkdownViewModeType} */ mode = 'source';
  /** The editor as the app gives it. @type {import('obsidian').Editor} */ editor = as(null);

  /** @returns {App} */
  get host() {
    return as(this.app);
  }

  /** The same editor with what tests do to it. @returns {Editor} */
  get typed() {
    return as(this.editor);
  }

  getViewType() {
    return 'markdown';
  }

  getMode() {
    return this.mode;
  }

  getViewData() {
    return this.typed.text;
  }

  async save() {
    if (this.file) this.host.files.write(this.file.path, this.typed.text);
  }
}

class WorkspaceLeaf {
  pinned = false;
  /** @type {import('obsidian').View} */ view = as({ getViewType: () => 'empty' });
  /** The note of a tab that the app has not loaded yet. @type {string | null} */ deferred = null;

  /** @param {App} app @param {object} root */
  constructor(app, root) {
    this.app = app;
    this.root = root;
  }

  /** @returns {import('obsidian').WorkspaceContainer} */
  getRoot() {
    return as(this.root);
  }

  /** @returns {import('obsidian').ViewState} */
  getViewState() {
    if (this.deferred) return { type: 'markdown', state: { file: this.deferred }, pinned: this.pinned };
    /** @type {FileView} */ const { file } = as(this.view);
    return { type: this.view.getViewType(), state: file ? { file: file.path } : {}, pinned: this.pinned };
  }

  async loadIfDeferred() {
    const at = this.deferred;
    this.deferred = null;
    const file = at && this.app.files.getFileByPath(at);
    if (file) await this.openFile(file, { active: false });
  }

  /** @param {import('obsidian').TFile} file @param {import('obsidian').OpenViewState} [state] */
  async openFile(file, { active = true } = {}) {
    const view = new MarkdownView(as(this));
    view.file = file;
    const text = (await this.app.files.read(file)).replace(/\r\n/g, '\n');
    view.editor = as(this.app.makeEditor(view, text));
    this.view = as(view);
    if (active) this.app.tabs.setActiveLeaf(as(this));
    this.app.tabs.trigger('layout-change');
  }

  /** @param {import('obsidian').ViewState} state */
  async setViewState({ type, active }) {
    const make = this.app.views.get(type);
    /** @type {ItemView} */ const view = as(make?.(as(this)));
    this.view = as(view);
    page.body.append(view.contentEl);
    await this.#call('onOpen');
    if (active) this.app.tabs.setActiveLeaf(as(this));
    this.app.tabs.trigger('layout-change');
  }

  async detach() {
    await this.#call('onClose');
    /** @type {Partial<ItemView>} */ const { contentEl } = as(this.view);
    contentEl?.remove();
    this.app.tabs.removed(this);
  }

  /** What only the app calls. @param {'onOpen' | 'onClose'} name */
  async #call(name) {
    /** @type {Record<string, (() => Promise<void>) | undefined>} */ const view = as(this.view);
    await view[name]?.();
  }
}

class Workspace extends Events {
  /** @type {import('obsidian').WorkspaceRoot} */ rootSplit = as({});
  /** @type {import('obsidian').WorkspaceSidedock} */ leftSplit = as({});
  /** @type {import('obsidian').WorkspaceSidedock} */ rightSplit = as({});
  /** @type {WorkspaceLeaf[]} */ leaves = [];
  /** @type {import('obsidian').WorkspaceLeaf | null} */ activeLeaf = null;
  /** @type {FileView | null} */ #recent = null;
  /** Null once the layout is there; until then, who waits for it. @type {(() => any)[] | null} */ waiting = null;

  /** @param {App} app */
  constructor(app) {
    super();
    this.app = app;
  }

  /** @param {() => any} act */
  onLayoutReady(act) {
    if (this.waiting) this.waiting.push(act);
    else act();
  }

  ready() {
    /** @type {(() => any)[]} */ const waiting = this.waiting ?? [];
    this.waiting = null;
    waiting.forEach((act) => act());
  }

  /** @param {import('obsidian').PaneType | boolean} [kind] @returns {import('obsidian').WorkspaceLeaf} */
  getLeaf(kind) {
    if (kind === false && this.activeLeaf) return this.activeLeaf;
    return as(this.newLeaf(this.rootSplit));
  }

  /** @param {object} root */
  newLeaf(root) {
    const leaf = new WorkspaceLeaf(this.app, root);
    this.leaves.push(leaf);
    return leaf;
  }

  /** @param {(leaf: import('obsidian').WorkspaceLeaf) => any} act */
  iterateAllLeaves(act) {
    this.leaves.forEach((leaf) => act(as(leaf)));
  }

  /** @param {string} type @returns {import('obsidian').WorkspaceLeaf[]} */
  getLeavesOfType(type) {
    return as(this.leaves.filter((leaf) => leaf.getViewState().type === type));
  }

  /** @param {import('obsidian').WorkspaceLeaf} leaf @param {{focus?: boolean} | boolean} [params] @param {boolean} [focus] */
  setActiveLeaf(leaf, params, focus) {
    this.activeLeaf = leaf;
    /** @type {unknown} */ const view = leaf.view;
    if (view instanceof FileView) this.#recent = view;
    for (const one of this.leaves) {
      /** @type {unknown} */ const other = one.view;
      if (other instanceof MarkdownView) other.typed.focused = false;
    }
    this.trigger('active-leaf-change', leaf);
    this.trigger('file-open', this.getActiveFile());
  }

  /** @param {import('obsidian').WorkspaceLeaf} leaf */
  async revealLeaf(leaf) {
    await leaf.loadIfDeferred();
    this.setActiveLeaf(leaf);
  }

  /** @param {WorkspaceLeaf} leaf */
  removed(leaf) {
    this.leaves = this.leaves.filter((other) => other !== leaf);
    if (this.#recent === as(leaf.view)) this.#recent = null;
    if (this.activeLeaf === as(leaf)) this.activeLeaf = null;
    this.trigger('layout-change');
  }

  /** @returns {import('obsidian').MarkdownFileInfo | null} */
  get activeEditor() {
    /** @type {unknown} */ const view = this.activeLeaf?.view;
    return view instanceof MarkdownView ? as(view) : null;
  }

  /** @returns {import('obsidian').TFile | null} */
  getActiveFile() {
    /** @type {unknown} */ const view = this.activeLeaf?.view;
    return (view instanceof FileView ? view : this.#recent)?.file ?? null;
  }
}

class App {
  /** @type {Map<string, import('obsidian').ViewCreator>} */ views = new Map();
  /** @type {Set<any>} */ extensions = new Set();
  /** @type {Map<string, import('obsidian').Command>} */ commands = new Map();
  /** @type {HTMLElement[]} */ statusBar = [];
  /** @type {import('obsidian').PluginSettingTab[]} */ settingTabs = [];
  /** @type {Modal[]} */ modals = [];
  /** @type {Notice[]} */ notices = [];

  /** @param {string} folder @param {Record<string, string>} stored */
  constructor(folder, stored) {
    this.files = new Vault(folder);
    this.tabs = new Workspace(this);
    /** @type {import('obsidian').Vault} */ this.vault = as(this.files);
    /** @type {import('obsidian').Workspace} */ this.workspace = as(this.tabs);
    this.stored = new Map(Object.entries(stored));
  }

  /** @param {string} key @returns {any | null} */
  loadLocalStorage(key) {
    const kept = this.stored.get(key);
    return kept === undefined ? null : JSON.parse(kept);
  }

  /** @param {string} key @param {unknown | null} data */
  saveLocalStorage(key, data) {
    if (data === null) this.stored.delete(key);
    else this.stored.set(key, JSON.stringify(data));
  }

  /** A test in a browser gives each view a real CodeMirror instead. @param {MarkdownView} view @param {string} text @returns {object} */
  makeEditor(view, text) {
    return new Editor(view, text);
  }

  /** A plugin brought an extension of CodeMirror, or took it away; there may be editors that have it. */
  extensionsChanged() {}

  /** CodeMirror tells its listeners. @param {object} update */
  updated(update) {
    const whole = { selectionSet: false, docChanged: false, focusChanged: false, ...update };
    for (const listener of this.extensions) listener(whole);
  }
}

class Plugin extends Component {
  /** @param {import('obsidian').App} app @param {import('obsidian').PluginManifest} manifest */
  constructor(app, manifest) {
    super();
    this.app = app;
    this.manifest = manifest;
  }

  /** @returns {App} */
  get #host() {
    return as(this.app);
  }

  /** @template T @param {Map<string, T>} collection @param {string} key @param {T} value */
  #add(collection, key, value) {
    collection.set(key, value);
    this.register(() => collection.delete(key));
  }

  /** @param {import('obsidian').Command} command */
  addCommand(command) {
    this.#add(this.#host.commands, `${this.manifest.id}:${command.id}`, command);
    return command;
  }

  /** @param {string} type @param {import('obsidian').ViewCreator} make */
  registerView(type, make) {
    this.#add(this.#host.views, type, make);
  }

  /** @param {import('@codemirror/state').Extension} extension */
  registerEditorExtension(extension) {
    const host = this.#host;
    host.extensions.add(extension);
    host.extensionsChanged();
    this.register(() => {
      host.extensions.delete(extension);
      host.extensionsChanged();
    });
  }

  addStatusBarItem() {
    const { statusBar } = this.#host;
    const item = page.createElement('div');
    statusBar.push(item);
    this.register(() => statusBar.splice(statusBar.indexOf(item), 1));
    return item;
  }

  /** @param {import('obsidian').PluginSettingTab} tab */
  addSettingTab(tab) {
    const { settingTabs } = this.#host;
    settingTabs.push(tab);
    this.register(() => settingTabs.splice(settingTabs.indexOf(tab), 1));
  }

  /** @returns {Promise<any>} */
  async loadData() {
    throw new Error('data.json lies in the vault');
  }

  /** @param {any} data @returns {Promise<void>} */
  async saveData(data) {
    throw new Error('data.json lies in the vault');
  }
}

class Modal {
  contentEl = page.createElement('div');
  title = '';

  /** @param {import('obsidian').App} app */
  constructor(app) {
    this.app = app;
  }

  /** @returns {App} */
  get #host() {
    return as(this.app);
  }

  /** @param {string} title */
  setTitle(title) {
    this.title = title;
    return this;
  }

  /** @returns {void | Promise<void>} */
  onOpen() {}

  onClose() {}

  open() {
    this.#host.modals.push(this);
    page.body.append(this.contentEl);
    void this.onOpen();
  }

  close() {
    const { modals } = this.#host;
    modals.splice(modals.indexOf(this), 1);
    this.contentEl.remove();
    this.onClose();
  }
}

/** The app that runs; notices belong to no other. @type {{app: App | null}} */
const running = { app: null };

class Notice {
  messageEl = page.createElement('div');
  shown = true;

  /** @param {string | DocumentFragment} message @param {number} [duration] */
  constructor(message, duration) {
    this.messageEl.append(message);
    page.body.append(this.messageEl);
    running.app?.notices.push(this);
  }

  hide() {
    this.shown = false;
    this.messageEl.remove();
  }
}

/** A control of a setting; each kind adds what it has beside this. @template T */
class Control {
  /** @type {any} */ value = undefined;
  disabled = false;
  /** @type {(value: T) => any} */ act = () => {};

  /** @param {boolean} disabled */
  setDisabled(disabled) {
    this.disabled = disabled;
    return this;
  }

  /** A person changes it, or presses it. @param {T} value */
  use(value) {
    this.value = value;
    this.act(value);
  }
}

/** @template T @extends {Control<T>} */
class ValueControl extends Control {
  /** @param {T} value */
  setValue(value) {
    this.value = value;
    return this;
  }

  /** @param {(value: T) => any} act */
  onChange(act) {
    this.act = act;
    return this;
  }
}

/** @extends {ValueControl<boolean>} */
class ToggleComponent extends ValueControl {}

/** @extends {ValueControl<string>} */
class TextComponent extends ValueControl {
  inputEl = page.createElement('input');

  /** @param {string} text */
  setPlaceholder(text) {
    this.inputEl.placeholder = text;
    return this;
  }
}

/** @extends {ValueControl<string>} */
class DropdownComponent extends ValueControl {
  /** @type {Record<string, string>} */ options = {};

  /** @param {Record<string, string>} options */
  addOptions(options) {
    this.options = options;
    return this;
  }
}

/** @extends {Control<any>} */
class ButtonComponent extends Control {
  text = '';

  /** @param {string} text */
  setButtonText(text) {
    this.text = text;
    return this;
  }

  /** @param {(event: MouseEvent) => unknown} act */
  onClick(act) {
    this.act = act;
    return this;
  }
}

class Setting {
  name = '';
  text = '';
  /** @type {Control<any> | null} */ control = null;

  /** @param {HTMLElement} container */
  constructor(container) {
    const element = page.createElement('section');
    Object.assign(element, { setting: this });
    container.append(element);
  }

  /** @param {string | DocumentFragment} name */
  setName(name) {
    this.name = String(name);
    return this;
  }

  /** @param {string | DocumentFragment} text */
  setDesc(text) {
    this.text = String(text);
    return this;
  }

  /** @param {Control<any>} control @param {(control: any) => any} act */
  #with(control, act) {
    this.control = control;
    act(control);
    return this;
  }

  /** @param {(component: import('obsidian').TextComponent) => any} act */
  addText(act) {
    return this.#with(new TextComponent(), act);
  }

  /** @param {(component: import('obsidian').ToggleComponent) => any} act */
  addToggle(act) {
    return this.#with(new ToggleComponent(), act);
  }

  /** @param {(component: import('obsidian').DropdownComponent) => any} act */
  addDropdown(act) {
    return this.#with(new DropdownComponent(), act);
  }

  /** @param {(component: import('obsidian').ButtonComponent) => any} act */
  addButton(act) {
    return this.#with(new ButtonComponent(), act);
  }
}

class SettingTab {
  containerEl = page.createElement('div');

  /** @param {import('obsidian').App} app */
  constructor(app) {
    this.app = app;
  }

  display() {}

  hide() {}
}

class PluginSettingTab extends SettingTab {
  /** @param {import('obsidian').App} app @param {import('obsidian').Plugin} plugin */
  constructor(app, plugin) {
    super(app);
    this.plugin = plugin;
  }
}

/** An item that a plugin put into a menu, and what pressing it does. */
class MenuItem {
  title = '';
  /** @type {(event: any) => any} */ act = () => {};

  /** @param {string | DocumentFragment} title */
  setTitle(title) {
    this.title = String(title);
    return this;
  }

  /** @param {string | null} icon */
  setIcon(icon) {
    return this;
  }

  /** @param {(event: MouseEvent | KeyboardEvent) => any} act */
  onClick(act) {
    this.act = act;
    return this;
  }
}

class Menu {
  /** @type {MenuItem[]} */ items = [];

  /** @param {(item: import('obsidian').MenuItem) => any} fill */
  addItem(fill) {
    const item = new MenuItem();
    this.items.push(item);
    fill(as(item));
    return this;
  }
}

const api = {
  App, ButtonComponent, Component, DropdownComponent, Editor, FileSystemAdapter, FileView, ItemView, MarkdownView, Menu, MenuItem,
  Modal, Notice, Platform, Plugin, PluginSettingTab, Setting, SettingTab, TFile, TextComponent, TextFileView, ToggleComponent,
  Vault, View, Workspace, WorkspaceLeaf,
};

module.exports = {
  api,
  codemirror: { EditorView: { updateListener: { of: (/** @type {unknown} */ listener) => listener } } },
  page,
  running,
};
