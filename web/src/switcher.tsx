// Go to a note or a view from everywhere, or begin a note: Ctrl+K, or Ctrl+O as in the app.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from './lib/api';
import { href, navigate } from './lib/router';
import { complain, Icon, type IconName, isTyping, MOD, withMod } from './lib/ui';
import { useValue } from './lib/value';
import { opened } from './vault/opened';
import { files, findByName, loadFiles } from './vault/files';
import { folderOf, iconOf, type Saved, titleOf } from './vault/types';

const NOTES = 12; // which fit on a small screen with what comes after them

interface Row {
  key: string;
  icon: IconName;
  title: string;
  detail: string;
  act: () => void;
}

export interface Place {
  name: string;
  title: string;
  icon: IconName;
}

export function Switcher({ places }: { places: Place[] }): JSX.Element | null {
  const [isOpen, open] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (document.querySelector('dialog[open]')) return;
      if (withMod(event) && ['k', 'o'].includes(event.key.toLowerCase())) open(true);
      else if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented && !isTyping(event) && !document.getElementById('graph-find')) goToSearch();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  return isOpen ? <Chooser places={places} close={() => open(false)} /> : null;
}

/** The field of the search is in the Vault view, which may have to be loaded first. */
function goToSearch(): void {
  const field = document.querySelector<HTMLInputElement>('.search-field input');
  if (field) return field.focus(), field.select();
  navigate(href('search', '', { focus: 1 }));
}

function Chooser({ places, close }: { places: Place[]; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const all = useValue(files);
  const recent = useValue(opened);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => void loadFiles(), []);
  useEffect(() => document.querySelector('#switcher-list [aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [at]);

  const go = (to: string): void => {
    dialog.current?.close();
    // What had the focus may be gone in the next view; the title of a note takes it then.
    (document.activeElement as HTMLElement | null)?.blur();
    navigate(to);
  };
  const create = (name: string): void => {
    api<Saved>('note', { body: { path: /\.md$/i.test(name) ? name : `${name}.md`, text: '' } }).then(({ path }) => (void loadFiles(), go(href('note', path, { edit: 1 }))), complain);
  };
  const rows = useMemo((): Row[] => {
    const words = text.trim();
    const paths = all?.paths ?? [];
    const known = new Set(paths);
    const chosen = words ? findByName(paths, words, NOTES) : recent.filter((path) => known.has(path)).slice(0, NOTES);
    const found: Row[] = chosen.map((path) => ({ key: path, icon: iconOf(path), title: titleOf(path), detail: folderOf(path), act: () => go(href('note', path)) }));
    for (const { name, title, icon } of places) if (words && title.toLowerCase().startsWith(words.toLowerCase())) found.push({ key: `/${name}`, icon, title, detail: 'View', act: () => go(href(name)) });
    if (!words) return found;
    found.push({ key: '/search', icon: 'search', title: `Search all notes for “${words}”`, detail: '', act: () => go(href('search', '', { q: words })) });
    const isThere = chosen.some((path) => titleOf(path).toLowerCase() === words.toLowerCase());
    if (!isThere && all && !all.readOnly) found.push({ key: '/create', icon: 'plus', title: `Create the note “${words}”`, detail: '', act: () => create(words) });
    return found;
  }, [text, all, recent]);
  const chosen = Math.min(at, rows.length - 1);
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + rows.length) % Math.max(1, rows.length));
    else if (event.key === 'Enter') rows[chosen]?.act();
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="switcher" aria-label="Go to a note" onClose={close} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <div class="switcher-field">
        <Icon name="search" />
        <input type="text" role="combobox" aria-label="Name of a note or view" aria-expanded={rows.length > 0} aria-controls="switcher-list" aria-activedescendant={rows.length ? `switcher-${chosen}` : undefined}
          aria-autocomplete="list" placeholder="Go to a note" autocomplete="off" spellcheck={false} maxLength={200} autofocus value={text}
          onInput={(event) => (setText(event.currentTarget.value), setAt(0))} onKeyDown={press} />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      {!text.trim() && <p class="list-title" aria-hidden="true">{rows.length ? 'Opened last' : 'Type the name of a note'}</p>}
      <ul id="switcher-list" role="listbox" aria-label={text.trim() ? 'Found' : 'Opened last'}>
        {rows.map((row, i) => (
          <li key={row.key} id={`switcher-${i}`} role="option" aria-selected={i === chosen} onClick={row.act} onMouseMove={() => i !== chosen && setAt(i)}>
            <Icon name={row.icon} /><span class="switcher-name" dir="auto">{row.title}</span><span class="quiet" dir="auto">{row.detail}</span>
          </li>
        ))}
      </ul>
      <p class="switcher-keys quiet" aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>{MOD} K</kbd> from everywhere</p>
    </dialog>
  );
}
