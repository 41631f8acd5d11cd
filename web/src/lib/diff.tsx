// Two texts compared with CodeMirror's merge view: side by side where there is room, otherwise in one column.
//
// It is in a shadow root: there CodeMirror adopts its style sheets, which the page's Content-Security-Policy allows,
// while a <style> element would be refused.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { getChunks, MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCodePoint, INVISIBLE, INVISIBLE_TITLE } from './invisible';

const WIDE = '(min-width: 900px)'; // room for two texts side by side
const CONTEXT_LINES = 3; // unchanged lines shown around each change
const LIMITS = { scanLimit: 3000, timeout: 400 }; // a huge change is compared coarsely rather than for seconds

const markInvisible = highlightSpecialChars({
  specialChars: INVISIBLE,
  render: (code) => {
    const mark = document.createElement('span');
    mark.className = 'cm-specialChar';
    mark.textContent = formatCodePoint(code);
    mark.title = INVISIBLE_TITLE;
    return mark;
  },
});

const theme = EditorView.theme({
  '&': { background: 'transparent', color: 'var(--ink)', fontSize: '.85rem' },
  '&.cm-focused': { outline: 'none' },
  // Above the colours of the lines, which would cover an outline.
  '&.cm-focused::after': { content: '""', position: 'absolute', inset: '0', zIndex: '5', border: '2px solid var(--main)', pointerEvents: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { padding: '.4rem 0', caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-line': { padding: '0 .8rem 0 .5rem', unicodeBidi: 'isolate' },
  '.cm-gutters': { background: 'transparent', color: 'var(--quiet)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 .4rem 0 .5rem', minWidth: '2.2rem' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { background: 'var(--found) !important' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { background: 'var(--minus)' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { background: 'var(--plus)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'var(--minus-word) !important', borderRadius: '3px' },
  '&.cm-merge-b .cm-changedText': { background: 'var(--plus-word) !important', borderRadius: '3px' },
  '.cm-deletedChunk': { padding: '0 .8rem 0 .5rem', color: 'var(--ink)' },
  '.cm-insertedLine, .cm-deletedLine, .cm-deletedLine del': { textDecoration: 'none' },
  '.cm-changeGutter': { width: '4px', paddingLeft: '0' },
  '&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter': { background: 'var(--bad)' },
  '&.cm-merge-b .cm-changedLineGutter, .cm-inlineChangedLineGutter': { background: 'var(--good)' },
  '.cm-collapsedLines': { padding: '.15rem .8rem', background: 'var(--soft) !important', color: 'var(--quiet)', fontFamily: 'var(--font)', cursor: 'pointer' },
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: 'none !important' },
  '.cm-specialChar': { margin: '0 .1em', padding: '0 .25em', border: '1px dashed var(--bad)', borderRadius: '4px', color: 'var(--bad)', fontSize: '.8em' },
});

const hostStyles = new CSSStyleSheet();
hostStyles.replaceSync(`
  :host { display: block; }
  .cm-mergeView { max-height: none; overflow: visible; }
  .cm-mergeViewEditor + .cm-mergeViewEditor { border-left: 1px solid var(--line); }
  .cm-mergeSpacer { background: repeating-linear-gradient(-45deg, transparent 0 6px, var(--soft) 6px 8px); }
`);

interface DiffProps {
  before: string;
  after: string;
  /** The path of the file, for screen readers. */
  name: string;
  /** Makes the new text editable; called on every edit. */
  onEdit?: ((text: string) => void) | undefined;
  /** Called when Escape is pressed in the editor. */
  onLeave?: (() => void) | undefined;
  /** Shows all lines instead of folding unchanged ones. */
  showAll?: boolean;
}

function useIsWide(): boolean {
  const [isWide, setWide] = useState(() => matchMedia(WIDE).matches);
  useEffect(() => {
    const media = matchMedia(WIDE);
    const handleChange = (): void => setWide(media.matches);
    media.addEventListener('change', handleChange);
    return () => media.removeEventListener('change', handleChange);
  }, []);
  return isWide;
}

export function Diff({ before, after, name, onEdit, onLeave, showAll = false }: DiffProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const isSplit = useIsWide() && before !== '';
  const handlers = useRef({ onEdit, onLeave });
  handlers.current = { onEdit, onLeave };
  const isEditable = onEdit !== undefined;
  // A change of layout keeps what was typed; a new `after` replaces it.
  const text = useRef(after);
  const lastAfter = useRef(after);
  if (lastAfter.current !== after) lastAfter.current = text.current = after;
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    if (!root.adoptedStyleSheets.includes(hostStyles)) root.adoptedStyleSheets.push(hostStyles);
    const view = makeView({ root, before, after: text.current, name, isSplit, showAll, isEditable, onEdit: (edited) => (text.current = edited, handlers.current.onEdit?.(edited)), onLeave: () => handlers.current.onLeave?.() });
    if (isEditable) {
      // At the first change: the beginning of the text may be folded.
      view.editor.dispatch({ selection: { anchor: getChunks(view.editor.state)?.chunks[0]?.fromB ?? 0 } });
      view.editor.focus();
    }
    return () => view.destroy();
  }, [before, after, name, isSplit, showAll, isEditable]);
  return <div class="diff-view" ref={host} data-layout={isSplit ? 'split' : 'unified'} />;
}

interface ViewOptions {
  root: ShadowRoot;
  before: string;
  after: string;
  name: string;
  isSplit: boolean;
  showAll: boolean;
  isEditable: boolean;
  onEdit: (text: string) => void;
  onLeave: () => void;
}

function makeView({ root, before, after, name, isSplit, showAll, isEditable, onEdit, onLeave }: ViewOptions): { editor: EditorView; destroy: () => void } {
  const common = (label: string): Extension[] => [EditorView.lineWrapping, lineNumbers(), markInvisible, theme, EditorView.contentAttributes.of({ 'aria-label': label })];
  const readOnly = [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ tabindex: '0', role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true' })];
  const editable = [
    history(),
    drawSelection(),
    keymap.of([{ key: 'Escape', run: () => (onLeave(), true) }, ...historyKeymap, ...defaultKeymap]),
    EditorView.updateListener.of((update) => update.docChanged && onEdit(update.state.doc.toString())),
  ];
  const folding = showAll ? {} : { collapseUnchanged: { margin: CONTEXT_LINES, minSize: 4 } };
  const label = before === '' ? `${name}, new text` : `${name}, after the change`;
  if (isSplit) {
    const merge = new MergeView({
      root,
      parent: root,
      a: { doc: before, extensions: [...common(`${name}, before the change`), readOnly] },
      b: { doc: after, extensions: [...common(label), isEditable ? editable : readOnly] },
      diffConfig: LIMITS,
      ...folding,
    });
    return { editor: merge.b, destroy: () => merge.destroy() };
  }
  const comparison = before === '' && !isEditable ? [] : unifiedMergeView({ original: before, mergeControls: false, diffConfig: LIMITS, ...folding });
  const editor = new EditorView({ root, parent: root, doc: after, extensions: [...common(label), isEditable ? editable : readOnly, comparison] });
  return { editor, destroy: () => editor.destroy() };
}
