// Reports: what is open, where the person is, what is selected.

/** Reports to the bridge what the app has open, whenever that changes. Only reads the workspace. */
class Reports {
  /** @type {number | undefined} */ #timer;
  /** @type {Map<string, string>} */ #sent = new Map();
  /** Paths whose editor has changed, so that its text may not be saved yet. @type {Set<string>} */ #suspects = new Set();
  /** @type {{path: string | null, selection?: Range}} */ #focus = { path: null };

  /** @param {import('obsidian').App} app @param {(method: string, params: object) => void} tell */
  constructor(app, tell) {
    this.app = app;
    this.tell = tell;
  }

  /** Something may have changed. */
  soon() {
    this.#timer ??= window.setTimeout(() => {
      this.#timer = undefined;
      void this.#report();
    }, REPORT_MS);
  }

  /** A person typed in an editor. @param {string} path */
  edited(path) {
    this.#suspects.add(path);
    this.soon();
  }

  /** The bridge is new or has forgotten everything: report again. */
  resend() {
    this.#sent.clear();
    this.soon();
  }

  stop() {
    window.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #report() {
    const unsaved = await this.#unsaved();
    this.#say('openFiles', { files: openFiles(this.app, unsaved) });
    this.#say('focus', this.#whereThePersonIs());
  }

  /** @param {string} method @param {object} params */
  #say(method, params) {
    const written = JSON.stringify(params);
    if (this.#sent.get(method) === written) return;
    this.#sent.set(method, written);
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
    // The review and sidebars have no editor: the last active note keeps its selection.
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

/** The leaves of the main area and of other windows. Sidebars show facts about a note, not the note.
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

/** The path that a leaf shows, even if the app has not loaded it yet.
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

/** Whether the app's text differs from the file's. The app saves a little after the last keystroke and does not say
 * what is unsaved, so the two are compared. @param {import('obsidian').App} app @param {string} path */
async function isUnsaved(app, path) {
  const view = textViewOf(app, path);
  if (!view?.file) return false;
  const saved = await app.vault.cachedRead(view.file);
  return plain(saved) !== plain(view.getViewData());
}
