// A note's properties, as a list of names and values.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { href } from '../lib/router';
import { addressOf } from '../note/render';
import type { NoteData } from './model';

export function Properties({ note }: { note: NoteData }): JSX.Element | null {
  if (!note.properties.length) return null;
  return (
    <details class="properties" open>
      <summary>Properties</summary>
      <dl>
        {note.properties.map(({ name, value }) => (
          <div key={name}><dt>{name}</dt><dd>{renderValue(value, note, /^(tags?|cssclasses?)$/i.test(name) ? name : '')}</dd></div>
        ))}
      </dl>
    </details>
  );
}

const MAX_ITEMS = 50; // of a list at first, so that the note's text is not pushed far down

function List({ items, note, propertyName }: { items: unknown[]; note: NoteData; propertyName: string }): JSX.Element {
  const [isExpanded, setExpanded] = useState(items.length <= MAX_ITEMS);
  const shown = isExpanded ? items : items.slice(0, MAX_ITEMS);
  return (
    <span class="cell-list">
      {shown.map((item, i) => <span key={i} class={typeof item === 'string' && !propertyName && !WIKILINK.test(item) ? 'tag' : undefined}>{renderValue(item, note, propertyName)}</span>)}
      {!isExpanded && <button type="button" class="link" onClick={() => setExpanded(true)}>Show all {items.length.toLocaleString()}</button>}
    </span>
  );
}

const WIKILINK = /^\[\[([^\]|#]*)(#[^\]|]*)?(?:\|([^\]]*))?\]\]$/;

const DATE_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d)?$/;

function renderValue(value: unknown, note: NoteData, propertyName: string): ComponentChildren {
  if (value === null || value === '') return <span class="quiet">empty</span>;
  if (typeof value === 'boolean') return <input type="checkbox" checked={value} disabled aria-label={value ? 'yes' : 'no'} />;
  if (Array.isArray(value)) return <List items={value} note={note} propertyName={propertyName} />;
  if (typeof value === 'object') return <code>{JSON.stringify(value)}</code>;
  const text = String(value);
  if (/^tags?$/i.test(propertyName)) {
    const tag = text.replace(/^#/, '');
    return <a class="md-tag" href={href('search', '', { q: `tag:#${tag}`, kind: 'exact' })}>#{tag}</a>;
  }
  const link = WIKILINK.exec(text);
  if (link) {
    const [, target = '', subpath = '', alias = ''] = link;
    const path = note.links[target.trim()]?.path;
    return path ? <a class="md-link" href={addressOf(path, subpath)}>{alias || target + subpath}</a> : <a class="md-link md-missing" href={href('note', target)}>{alias || target}</a>;
  }
  const dateTime = DATE_TIME.exec(text);
  if (dateTime) return <time dateTime={text}>{dateTime[1]} {dateTime[2]}</time>; // as Obsidian shows it
  if (/^https?:\/\/\S+$/i.test(text)) return <a href={text} target="_blank" rel="noopener noreferrer">{text}</a>;
  return text;
}
