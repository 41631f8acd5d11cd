// The keys of the Review view, shown on `?`.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS: [string, string][] = [
  ['j', 'next proposal'],
  ['k', 'previous proposal'],
  ['a', 'accept'],
  ['r', 'reject'],
  ['e', 'edit first; Escape leaves the editor'],
  ['u', 'undo the last one that was accepted'],
  ['?', 'this help'],
];

export function Keys({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {KEYS.map(([key, does]) => (
          <div key={key}><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>Close</button>
    </dialog>
  );
}
