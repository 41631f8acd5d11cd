// The editor of Obsidian's API over a real CodeMirror 6, as the app has it: what the companion learns of a moved cursor,
// a selection, typing and focus comes from CodeMirror itself. Only in a browser.

import { Compartment, EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

export class CodeMirrorEditor {
  /** @param {EditorView} cm */
  constructor(cm) {
    this.cm = cm;
  }

  get text() {
    return this.cm.state.doc.toString();
  }

  /** The stand-in takes the focus from editors in other tabs; a browser does that itself. */
  set focused(/** @type {boolean} */ focused) {}

  lineCount() {
    return this.cm.state.doc.lines;
  }

  lastLine() {
    return this.cm.state.doc.lines - 1;
  }

  /** @param {number} line */
  getLine(line) {
    return this.cm.state.doc.line(line + 1).text;
  }

  hasFocus() {
    return this.cm.hasFocus;
  }

  /** @param {import('obsidian').EditorPosition} place */
  #offset({ line, ch }) {
    return this.cm.state.doc.line(line + 1).from + ch;
  }

  /** @param {'from' | 'to' | 'head' | 'anchor'} [side] @returns {import('obsidian').EditorPosition} */
  getCursor(side = 'head') {
    const { doc, selection } = this.cm.state;
    const at = selection.main[side];
    const line = doc.lineAt(at);
    return { line: line.number - 1, ch: at - line.from };
  }

  /** @param {import('obsidian').EditorPosition} from @param {import('obsidian').EditorPosition} to */
  getRange(from, to) {
    return this.cm.state.sliceDoc(this.#offset(from), this.#offset(to));
  }

  /** @param {import('obsidian').EditorPosition} anchor @param {import('obsidian').EditorPosition} [head] */
  setSelection(anchor, head = anchor) {
    this.cm.dispatch({ selection: { anchor: this.#offset(anchor), head: this.#offset(head) } });
  }

  /** @param {import('obsidian').EditorRange} range @param {boolean} [center] */
  scrollIntoView({ from }, center) {
    this.cm.dispatch({ effects: EditorView.scrollIntoView(this.#offset(from), { y: center ? 'center' : 'nearest' }) });
  }
}

/** Gives every note of the stand-in's app a CodeMirror with the extensions that plugins register, as they come and go.
 * @param {any} app */
export function install(app) {
  const extensions = new Compartment();
  /** @type {Set<EditorView>} */ const open = new Set();
  const registered = () => /** @type {import('@codemirror/state').Extension[]} */ ([...app.extensions]);
  app.extensionsChanged = () => {
    for (const cm of open) cm.dispatch({ effects: extensions.reconfigure(registered()) });
  };
  app.makeEditor = (/** @type {any} */ view, /** @type {string} */ text) => {
    const typed = EditorView.updateListener.of((update) => {
      if (update.docChanged) app.workspace.trigger('editor-change', editor, view);
    });
    const state = EditorState.create({ doc: text, extensions: [EditorView.lineWrapping, extensions.of(registered()), typed] });
    const cm = new EditorView({ parent: view.contentEl, state });
    const editor = new CodeMirrorEditor(cm);
    view.contentEl.className = 'note';
    document.body.append(view.contentEl);
    open.add(cm);
    return editor;
  };
}

export { EditorView };
