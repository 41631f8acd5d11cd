// The keys, shown on `?`: those of the view that is open, and those that work everywhere.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, MOD, useKeys } from './lib/ui';

type Keys = [string, string][];

const EVERYWHERE: Keys = [
  [`${MOD} K`, 'Go to a note or view; begin a note'],
  ['/', 'Search the vault'],
  ['?', 'Show these keys'],
];

const VIEWS: Record<string, Keys> = {
  vault: [
    ['↑ ↓', 'Move between files, and between results'],
    ['← →', 'Close and open a folder'],
    ['Enter', 'Open'],
    ['E', 'Edit the note'],
    ['F2', 'Rename or move it'],
    ['O', 'Go to the outline and the links'],
    [`${MOD} S`, 'Save'],
    ['Esc', 'Leave the search, or the editor when everything is saved'],
    ['Esc Tab', 'Leave the editor with unsaved text; Tab alone indents'],
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
    ['E', 'Edit first; Escape leaves the editor'],
    ['U', 'Undo the last one that was accepted'],
  ],
};

const TITLES: Record<string, string> = { vault: 'In the vault', graph: 'In the graph', review: 'In the review' };

export function Help({ view }: { view: string }): JSX.Element {
  const [isOpen, open] = useState(false);
  useKeys({ '?': () => open(true) });
  return (
    <>
      <button type="button" class="bare help-button" aria-label="Keyboard help" title="Keyboard help (?)" aria-keyshortcuts="?" onClick={() => open(true)}><Icon name="help" /></button>
      {isOpen && <Shown view={view} close={() => open(false)} />}
    </>
  );
}

function Shown({ view, close }: { view: string; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const own = VIEWS[view];
  // A key that does something else here is not listed twice.
  const rest = EVERYWHERE.filter(([key]) => !own?.some(([other]) => other === key));
  return (
    <dialog ref={dialog} class="card dialog keys" aria-labelledby="keys-title" onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <h2 id="keys-title">Keys</h2>
      {own && <List title={TITLES[view] ?? ''} keys={own} />}
      <List title="Everywhere" keys={rest} />
      <p class="buttons"><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
    </dialog>
  );
}

function List({ title, keys }: { title: string; keys: Keys }): JSX.Element {
  return (
    <>
      <h3 class="list-title">{title}</h3>
      <dl>{keys.map(([key, what]) => <div key={key}><dt>{key.split(' ').map((part) => <kbd key={part}>{part}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
    </>
  );
}
