// The editor of a note's source, and the comparison of two versions of it, with CodeMirror. It is loaded when it is first used.
//
// CodeMirror runs in a shadow root: there it uses constructed style sheets, which the page's policy allows, instead of
// <style> elements, which it forbids.

import { autocompletion, type CompletionSource } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { markdown, markdownLanguage } from '@codemirror/lang-markdown';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { MergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { MarkdownConfig } from '@lezer/markdown';
import { prefersReducedMotion } from './motion';

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--card)', fontSize: '.92rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { padding: '1rem 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 1rem', unicodeBidi: 'plaintext', textAlign: 'start' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--quiet)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--soft) 55%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--main-soft)' },
  '.cm-searchMatch, .cm-selectionMatch': { backgroundColor: 'var(--found)' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '.cm-textfield': { backgroundColor: 'var(--card)', color: 'var(--ink)', borderColor: 'var(--strong-line)' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--raised)', borderColor: 'var(--line)', color: 'var(--ink)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', borderColor: 'var(--line)', borderRadius: '8px', overflow: 'hidden' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--main)', color: 'var(--on-main)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--plus)' },
  '.cm-deletedChunk, .cm-deletedLine': { backgroundColor: 'var(--minus)' },
  '&.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--minus)' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'var(--plus)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'var(--minus-word)' },
  '&.cm-merge-b .cm-changedText': { background: 'var(--plus-word)' },
  '.cm-collapsedLines': { backgroundColor: 'var(--soft)', backgroundImage: 'none', color: 'var(--quiet)' },
});

const highlightStyle = HighlightStyle.define([
  { tag: tags.heading, fontWeight: '700', color: 'var(--main)' },
  { tag: tags.strong, fontWeight: '700' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--main)' },
  { tag: [tags.monospace, tags.string], color: 'var(--good)' },
  { tag: [tags.processingInstruction, tags.meta, tags.comment, tags.quote], color: 'var(--quiet)' },
  { tag: [tags.keyword, tags.atom, tags.bool], color: 'var(--info)' },
]);

const PROPERTIES = /^---[ \t]*\n(?:[\s\S]*?\n)?---[ \t]*(?:\n|$)/;
const PROPERTIES_CHARS = 100_000; // searched for their end

/** The properties at the top, which Markdown alone would read as a heading. */
const properties: MarkdownConfig = {
  defineNodes: [{ name: 'Properties', block: true, style: tags.meta }],
  parseBlock: [{
    name: 'Properties',
    before: 'HorizontalRule',
    parse(context, line) {
      const { input } = context as unknown as { input: { length: number; read(from: number, to: number): string } };
      if (context.lineStart !== 0) return false;
      const found = PROPERTIES.exec(input.read(0, Math.min(input.length, PROPERTIES_CHARS)));
      if (!found) return false;
      const end = found[0].trimEnd().length;
      while (context.lineStart + line.text.length < end && context.nextLine());
      context.nextLine();
      context.addElement(context.elt('Properties', 0, end));
      return true;
    },
  }],
};

/** What every editor of Markdown has. */
const markdownExtensions: Extension = [theme, syntaxHighlighting(highlightStyle), EditorView.lineWrapping, EditorView.perLineTextDirection.of(true), highlightSpecialChars(), markdown({ base: markdownLanguage, extensions: properties })];

function shadowRootOf(host: HTMLElement): ShadowRoot {
  return host.shadowRoot ?? host.attachShadow({ mode: 'open' });
}

export interface EditorOptions {
  text: string;
  label: string;
  onChange: (text: string) => void;
  onSave: () => void;
  /** On Escape. If it returns false, the next Tab leaves the editor instead of indenting. */
  onLeave: () => boolean;
  /** Adds a pasted or dropped picture or other media to the vault, and returns what shows it in the note; '' if it could not be. */
  attach: (file: File, isPasted: boolean) => Promise<string>;
  /** The notes that are suggested after `[[`. */
  paths: () => { title: string; path: string }[];
}

// Rules of the page's style sheet do not reach into a shadow root.
const selectionOptions = prefersReducedMotion() ? { cursorBlinkRate: 0 } : {};

const LEAVE_MS = 10_000; // how long after Escape Tab leaves the editor
const MAX_SUGGESTIONS = 50; // after `[[`

/** Completes the names of notes after `[[`. */
function completeLinks(paths: EditorOptions['paths']): CompletionSource {
  return (context) => {
    const typed = context.matchBefore(/\[\[[^[\]|#\n]*/);
    if (!typed) return null;
    const prefix = typed.text.slice(2).toLowerCase();
    const options = [];
    for (const { title, path } of paths()) {
      if (!title.toLowerCase().includes(prefix)) continue;
      options.push({ label: title, detail: path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '', apply: `${title}]]` });
      if (options.length >= MAX_SUGGESTIONS) break;
    }
    return { from: typed.from + 2, options, filter: false };
  };
}

const ATTACHED = /^(?:image|audio|video)\/|^application\/pdf$/; // other files are left to the browser: their text is pasted

/** Files that are pasted or dropped into the text. A program that copies a text with a picture of it means the text. */
function attachFiles(attach: EditorOptions['attach']): Extension {
  const take = (event: Event, view: EditorView, data: DataTransfer | null, at: number | null, isPasted: boolean): boolean => {
    const added = [...(data?.files ?? [])].filter((file) => ATTACHED.test(file.type));
    if (!added.length || data?.types.includes('text/plain')) return false;
    event.preventDefault();
    if (at !== null) view.dispatch({ selection: { anchor: at } });
    void (async () => {
      // One after the other, so that they stand in their order.
      for (const file of added) {
        const embed = await attach(file, isPasted);
        if (embed && view.dom.isConnected) view.dispatch(view.state.replaceSelection(added.length > 1 ? `${embed}\n` : embed));
      }
    })();
    return true;
  };
  return EditorView.domEventHandlers({
    paste: (event, view) => take(event, view, event.clipboardData, null, true),
    drop: (event, view) => take(event, view, event.dataTransfer, view.posAtCoords({ x: event.clientX, y: event.clientY }, false), false),
  });
}

export function mountEditor(host: HTMLElement, options: EditorOptions): EditorView {
  const root = shadowRootOf(host);
  const keys = keymap.of([
    { key: 'Mod-s', run: () => (options.onSave(), true), preventDefault: true },
    { key: 'Escape', run: (view) => (options.onLeave() || view.setTabFocusMode(LEAVE_MS), true) },
    ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab,
  ]);
  const extensions = [
    keymap.of([]), lineNumbers(), history(), drawSelection(selectionOptions), highlightActiveLine(), highlightSelectionMatches(),
    autocompletion({ override: [completeLinks(options.paths)], icons: false }), keys, markdownExtensions, attachFiles(options.attach),
    EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'true', tabindex: '0' }),
    EditorView.updateListener.of((update) => update.docChanged && options.onChange(update.state.doc.toString())),
  ];
  return new EditorView({ root, parent: root, state: EditorState.create({ doc: options.text, extensions }) });
}

/** Shows two texts side by side. The right one can be edited, and can take over differences from the left one. */
export function mountConflict(host: HTMLElement, theirs: string, mine: string, labels: [string, string], onType: (text: string) => void): MergeView {
  const root = shadowRootOf(host);
  const side = (label: string, extra: Extension) => [lineNumbers(), markdownExtensions, EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }), extra];
  return new MergeView({
    root, parent: root,
    a: { doc: theirs, extensions: side(labels[0], [EditorState.readOnly.of(true)]) },
    b: { doc: mine, extensions: side(labels[1], [history(), drawSelection(selectionOptions), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]), EditorView.updateListener.of((update) => update.docChanged && onType(update.state.doc.toString()))]) },
    revertControls: 'a-to-b', highlightChanges: true, gutter: true, collapseUnchanged: { margin: 3, minSize: 4 },
  });
}
