// Beside a note: its outline, what links to it, what it links to, and links that lead nowhere.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../lib/api';
import { href } from '../lib/router';
import { Loading, plural, useLoad } from '../lib/ui';
import { useValue } from '../lib/value';
import { files } from './files';
import { folderOf, type Links, type NoteData, plainLine, titleOf } from './types';

const HEADINGS = 200; // listed at first: a longer outline is no overview

export function Panel({ note }: { note: NoteData }): JSX.Element {
  // Whatever has changed in the vault: a link to this note may be new, or gone.
  const links = useLoad((signal) => api<Links>('links', { query: { path: note.path }, signal }), [note.path, note.hash, useValue(files)]);
  const value = links.value;
  const [headings, show] = useState(HEADINGS);
  const top = note.outline.reduce((least, heading) => Math.min(least, heading.level), 6);
  return (
    <aside class="panel" aria-label="About this note">
      {note.outline.length > 0 && (
        <Part title="Outline">
          <ul class="outline">
            {note.outline.slice(0, headings).map((heading) => <li key={heading.line} style={{ paddingLeft: `${(heading.level - top) * 0.8}rem` }}><a href={href('note', note.path, { line: heading.line })}>{heading.text.replace(/\[\[(?:[^\]|]*\|)?([^\]]*)\]\]/g, '$1').replace(/[*_`]/g, '')}</a></li>)}
          </ul>
          {note.outline.length > headings && <button type="button" class="link" onClick={() => show(Infinity)}>Show all {note.outline.length.toLocaleString()} headings</button>}
        </Part>
      )}
      {!value ? (links.state === 'failed' ? <p class="quiet">The links could not be read. {links.error.message}</p> : <Loading />) : (
        <>
          <Part title="Backlinks" count={value.backlinkNotes}>
            {value.backlinks.length ? (
              <ul class="backlinks">
                {value.backlinks.map((source) => (
                  <li key={source.path}>
                    <a href={href('note', source.path)} title={source.path}>{titleOf(source.path)}</a>
                    {source.lines.map((line) => <a key={line.line} class="snippet" dir="auto" href={href('note', source.path, { line: line.line })}>{plainLine(line.text)}</a>)}
                  </li>
                ))}
              </ul>
            ) : <p class="quiet">No note links here yet.</p>}
            {value.backlinks.length < value.backlinkNotes && <p class="quiet">The first {value.backlinks.length} of {plural(value.backlinkNotes, 'note')}.</p>}
          </Part>
          {value.outgoing.length > 0 && (
            <Part title="Links" count={value.outgoing.length}>
              <ul class="outgoing">{value.outgoing.map((link) => <li key={link.path}><a href={href('note', link.path)} title={link.path} dir="auto">{titleOf(link.path)}</a>{folderOf(link.path) && <bdi class="quiet" title={folderOf(link.path)}>{folderOf(link.path)}</bdi>}</li>)}</ul>
            </Part>
          )}
          {value.unresolved.length > 0 && (
            <Part title="Not written yet" count={value.unresolved.length}>
              <ul class="outgoing">{value.unresolved.map((link) => <li key={link.target}><a class="md-missing" href={href('note', link.target)}>{link.target}</a></li>)}</ul>
            </Part>
          )}
        </>
      )}
    </aside>
  );
}

function Part({ title, count, children }: { title: string; count?: number; children: ComponentChildren }): JSX.Element {
  return <section><h2 class="list-title">{title} {count !== undefined && <span class="row-count">{count}</span>}</h2>{children}</section>;
}
