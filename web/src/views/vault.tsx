// The Vault view: the files on the left, and beside them the home, a folder, a note or a search.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { Icon } from '../lib/icons';
import { notifyError } from '../lib/notices';
import { folderOf } from '../lib/paths';
import { href, isHistoryStep, navigate, type Route, route } from '../lib/router';
import { restoreScroll } from '../lib/scroll';
import { useStore } from '../lib/store';
import { Capture } from '../vault/capture';
import { files, loadFiles } from '../vault/files';
import { FolderView } from '../vault/folder';
import { Home } from '../vault/home';
import type { Saved } from '../vault/model';
import { NoteView } from '../vault/note';
import { Search, SearchField } from '../vault/search';
import { Tree } from '../vault/tree';

export default function Vault({ route: current }: { route: Route }): JSX.Element {
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => setDrawerOpen(false), [current.view, current.path]);
  useScrollRestoration(content);
  return (
    <div class={`vault${isDrawerOpen ? ' drawer-open' : ''}`}>
      <div class="vault-side" id="files">
        <div class="side-head">
          <SearchField />
          <NewNoteButton folder={current.view === 'note' ? folderOf(current.path) : current.view === 'folder' ? current.path : ''} />
          <button type="button" class="bare drawer-button" aria-expanded={isDrawerOpen} aria-controls="files-tree" aria-label={isDrawerOpen ? 'Hide the files' : 'Show the files'} onClick={() => setDrawerOpen(!isDrawerOpen)}><Icon name={isDrawerOpen ? 'close' : 'folder'} /></button>
        </div>
        <nav class="side-tree" id="files-tree" aria-label="Files of the vault"><Tree current={current.view === 'note' ? current.path : ''} /></nav>
      </div>
      <div class="vault-content" ref={content}>
        {current.view === 'note' ? <NoteView route={current} /> : current.view === 'folder' ? <FolderView path={current.path} /> : current.view === 'search' ? <Search route={current} /> : current.view === 'capture' ? <Capture /> : <Home />}
      </div>
    </div>
  );
}

function NewNoteButton({ folder }: { folder: string }): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState('');
  const isReadOnly = useStore(files)?.readOnly ?? false;
  const create = async (event: Event) => {
    event.preventDefault();
    const path = [folder, name.trim()].filter(Boolean).join('/');
    try {
      const created = await api<Saved>('note', { body: { path: /\.md$/i.test(path) ? path : `${path}.md`, text: '' } });
      dialog.current?.close();
      setName('');
      void loadFiles();
      navigate(href('note', created.path, { edit: 1 }));
    } catch (error) {
      notifyError(error);
    }
  };
  if (isReadOnly) return null;
  return (
    <>
      <button type="button" class="bare" aria-label="New note" title="New note" onClick={() => dialog.current?.showModal()}><Icon name="plus" /></button>
      <dialog ref={dialog} class="card dialog" aria-labelledby="new-title">
        <form onSubmit={(event) => void create(event)}>
          <h2 id="new-title">New note</h2>
          <label>Name <input type="text" required maxLength={200} value={name} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} /></label>
          <p class="quiet">{folder ? `In ${folder}.` : 'In the folder where Obsidian puts new notes.'} A name with slashes creates folders.</p>
          <p class="buttons"><button type="submit" class="accept">Create</button><button type="button" onClick={() => dialog.current?.close()}>Cancel</button></p>
        </form>
      </dialog>
    </>
  );
}

const MAX_POSITIONS = 200; // addresses whose scroll position is remembered

/** Back restores the scroll position; a new address starts at the top. */
function useScrollRestoration(content: { current: HTMLDivElement | null }): void {
  const positions = useRef(new Map<string, number>());
  useEffect(() => {
    const node = content.current;
    let address = location.hash;
    // Known from events, for a search that is being typed: reading it from the page would force a layout at each keystroke.
    let top = 0;
    const handleScroll = () => (top = node?.scrollTop ?? 0);
    node?.addEventListener('scroll', handleScroll, { passive: true });
    const unsubscribe = route.subscribe((next) => {
      const before = address;
      address = location.hash;
      if (!node || before === address) return;
      // The previous view is still there at this moment. Read from the page, because the last event may not have arrived yet.
      const left = [before, address].every((hash) => hash.startsWith('#/search')) ? top : node.scrollTop;
      positions.current.delete(before);
      positions.current.set(before, left);
      if (positions.current.size > MAX_POSITIONS) positions.current.delete(positions.current.keys().next().value ?? '');
      if (next.query.has('line') || next.query.has('to')) return;
      const target = isHistoryStep ? (positions.current.get(address) ?? 0) : 0;
      if (target || left) restoreScroll(node, target, () => location.hash === address);
    });
    return () => (node?.removeEventListener('scroll', handleScroll), unsubscribe());
  }, []);
}
