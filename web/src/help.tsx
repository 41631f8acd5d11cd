// The keyboard shortcuts, shown on `?`: those of the open view, and those that work everywhere.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './lib/icons';
import { MOD, useKeys } from './lib/keys';

type Shortcuts = [string, string][];

const EVERYWHERE: Shortcuts = [
  [`${MOD} K`, 'Go to a note or view, or create a note'],
  ['/', 'Search the vault'],
  ['?', 'Show these shortcuts'],
];

const VIEWS: Record<string, Shortcuts> = {
  vault: [
    ['↑ ↓', 'Move between files, and between results'],
    ['← →', 'Close and open a folder'],
    ['Enter', 'Open'],
    ['E', 'Edit the note'],
    ['F2', 'Rename or move it'],
    ['O', 'Go to the outline and links'],
    [`${MOD} S`, 'Save'],
    ['Esc', 'Leave the search, or the editor if everything is saved'],
    ['Esc Tab', 'Leave the editor with unsaved changes; Tab alone indents'],
  ],
  graph: [
    ['/', 'Find in the graph'],
    ['↑ ↓ ← →', 'Move the picture'],
    ['+ −', 'Zoom'],
    ['0', 'Show everything'],
  ],
  review: [
    ['J', 'Next proposal'],
    ['K', 'Previous proposal'],
    ['A', 'Accept'],
    ['R', 'Reject'],
    ['E', 'Edit before accepting; Esc leaves the editor'],
    ['U', 'Undo the last accepted proposal'],
  ],
};

const TITLES: Record<string, string> = { vault: 'In the vault', graph: 'In the graph', review: 'In the review' };

export function Help({ view }: { view: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useKeys({ '?': () => setOpen(true) });
  return (
    <>
      <button type="button" class="bare help-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" aria-keyshortcuts="?" onClick={() => setOpen(true)}><Icon name="help" /></button>
      {isOpen && <ShortcutDialog view={view} onClose={() => setOpen(false)} />}
    </>
  );
}

function ShortcutDialog({ view, onClose }: { view: string; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const own = VIEWS[view];
  // A key that means something else in this view is listed once.
  const general = EVERYWHERE.filter(([key]) => !own?.some(([other]) => other === key));
  return (
    <dialog ref={dialog} class="card dialog keys" aria-labelledby="keys-title" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <h2 id="keys-title">Keyboard shortcuts</h2>
      {own && <ShortcutList title={TITLES[view] ?? ''} shortcuts={own} />}
      <ShortcutList title="Everywhere" shortcuts={general} />
      <p class="buttons"><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
    </dialog>
  );
}

function ShortcutList({ title, shortcuts }: { title: string; shortcuts: Shortcuts }): JSX.Element {
  return (
    <>
      <h3 class="list-title">{title}</h3>
      <dl>{shortcuts.map(([key, description]) => <div key={key}><dt>{key.split(' ').map((part) => <kbd key={part}>{part}</kbd>)}</dt><dd>{description}</dd></div>)}</dl>
    </>
  );
}
