// Two texts compared, by CodeMirror's merge view: side by side where there is room, else one below the other.
//
// It lives in a shadow root: there CodeMirror adopts its style sheets, which the page's Content-Security-Policy allows,
// while a <style> element would be refused.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { getChunks, MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { UNSEEN } from './unseen';

const ROOM = '(min-width: 900px)'; // two texts side by side need it
const AROUND = 3; // unchanged lines shown beside each change
const LIMITS = { scanLimit: 3000, timeout: 400 }; // a huge change is compared less finely rather than for seconds

const unseen = highlightSpecialChars({
  specialChars: UNSEEN,
  render: (code) => {
    const mark = document.createElement('span');
    mark.className = 'cm-specialChar';
    mark.textContent = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    mark.title = 'A character that cannot be seen';
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

const around = new CSSStyleSheet();
around.replaceSync(`
  :host { display: block; }
  .cm-mergeView { max-height: none; overflow: visible; }
  .cm-mergeViewEditor + .cm-mergeViewEditor { border-left: 1px solid var(--line); }
  .cm-mergeSpacer { background: repeating-linear-gradient(-45deg, transparent 0 6px, var(--soft) 6px 8px); }
`);

interface DiffProps {
  before: string;
  after: string;
  /** What the text is, for screen readers: a path. */
  name: string;
  /** Makes the new text editable; called after each keystroke. */
  onEdit?: ((text: string) => void) | undefined;
  /** Show every line instead of folding what is the same. */
  whole?: boolean;
  /** Leaves the editor, on Escape. */
  onLeave?: (() => void) | undefined;
}

/** Whether two texts fit side by side; the component is drawn again when that changes. */
export function useRoom(): boolean {
  const [room, set] = useState(() => matchMedia(ROOM).matches);
  useEffect(() => {
    const media = matchMedia(ROOM);
    const change = (): void => set(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, []);
  return room;
}

export function Diff({ before, after, name, onEdit, onLeave, whole = false }: DiffProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const beside = useRoom() && before !== '';
  const edits = useRef({ onEdit, onLeave });
  edits.current = { onEdit, onLeave };
  const editable = onEdit !== undefined;
  const text = useRef(after);
  const given = useRef(after);
  // Another layout keeps what was typed; another text replaces it.
  if (given.current !== after) given.current = text.current = after;
  useEffect(() => {
    const place = host.current;
    if (!place) return;
    const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
    if (!root.adoptedStyleSheets.includes(around)) root.adoptedStyleSheets.push(around);
    const view = makeView({ root, before, after: text.current, name, beside, whole, editable, typed: (now) => (text.current = now, edits.current.onEdit?.(now)), leave: () => edits.current.onLeave?.() });
    if (editable) {
      // Not at the very beginning, which may be folded away.
      view.editor.dispatch({ selection: { anchor: getChunks(view.editor.state)?.chunks[0]?.fromB ?? 0 } });
      view.editor.focus();
    }
    return () => view.destroy();
  }, [before, after, name, beside, whole, editable]);
  return <div class="diff-view" ref={host} data-layout={beside ? 'beside' : 'below'} />;
}

interface ViewOptions {
  root: ShadowRoot;
  before: string;
  after: string;
  name: string;
  beside: boolean;
  whole: boolean;
  editable: boolean;
  typed: (text: string) => void;
  leave: () => void;
}

function makeView({ root, before, after, name, beside, whole, editable, typed, leave }: ViewOptions): { editor: EditorView; destroy: () => void } {
  const common = (what: string): Extension[] => [EditorView.lineWrapping, lineNumbers(), unseen, theme, EditorView.contentAttributes.of({ 'aria-label': what })];
  const fixed = [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ tabindex: '0', role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true' })];
  const open = [
    history(),
    drawSelection(),
    keymap.of([{ key: 'Escape', run: () => (leave(), true) }, ...historyKeymap, ...defaultKeymap]),
    EditorView.updateListener.of((update) => update.docChanged && typed(update.state.doc.toString())),
  ];
  const folded = whole ? {} : { collapseUnchanged: { margin: AROUND, minSize: 4 } };
  const title = before === '' ? `${name}, a new text` : `${name}, as it would be`;
  if (beside) {
    const merge = new MergeView({
      root,
      parent: root,
      a: { doc: before, extensions: [...common(`${name}, as it is`), fixed] },
      b: { doc: after, extensions: [...common(title), editable ? open : fixed] },
      diffConfig: LIMITS,
      ...folded,
    });
    return { editor: merge.b, destroy: () => merge.destroy() };
  }
  const compare = before === '' && !editable ? [] : unifiedMergeView({ original: before, mergeControls: false, diffConfig: LIMITS, ...folded });
  const editor = new EditorView({ root, parent: root, doc: after, extensions: [...common(title), editable ? open : fixed, compare] });
  return { editor, destroy: () => editor.destroy() };
}
