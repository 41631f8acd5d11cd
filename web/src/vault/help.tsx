// The keys of the Vault view.

import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useKeys } from '../lib/ui';

const KEYS: [string, string][] = [
  ['/', 'Search the vault (also Ctrl K)'],
  ['↑ ↓', 'Move between files, and between results'],
  ['← →', 'Close and open a folder'],
  ['Enter', 'Open'],
  ['E', 'Edit the note'],
  ['F2', 'Rename or move it'],
  ['Ctrl S', 'Save'],
  ['Esc', 'Leave the search, or the editor when everything is saved'],
  ['Esc Tab', 'Leave the editor with unsaved text; Tab alone indents'],
  ['?', 'These keys'],
];

export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useKeys({ '?': () => dialog.current?.showModal() });
  return (
    <dialog ref={dialog} class="card dialog" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">{KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p class="buttons"><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
    </dialog>
  );
}
