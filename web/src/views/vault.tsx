// The Vault view: files at the left, what the address names beside them.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { href, navigate, type Route, route, wentBack } from '../lib/router';
import { complain, Icon } from '../lib/ui';
import { useValue } from '../lib/value';
import { files, loadFiles } from '../vault/files';
import { FolderView } from '../vault/folder';
import { Home } from '../vault/home';
import { NoteView } from '../vault/note';
import { Search, SearchField } from '../vault/search';
import { Tree } from '../vault/tree';
import { folderOf, type Saved } from '../vault/types';

export default function Vault({ route: now }: { route: Route }): JSX.Element {
  const [drawer, setDrawer] = useState(false);
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => setDrawer(false), [now.view, now.path]);
  useScroll(content);
  return (
    <div class={`vault${drawer ? ' drawer-open' : ''}`}>
      <div class="vault-side" id="files">
        <div class="side-head">
          <SearchField />
          <NewNote folder={now.view === 'note' ? folderOf(now.path) : now.view === 'folder' ? now.path : ''} />
          <button type="button" class="bare drawer-button" aria-expanded={drawer} aria-controls="files-tree" aria-label={drawer ? 'Hide the files' : 'Show the files'} onClick={() => setDrawer(!drawer)}><Icon name={drawer ? 'close' : 'folder'} /></button>
        </div>
        <nav class="side-tree" id="files-tree" aria-label="Files of the vault"><Tree current={now.view === 'note' ? now.path : ''} /></nav>
      </div>
      <div class="vault-content" ref={content}>
        {now.view === 'note' ? <NoteView route={now} /> : now.view === 'folder' ? <FolderView path={now.path} /> : now.view === 'search' ? <Search route={now} /> : <Home />}
      </div>
    </div>
  );
}

function NewNote({ folder }: { folder: string }): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState('');
  const isReadOnly = useValue(files)?.readOnly ?? false;
  const create = async (event: Event) => {
    event.preventDefault();
    const path = [folder, name.trim()].filter(Boolean).join('/');
    try {
      const made = await api<Saved>('note', { body: { path: /\.md$/i.test(path) ? path : `${path}.md`, text: '' } });
      dialog.current?.close();
      setName('');
      void loadFiles();
      navigate(href('note', made.path, { edit: 1 }));
    } catch (error) {
      complain(error);
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
          <p class="quiet">{folder ? `In ${folder}.` : 'Where Obsidian puts new notes.'} A name with slashes makes folders.</p>
          <p class="buttons"><button type="submit" class="accept">Create</button><button type="button" onClick={() => dialog.current?.close()}>Cancel</button></p>
        </form>
      </dialog>
    </>
  );
}

const PLACES = 200; // addresses whose scroll position is remembered

/** Back returns to where the person was; a new address starts at its top. */
function useScroll(content: { current: HTMLDivElement | null }): void {
  const places = useRef(new Map<string, number>());
  useEffect(() => {
    const node = content.current;
    let address = location.hash;
    // Of a search that is being typed, known from events: to ask for it would lay out the page once more at each keystroke.
    let top = 0;
    const scrolled = () => (top = node?.scrollTop ?? 0);
    node?.addEventListener('scroll', scrolled, { passive: true });
    const end = route.watch((now) => {
      const before = address;
      address = location.hash;
      if (!node || before === address) return;
      // What was shown is still there at this moment. An event may still be on its way, so the page is asked.
      const left = [before, address].every((opened) => opened.startsWith('#/search')) ? top : node.scrollTop;
      places.current.delete(before);
      places.current.set(before, left);
      if (places.current.size > PLACES) places.current.delete(places.current.keys().next().value ?? '');
      if (now.query.has('line') || now.query.has('to')) return;
      const wanted = wentBack ? (places.current.get(address) ?? 0) : 0;
      if (wanted || left) restore(node, wanted, () => location.hash === address);
    });
    return () => (node?.removeEventListener('scroll', scrolled), end());
  }, []);
}

const RESTORE_MS = 10_000; // how long the content may take to become as long as it was

/** Scrolls as soon as there is enough to scroll, unless the person scrolls first. */
function restore(node: HTMLElement, wanted: number, still: () => boolean): void {
  const until = performance.now() + RESTORE_MS;
  const own = new AbortController();
  for (const act of ['wheel', 'touchmove', 'keydown', 'pointerdown']) node.addEventListener(act, () => own.abort(), { signal: own.signal, passive: true });
  const attempt = () => {
    if (own.signal.aborted || !still()) return own.abort();
    node.scrollTop = wanted;
    if (node.scrollTop < wanted - 1 && performance.now() < until) requestAnimationFrame(attempt);
    else own.abort();
  };
  attempt();
}
