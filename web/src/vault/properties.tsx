// A note's properties, as a list of names and values.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { href } from '../lib/router';
import { addressOf } from '../note/render';
import type { NoteData } from './types';

export function Properties({ note }: { note: NoteData }): JSX.Element | null {
  if (!note.properties.length) return null;
  return (
    <details class="properties" open>
      <summary>Properties</summary>
      <dl>
        {note.properties.map(({ name, value }) => (
          <div key={name}><dt>{name}</dt><dd>{show(value, note, /^(tags?|cssclasses?)$/i.test(name) ? name : '')}</dd></div>
        ))}
      </dl>
    </details>
  );
}

const ITEMS = 50; // of a list at first: the note itself should not be far below

function List({ items, note, special }: { items: unknown[]; note: NoteData; special: string }): JSX.Element {
  const [all, showAll] = useState(items.length <= ITEMS);
  const shown = all ? items : items.slice(0, ITEMS);
  return (
    <span class="cell-list">
      {shown.map((item, i) => <span key={i} class={typeof item === 'string' && !special && !WIKI.test(item) ? 'tag' : undefined}>{show(item, note, special)}</span>)}
      {!all && <button type="button" class="link" onClick={() => showAll(true)}>Show all {items.length.toLocaleString()}</button>}
    </span>
  );
}

const WIKI = /^\[\[([^\]|#]*)(#[^\]|]*)?(?:\|([^\]]*))?\]\]$/;

const DATE = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d)?$/; // as the app shows it

function show(value: unknown, note: NoteData, special: string): ComponentChildren {
  if (value === null || value === '') return <span class="quiet">empty</span>;
  if (typeof value === 'boolean') return <input type="checkbox" checked={value} disabled aria-label={value ? 'yes' : 'no'} />;
  if (Array.isArray(value)) return <List items={value} note={note} special={special} />;
  if (typeof value === 'object') return <code>{JSON.stringify(value)}</code>;
  const text = String(value);
  if (/^tags?$/i.test(special)) {
    const tag = text.replace(/^#/, '');
    return <a class="md-tag" href={href('search', '', { q: `tag:#${tag}`, kind: 'exact' })}>#{tag}</a>;
  }
  const found = WIKI.exec(text);
  if (found) {
    const [, target = '', subpath = '', shown = ''] = found;
    const path = note.links[target.trim()]?.path;
    return path ? <a class="md-link" href={addressOf(path, subpath)}>{shown || target + subpath}</a> : <a class="md-link md-missing" href={href('note', target)}>{shown || target}</a>;
  }
  const at = DATE.exec(text);
  if (at) return <time dateTime={text}>{at[1]} {at[2]}</time>;
  if (/^https?:\/\/\S+$/i.test(text)) return <a href={text} target="_blank" rel="noopener noreferrer">{text}</a>;
  return text;
}
