// The quick switcher: go to a note or view from anywhere, or create a note. Ctrl+K, or Ctrl+O as in the app.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from './lib/api';
import { Icon, type IconName } from './lib/icons';
import { hasModKey, isShortcut, MOD } from './lib/keys';
import { notifyError } from './lib/notices';
import { folderOf, iconOf, titleOf } from './lib/paths';
import { href, navigate } from './lib/router';
import { useStore } from './lib/store';
import { files, findByName, loadFiles } from './vault/files';
import type { Saved } from './vault/model';
import { recentNotes } from './vault/recent';

const MAX_NOTES = 12; // so that the rows after them also fit on a small screen

interface Row {
  key: string;
  icon: IconName;
  title: string;
  detail: string;
  run: () => void;
}

interface ViewEntry {
  name: string;
  title: string;
  icon: IconName;
}

export function Switcher({ views }: { views: ViewEntry[] }): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const handleKeyDown = (event: KeyboardEvent): void => {
      if (document.querySelector('dialog[open]')) return;
      if (hasModKey(event) && ['k', 'o'].includes(event.key.toLowerCase())) setOpen(true);
      else if (event.key === '/' && isShortcut(event) && !document.getElementById('graph-find')) focusSearch();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', handleKeyDown);
    return () => removeEventListener('keydown', handleKeyDown);
  }, []);
  return isOpen ? <SwitcherDialog views={views} onClose={() => setOpen(false)} /> : null;
}

/** The search field is in the Vault view, which may have to be loaded first. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('.search-field input');
  if (field) return field.focus(), field.select();
  navigate(href('search', '', { focus: 1 }));
}

function SwitcherDialog({ views, onClose }: { views: ViewEntry[]; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [position, setPosition] = useState(0);
  const allFiles = useStore(files);
  const recent = useStore(recentNotes);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => void loadFiles(), []);
  useEffect(() => document.querySelector('#switcher-list [aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [position]);

  const go = (to: string): void => {
    dialog.current?.close();
    // The focused element may not exist in the next view. Without focus, the title of a note takes it.
    (document.activeElement as HTMLElement | null)?.blur();
    navigate(to);
  };
  const create = (name: string): void => {
    api<Saved>('note', { body: { path: /\.md$/i.test(name) ? name : `${name}.md`, text: '' } }).then(({ path }) => (void loadFiles(), go(href('note', path, { edit: 1 }))), notifyError);
  };
  const rows = useMemo((): Row[] => {
    const query = text.trim();
    const paths = allFiles?.paths ?? [];
    const existing = new Set(paths);
    const notes = query ? findByName(paths, query, MAX_NOTES) : recent.filter((path) => existing.has(path)).slice(0, MAX_NOTES);
    const found: Row[] = notes.map((path) => ({ key: path, icon: iconOf(path), title: titleOf(path), detail: folderOf(path), run: () => go(href('note', path)) }));
    for (const { name, title, icon } of views) if (query && title.toLowerCase().startsWith(query.toLowerCase())) found.push({ key: `/${name}`, icon, title, detail: 'View', run: () => go(href(name)) });
    if (!query) return found;
    found.push({ key: '/search', icon: 'search', title: `Search all notes for “${query}”`, detail: '', run: () => go(href('search', '', { q: query })) });
    const exists = notes.some((path) => titleOf(path).toLowerCase() === query.toLowerCase());
    if (!exists && allFiles && !allFiles.readOnly) found.push({ key: '/create', icon: 'plus', title: `Create the note “${query}”`, detail: '', run: () => create(query) });
    return found;
  }, [text, allFiles, recent]);
  const selected = Math.min(position, rows.length - 1);
  const handleKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setPosition((selected + step + rows.length) % Math.max(1, rows.length));
    else if (event.key === 'Enter') rows[selected]?.run();
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="switcher" aria-label="Go to a note" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <div class="switcher-field">
        <Icon name="search" />
        <input type="text" role="combobox" aria-label="Name of a note or view" aria-expanded={rows.length > 0} aria-controls="switcher-list" aria-activedescendant={rows.length ? `switcher-${selected}` : undefined}
          aria-autocomplete="list" placeholder="Go to a note" autocomplete="off" spellcheck={false} maxLength={200} autofocus value={text}
          onInput={(event) => (setText(event.currentTarget.value), setPosition(0))} onKeyDown={handleKeyDown} />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      {!text.trim() && <p class="list-title" aria-hidden="true">{rows.length ? 'Recently opened' : 'Type the name of a note'}</p>}
      <ul id="switcher-list" role="listbox" aria-label={text.trim() ? 'Results' : 'Recently opened'}>
        {rows.map((row, i) => (
          <li key={row.key} id={`switcher-${i}`} role="option" aria-selected={i === selected} onClick={row.run} onMouseMove={() => i !== selected && setPosition(i)}>
            <Icon name={row.icon} /><span class="switcher-name" dir="auto">{row.title}</span><span class="quiet" dir="auto">{row.detail}</span>
          </li>
        ))}
      </ul>
      <p class="switcher-keys quiet" aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>{MOD} K</kbd> from anywhere</p>
    </dialog>
  );
}
