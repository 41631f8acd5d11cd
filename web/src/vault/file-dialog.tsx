// The dialogs that rename, move and delete a file. Each change can be undone.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, getVaultName } from '../lib/api';
import { pluralize } from '../lib/format';
import { notify } from '../lib/notices';
import { folderOf, titleOf } from '../lib/paths';
import { href, navigate } from '../lib/router';
import { findDraft, moveDraft } from './drafts';
import { files, loadFiles } from './files';
import type { LinkData, NoteData, Saved } from './model';
import { makeUndoAction } from './undo';

export type FileAction = 'move' | 'delete';

const MAX_FOLDERS = 500; // suggested for the new path

interface Moved extends Saved {
  was: string;
  links: number; // notes whose links were updated
}

interface Deleted extends Saved {
  wentTo: string;
}

/** Without an `action`, the dialog is closed. */
export function FileDialog({ note, action, onClose }: { note: NoteData; action: FileAction | null; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!action) return dialog.current?.close();
    dialog.current?.showModal();
    // Not the dangerous button: pressing Enter at once must not delete anything.
    dialog.current?.querySelector<HTMLElement>('[data-initial]')?.focus();
  }, [action]);
  return (
    <dialog ref={dialog} class="card dialog" aria-labelledby="file-dialog-title" onClose={onClose}>
      {action === 'move' && <MoveForm note={note} onClose={onClose} />}
      {action === 'delete' && <DeleteForm note={note} onClose={onClose} />}
    </dialog>
  );
}

function MoveForm({ note, onClose }: { note: NoteData; onClose: () => void }): JSX.Element {
  const [to, setTo] = useState(note.path);
  const [error, setError] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Only the name is selected: most people leave the folder and the suffix as they are.
    const start = note.path.lastIndexOf('/') + 1;
    input.current?.setSelectionRange(start, start + titleOf(note.path).length);
  }, []);
  const move = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const moved = await api<Moved>('move', { body: { path: note.path, to, expected: note.hash } });
      onClose();
      moveDraft(getVaultName(), note.path, moved.path);
      showNote(moved.path);
      notify(`Renamed to ${moved.path}${moved.links ? `. Links in ${pluralize(moved.links, 'note')} were updated` : ''}.`, 'good', makeUndoAction(moved.change, () => moveBack(moved.path)));
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
  };
  const moveBack = (from: string): void => {
    moveDraft(getVaultName(), from, note.path);
    showNote(note.path);
  };
  const folders = [...new Set((files.get()?.paths ?? []).map(folderOf))].filter(Boolean).slice(0, MAX_FOLDERS);
  return (
    <form onSubmit={(event) => void move(event)}>
      <h2 id="file-dialog-title">Rename or move “{titleOf(note.path)}”</h2>
      <label>
        New path
        <input ref={input} type="text" value={to} list="move-folders" required aria-describedby="move-help" onInput={(event) => setTo(event.currentTarget.value)} />
      </label>
      <datalist id="move-folders">{folders.map((folder) => <option key={folder} value={`${folder}/`} />)}</datalist>
      <p id="move-help" class="quiet">A path that ends with / moves the file into that folder. All links to it are updated.</p>
      {error && <p class="error-text" role="alert">{error}</p>}
      <p class="buttons">
        <button type="submit" class="accept" disabled={!to.trim() || to === note.path}>Rename</button>
        <button type="button" onClick={onClose}>Cancel</button>
      </p>
    </form>
  );
}

function DeleteForm({ note, onClose }: { note: NoteData; onClose: () => void }): JSX.Element {
  const [backlinks, setBacklinks] = useState<number | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    api<LinkData>('links', { query: { path: note.path } }).then((links) => setBacklinks(links.backlinkNotes), () => undefined);
  }, []);
  const remove = async (): Promise<void> => {
    try {
      const deleted = await api<Deleted>('delete', { body: { path: note.path, expected: note.hash } });
      onClose();
      void loadFiles();
      const folder = folderOf(note.path);
      navigate(folder ? href('folder', folder) : href('vault'), { replace: true });
      notify(`${titleOf(note.path)} was deleted${deleted.wentTo ? `; it went to ${deleted.wentTo}` : ''}.`, 'good', makeUndoAction(deleted.change, () => showNote(note.path)));
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
  };
  return (
    <form method="dialog" onSubmit={(event) => event.preventDefault()}>
      <h2 id="file-dialog-title">Delete “{titleOf(note.path)}”?</h2>
      {backlinks !== null && backlinks > 0 && <p>{backlinks === 1 ? '1 note links to it. That link' : `${pluralize(backlinks, 'note')} link to it. Those links`} would lead nowhere.</p>}
      {findDraft(getVaultName(), note.path) && <p>You have unsaved changes to it.</p>}
      <p class="quiet">It goes to the trash, as in Obsidian, and Undo brings it back.</p>
      {error && <p class="error-text" role="alert">{error}</p>}
      <p class="buttons">
        <button type="button" class="reject" onClick={() => void remove()}>Delete</button>
        <button type="button" data-initial onClick={onClose}>Cancel</button>
      </p>
    </form>
  );
}

function showNote(path: string): void {
  void loadFiles();
  navigate(href('note', path), { replace: true });
}
