// Renaming, moving and deleting a file: each asks first, goes through the engine, and can be undone.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, vaultName } from '../lib/api';
import { live } from '../lib/live';
import { href, navigate } from '../lib/router';
import { complain, notify, plural } from '../lib/ui';
import { findDraft, moveDraft } from './drafts';
import { files, loadFiles } from './files';
import { folderOf, type Links, type NoteData, type Saved, titleOf } from './types';

export type Asking = '' | 'move' | 'delete';

interface Moved extends Saved {
  was: string;
  links: number;
}

interface Deleted extends Saved {
  wentTo: string;
}

/** Asks what a person wants of a file; `asking` '' shows nothing. */
export function Moving({ note, asking, onClose }: { note: NoteData; asking: Asking; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!asking) return dialog.current?.close();
    dialog.current?.showModal();
    // A person who presses Enter at once must not lose anything.
    dialog.current?.querySelector<HTMLElement>('[data-first]')?.focus();
  }, [asking]);
  return (
    <dialog ref={dialog} class="card dialog" aria-labelledby="moving-title" onClose={onClose}>
      {asking === 'move' && <Move note={note} onClose={onClose} />}
      {asking === 'delete' && <Delete note={note} onClose={onClose} />}
    </dialog>
  );
}

function Move({ note, onClose }: { note: NoteData; onClose: () => void }): JSX.Element {
  const [to, setTo] = useState(note.path);
  const [trouble, setTrouble] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The name is what most people change; folder and ending stay unless they want otherwise.
    const start = note.path.lastIndexOf('/') + 1;
    input.current?.setSelectionRange(start, start + titleOf(note.path).length);
  }, []);
  const move = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const moved = await api<Moved>('move', { body: { path: note.path, to, expected: note.hash } });
      onClose();
      moveDraft(vaultName(), note.path, moved.path);
      show(moved.path);
      notify(`It is ${moved.path} now${moved.links ? `; the links in ${plural(moved.links, 'note')} follow` : ''}.`, 'good', undoing(moved, note.path));
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  const folders = [...new Set((files.get()?.paths ?? []).map(folderOf))].filter(Boolean).slice(0, 500);
  return (
    <form onSubmit={(event) => void move(event)}>
      <h2 id="moving-title">Rename or move “{titleOf(note.path)}”</h2>
      <label>
        New path
        <input ref={input} type="text" value={to} list="moving-folders" required aria-describedby="moving-help" onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <datalist id="moving-folders">{folders.map((folder) => <option key={folder} value={`${folder}/`} />)}</datalist>
      <p id="moving-help" class="quiet">A path that ends with / moves it into that folder. Every link to it is updated.</p>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      <p class="buttons">
        <button type="submit" class="accept" disabled={!to.trim() || to === note.path}>Rename</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </p>
    </form>
  );
}

function Delete({ note, onClose }: { note: NoteData; onClose: () => void }): JSX.Element {
  const [linking, setLinking] = useState<number | null>(null);
  const [trouble, setTrouble] = useState('');
  useEffect(() => {
    api<Links>('links', { query: { path: note.path } }).then((links) => setLinking(links.backlinkNotes), () => undefined);
  }, []);
  const remove = async (): Promise<void> => {
    try {
      const gone = await api<Deleted>('delete', { body: { path: note.path, expected: note.hash } });
      onClose();
      void loadFiles();
      const folder = folderOf(note.path);
      navigate(folder ? href('folder', folder) : href('vault'), { replace: true });
      notify(`${titleOf(note.path)} is deleted${gone.wentTo ? `; it went to ${gone.wentTo}` : ''}.`, 'good', undoing(gone, note.path));
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form method="dialog" onSubmit={(event) => event.preventDefault()}>
      <h2 id="moving-title">Delete “{titleOf(note.path)}”?</h2>
      {linking !== null && linking > 0 && <p>{linking === 1 ? '1 note links to it. That link' : `${plural(linking, 'note')} link to it. Those links`} would lead nowhere.</p>}
      {findDraft(vaultName(), note.path) && <p>You have unsaved changes to it.</p>}
      <p class="quiet">It goes to the trash, as in Obsidian, and Undo brings it back.</p>
      {trouble && <p class="trouble" role="alert">{trouble}</p>}
      <p class="buttons">
        <button type="button" class="reject" onClick={() => void remove()}>Delete</button>
        <button type="button" data-first onClick={onClose}>Cancel</button>
      </p>
    </form>
  );
}

function show(path: string): void {
  void loadFiles();
  navigate(href('note', path), { replace: true });
}

/** Takes a move or a deletion back, and shows the file where it was. */
function undoing(done: Saved, was: string): { label: string; run: () => void } | undefined {
  const { change, path } = done;
  // Undoing is for the owner of the vault.
  if (change === null || live.state.get().word !== 'connected') return undefined;
  const run = async (): Promise<void> => {
    try {
      await api('undo', { body: { vault: live.hello.get()?.vault ?? '', change, force: false } });
      moveDraft(vaultName(), path, was);
      show(was);
      notify('The change is undone.');
    } catch (error) {
      complain(error);
    }
  };
  return { label: 'Undo', run: () => void run() };
}
