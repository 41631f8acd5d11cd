// Search as you type: names of files at once from the list that the page has, texts from the server.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { href, navigate, type Route, route } from '../lib/router';
import { ago, Empty, Failure, Icon, plural, useTitle } from '../lib/ui';
import { useValue } from '../lib/value';
import { files, findByName } from './files';
import { folderOf, type Found, iconOf, kindOf, plainParts, titleOf } from './types';

const NAMES = 8; // files listed by their names
const WARM_MS = 1000; // after the page is drawn, which comes first
const HITS = 20; // notes at once, which fill two screens; more on request

/** What a query may be made of: an example with what a person replaces in it, and what it finds. */
const PARTS: [string, string, string, string][] = [
  ['"', 'a phrase', '"', 'these words in this order'],
  ['tag:#', 'project', '', 'notes with this tag'],
  ['path:', 'Daily', '', 'within this folder or path'],
  ['file:', 'plan', '', 'in the name of the file'],
  ['line:(', 'a b', ')', 'both on one line'],
  ['task-todo:', 'call', '', 'in a task that is not done'],
  ['[', 'status:active', ']', 'a property with this value'],
  ['-', 'draft', '', 'without this word'],
  ['OR ', 'this', '', 'one or the other'],
];

/** The field; it is the same wherever the person is in the vault. */
export function SearchField(): JSX.Element {
  const now = useValue(route);
  const field = useRef<HTMLInputElement>(null);
  const query = now.view === 'search' ? (now.query.get('q') ?? '') : '';
  // Asked for from another view.
  useLayoutEffect(() => {
    if (!route.get().query.has('focus')) return;
    field.current?.focus();
    navigate(href('search'), { replace: true });
  }, []);
  // The first search of a server loads what all of them need: before a letter waits for it.
  useEffect(() => {
    const timer = setTimeout(() => void api('search').catch(() => undefined), WARM_MS);
    return () => clearTimeout(timer);
  }, []);
  const type = (text: string) => {
    const kind = route.get().query.get('kind');
    // The first letter makes a step for Back; the others belong to it.
    navigate(text ? href('search', '', { q: text, kind: kind === 'exact' ? kind : '' }) : href('search'), { replace: now.view === 'search' });
  };
  return (
    <form class="search-field" role="search" onSubmit={(event) => (event.preventDefault(), openFirst())}>
      <Icon name="search" />
      <input ref={field} type="search" aria-label="Search the vault" placeholder="Search" autocomplete="off" spellcheck={false} maxLength={500}
        value={query} aria-keyshortcuts="/" onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') (event.preventDefault(), move(1));
          else if (event.key === 'Escape' && now.view === 'search') history.back();
        }} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

const results = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('.found-list a')];
const openFirst = (): void => results()[0]?.click();

/** From result to result with the arrow keys. */
function move(step: number): void {
  const all = results();
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[at + step];
  if (next) next.focus();
  else if (at + step < 0) document.querySelector<HTMLElement>('.search-field input')?.focus();
}

export function Search({ route: now }: { route: Route }): JSX.Element {
  const query = now.query.get('q') ?? '';
  const kind = now.query.get('kind') === 'exact' ? 'exact' : 'ranked';
  const all = useValue(files);
  const [limit, setLimit] = useState(HITS);
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [asked, setAsked] = useState('');
  const [turn, again] = useState(0);
  useTitle(query ? `Search: ${query}` : 'Search');
  // Before the frame is painted: an effect after it would ask a frame later.
  useLayoutEffect(() => {
    const abort = new AbortController();
    api<Found>('search', { query: { q: query, kind, limit }, signal: abort.signal }).then(
      (answer) => abort.signal.aborted || (setFound(answer), setError(null), setAsked(query)),
      (reason) => abort.signal.aborted || (setError(reason), setFound(null), setAsked(query)),
    );
    return () => abort.abort();
  }, [query, kind, limit, turn]);
  useEffect(() => setLimit(HITS), [query, kind]);
  const named = useMemo(() => (kind === 'ranked' ? findByName(all?.paths ?? [], query, NAMES) : []), [all, query, kind]);
  const choose = (wanted: string) => navigate(href('search', '', { q: query, kind: wanted === 'exact' ? wanted : '' }), { replace: true });
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    move(event.key === 'ArrowDown' ? 1 : -1);
  };
  const added = useRef<[number, number] | null>(null); // what is to be selected in the field
  const add = (before: string, sample: string, after: string): void => {
    const text = `${query.trim()} ${before}`.trimStart();
    added.current = [text.length, text.length + sample.length];
    navigate(href('search', '', { q: text + sample + after, kind: 'exact' }), { replace: true });
  };
  // The person continues with the part to replace.
  useEffect(() => {
    const input = document.querySelector<HTMLInputElement>('.search-field input');
    if (!added.current || !input) return;
    input.focus();
    input.setSelectionRange(...added.current);
    added.current = null;
  }, [query]);
  const total = found?.total ?? 0;
  const isAway = error instanceof ApiError && error.status === 0;
  const isNothing = query !== '' && asked === query && found !== null && !total && !named.length;
  const heard = !query || error ? '' : asked === query && found ? (total ? plural(total, 'note', 'notes', found.more) : 'Nothing found') : 'Searching…';
  return (
    <div class="page search">
      <header class="search-head">
        <h1>Search</h1>
        <div class="choice" role="group" aria-label="How to search">
          <button type="button" aria-pressed={kind === 'ranked'} onClick={() => choose('ranked')}>In plain words</button>
          <button type="button" aria-pressed={kind === 'exact'} onClick={() => choose('exact')}>Exact query</button>
        </div>
      </header>
      {kind === 'exact' && (
        <p class="quiet query-parts">Obsidian’s query language; press one to add it:
          {PARTS.map(([before, sample, after, what]) => <button key={before} type="button" title={what} onClick={() => add(before, sample, after)}><code>{before}{sample}{after}</code><span class="hidden-text">, {what}</span></button>)}
        </p>
      )}
      <p class={`quiet found-count${error || (isNothing && found?.complete) ? ' hidden-text' : ''}`} role="status" data-of={asked}>{heard}{found && !found.complete ? ` The vault is still being read${found.notes ? `: ${found.indexed} of ${found.notes} notes so far` : ''}.` : ''}</p>
      {!query && <Empty icon="search" title="What are you looking for?"><p>Type a name, or words that the note contains.<span class="keys-only"> Press <kbd>/</kbd> in any view to get here.</span></p></Empty>}
      {error && isAway && <Failure error={error} retry={() => again(turn + 1)} />}
      {error && !isAway && (kind === 'exact' ? <p class="note-problem search-problem"><Icon name="warning" /><span>This query cannot be read yet. {error.message}</span></p> : <Failure error={error} />)}
      <div class="found-list" onKeyDown={press}>
        {named.length > 0 && (
          <section aria-label="Files by name">
            <h2 class="list-title">By name</h2>
            <ul class="named">
              {named.map((path) => <li key={path}><a href={href('note', path)}><Icon name={iconOf(path)} /><bdi>{titleOf(path)}</bdi><bdi class="quiet">{folderOf(path)}</bdi></a></li>)}
            </ul>
          </section>
        )}
        {found && found.hits.length > 0 && (
          <section aria-label="Notes by text">
            <h2 class="list-title">In the text</h2>
            <ol class="hits">
              {found.hits.map((hit) => (
                <li key={hit.path} class="hit">
                  <a class="hit-title" href={href('note', hit.path)}><bdi>{titleOf(hit.path)}</bdi></a>
                  <span class="quiet hit-place">{[folderOf(hit.path), hit.heading.replaceAll(' > ', ' › ')].filter(Boolean).map((part) => <span key={part}><bdi>{part}</bdi> · </span>)}<time dateTime={new Date(hit.modified * 1000).toISOString()}>{ago(hit.modified)}</time></span>
                  {kindOf(hit.path) === 'note' && hit.lines.map((line) => (
                    <a key={line.line} class="snippet" dir="auto" href={href('note', hit.path, { line: line.line })}>
                      {plainParts(line.parts).map(([text, marked], i) => (marked ? <mark key={i}>{text}</mark> : <span key={i}>{text}</span>))}
                    </a>
                  ))}
                </li>
              ))}
            </ol>
            {found.hits.length < total && <button type="button" onClick={() => setLimit(Math.min(limit + HITS, 100))} disabled={limit >= 100}>{limit >= 100 ? 'Narrow the search to see the rest' : 'Show more'}</button>}
          </section>
        )}
      </div>
      {isNothing && <Empty icon="search" title="Nothing found"><p>{kind === 'exact' ? 'No note matches this query. Plain words also find notes that contain only some of them.' : 'No note contains these words. Try fewer or different ones.'}</p></Empty>}
    </div>
  );
}
