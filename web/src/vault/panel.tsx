// Beside a note: its outline, what links to it, what it links to, and links that lead nowhere.

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../lib/api';
import { pluralize } from '../lib/format';
import { useLoad } from '../lib/hooks';
import { folderOf, titleOf } from '../lib/paths';
import { href } from '../lib/router';
import { Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { stripInline, stripLine } from '../note/plain-text';
import { files } from './files';
import type { LinkData, NoteData } from './model';

const MAX_HEADINGS = 200; // listed at first: a longer outline gives no overview

export function Panel({ note }: { note: NoteData }): JSX.Element {
  // Loaded again whenever a file changes, because any file may have got or lost a link to this note.
  const links = useLoad((signal) => api<LinkData>('links', { query: { path: note.path }, signal }), [note.path, note.hash, useStore(files)]);
  const value = links.value;
  const [maxHeadings, setMaxHeadings] = useState(MAX_HEADINGS);
  const topLevel = note.outline.reduce((level, heading) => Math.min(level, heading.level), 6);
  return (
    <aside class="panel" aria-label="About this note">
      {note.outline.length > 0 && (
        <Section title="Outline">
          <ul class="outline">
            {note.outline.slice(0, maxHeadings).map((heading) => <li key={heading.line} style={{ paddingLeft: `${(heading.level - topLevel) * 0.8}rem` }}><a href={href('note', note.path, { line: heading.line })}>{stripInline(heading.text)}</a></li>)}
          </ul>
          {note.outline.length > maxHeadings && <button type="button" class="link" onClick={() => setMaxHeadings(Infinity)}>Show all {note.outline.length.toLocaleString()} headings</button>}
        </Section>
      )}
      {!value ? (links.state === 'failed' ? <p class="quiet">The links could not be read. {links.error.message}</p> : <Loading />) : (
        <>
          <Section title="Backlinks" count={value.backlinkNotes}>
            {value.backlinks.length ? (
              <ul class="backlinks">
                {value.backlinks.map((source) => (
                  <li key={source.path}>
                    <a href={href('note', source.path)} title={source.path}>{titleOf(source.path)}</a>
                    {source.lines.map((line) => <a key={line.line} class="snippet" dir="auto" href={href('note', source.path, { line: line.line })}>{stripLine(line.text)}</a>)}
                  </li>
                ))}
              </ul>
            ) : <p class="quiet">No note links here yet.</p>}
            {value.backlinks.length < value.backlinkNotes && <p class="quiet">The first {value.backlinks.length} of {pluralize(value.backlinkNotes, 'note')}.</p>}
          </Section>
          {value.outgoing.length > 0 && (
            <Section title="Links" count={value.outgoing.length}>
              <ul class="outgoing">{value.outgoing.map((link) => <li key={link.path}><a href={href('note', link.path)} title={link.path} dir="auto">{titleOf(link.path)}</a>{folderOf(link.path) && <bdi class="quiet" title={folderOf(link.path)}>{folderOf(link.path)}</bdi>}</li>)}</ul>
            </Section>
          )}
          {value.unresolved.length > 0 && (
            <Section title="Unresolved links" count={value.unresolved.length}>
              <ul class="outgoing">{value.unresolved.map((link) => <li key={link.target}><a class="md-missing" href={href('note', link.target)}>{link.target}</a></li>)}</ul>
            </Section>
          )}
        </>
      )}
    </aside>
  );
}

function Section({ title, count, children }: { title: string; count?: number; children: ComponentChildren }): JSX.Element {
  return <section><h2 class="list-title">{title} {count !== undefined && <span class="row-count">{count}</span>}</h2>{children}</section>;
}
