// Reports: which notes are open, which one is active, and what is selected.

/** Reports to the bridge what the app has open, whenever that changes. Only reads the workspace. */
class Reports {
  /** @type {number | undefined} */ #timer;
  /** @type {Map<string, string>} */ #sent = new Map();
  /** Paths whose text was edited and may not be saved yet. @type {Set<string>} */ #edited = new Set();
  /** @type {{path: string | null, selection?: Range}} */ #focus = { path: null };

  /** @param {import('obsidian').App} app @param {(method: string, params: object) => void} notify */
  constructor(app, notify) {
    this.app = app;
    this.notify = notify;
  }

  /** Reports soon, because something may have changed. */
  schedule() {
    this.#timer ??= window.setTimeout(() => {
      this.#timer = undefined;
      void this.#report();
    }, REPORT_MS);
  }

  /** To be called when a person has typed in an editor. @param {string} path */
  markEdited(path) {
    this.#edited.add(path);
    this.schedule();
  }

  /** Reports everything again, to a bridge that knows nothing. */
  resend() {
    this.#sent.clear();
    this.schedule();
  }

  stop() {
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #report() {
    const unsaved = await this.#findUnsaved();
    this.#sendIfChanged('openFiles', { files: listOpenFiles(this.app, unsaved) });
    this.#sendIfChanged('focus', this.#findFocus());
  }

  /** @param {string} method @param {object} params */
  #sendIfChanged(method, params) {
    const text = JSON.stringify(params);
    if (this.#sent.get(method) === text) return;
    this.#sent.set(method, text);
    this.notify(method, params);
  }

  async #findUnsaved() {
    for (const path of [...this.#edited]) if (!(await isUnsaved(this.app, path))) this.#edited.delete(path);
    return new Set(this.#edited);
  }

  #findFocus() {
    const { workspace } = this.app;
    const info = workspace.activeEditor;
    const path = (info?.file ?? workspace.getActiveFile())?.path ?? null;
    // The review and sidebars have no editor; while one is active, the last note keeps its selection.
    if (info === null && path === this.#focus.path) return this.#focus;
    const editor = info instanceof obsidian.MarkdownView && info.getMode() === 'preview' ? undefined : info?.editor;
    this.#focus = path === null || !editor ? { path } : { path, selection: getSelection(editor) };
    return this.#focus;
  }
}

/** @param {import('obsidian').Editor} editor @returns {Range} */
function getSelection(editor) {
  const [from, to] = [editor.getCursor('from'), editor.getCursor('to')];
  return {
    start: { line: from.line, character: from.ch },
    end: { line: to.line, character: to.ch },
    text: editor.getRange(from, to).slice(0, MAX_SELECTION_CHARS),
  };
}

/** The leaves of the main area and of other windows. Sidebars show facts about notes, not notes.
 * @param {import('obsidian').App} app */
function listMainLeaves(app) {
  /** @type {import('obsidian').WorkspaceLeaf[]} */
  const leaves = [];
  const { leftSplit, rightSplit } = app.workspace;
  app.workspace.iterateAllLeaves((leaf) => {
    const root = leaf.getRoot();
    if (root !== leftSplit && root !== rightSplit) leaves.push(leaf);
  });
  return leaves;
}

/** The path of the file in a leaf, even if the app has not loaded it yet.
 * @param {import('obsidian').WorkspaceLeaf} leaf @returns {string | null} */
function pathOf(leaf) {
  if (leaf.view instanceof obsidian.FileView) return leaf.view.file?.path ?? null;
  const file = leaf.getViewState().state?.file;
  return typeof file === 'string' ? file : null;
}

/** @param {import('obsidian').App} app @param {Set<string>} unsaved */
function listOpenFiles(app, unsaved) {
  /** @type {Map<string, {path: string, dirty: boolean, pinned: boolean, lines: number}>} */
  const files = new Map();
  for (const leaf of listMainLeaves(app)) {
    const path = pathOf(leaf);
    if (path === null) continue;
    const other = files.get(path);
    const lines = leaf.view instanceof obsidian.MarkdownView ? leaf.view.editor.lineCount() : 0;
    files.set(path, {
      path,
      dirty: unsaved.has(path),
      pinned: Boolean(leaf.getViewState().pinned) || Boolean(other?.pinned),
      lines: lines || (other?.lines ?? 0),
    });
  }
  return [...files.values()].slice(0, MAX_OPEN_FILES);
}

/** The view with a file's text, if it is open. @param {import('obsidian').App} app @param {string} path */
function findTextView(app, path) {
  for (const leaf of listMainLeaves(app))
    if (leaf.view instanceof obsidian.TextFileView && leaf.view.file?.path === path) return leaf.view;
  return null;
}

/** Whether the app's text differs from the file's. The app saves shortly after the last keystroke and does not report
 * what is unsaved, so the two are compared. @param {import('obsidian').App} app @param {string} path */
async function isUnsaved(app, path) {
  const view = findTextView(app, path);
  if (!view?.file) return false;
  const saved = await app.vault.cachedRead(view.file);
  return normalizeText(saved) !== normalizeText(view.getViewData());
}
