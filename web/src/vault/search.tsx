// Search as you type. File names are found in the page's own list at once, texts by the server.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { formatAgo, pluralize } from '../lib/format';
import { useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { folderOf, iconOf, kindOf, titleOf } from '../lib/paths';
import { href, navigate, type Route, route } from '../lib/router';
import { EmptyState, Failure } from '../lib/states';
import { useStore } from '../lib/store';
import { stripLineParts } from '../note/plain-text';
import { files, findByName } from './files';
import type { SearchResults } from './model';

const MAX_NAMES = 8; // files found by name
const WARM_UP_MS = 1000; // after the page is drawn, which comes first
const PAGE_SIZE = 20; // notes at once, which fill two screens
const MAX_HITS = 100; // which the server sends

/** What a query may consist of: an example, of which the middle is for the person to replace, and what it finds. */
const OPERATORS: [before: string, sample: string, after: string, description: string][] = [
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

/** The search field of the Vault view. */
export function SearchField(): JSX.Element {
  const current = useStore(route);
  const field = useRef<HTMLInputElement>(null);
  const query = current.view === 'search' ? (current.query.get('q') ?? '') : '';
  // Another view has sent the person here.
  useLayoutEffect(() => {
    if (!route.get().query.has('focus')) return;
    field.current?.focus();
    navigate(href('search'), { replace: true });
  }, []);
  // An empty search makes the server load what every search needs, before somebody waits for it.
  useEffect(() => {
    const timer = setTimeout(() => void api('search').catch(() => undefined), WARM_UP_MS);
    return () => clearTimeout(timer);
  }, []);
  const handleInput = (text: string) => {
    const kind = route.get().query.get('kind');
    // Only the first letter adds a step for Back.
    navigate(text ? href('search', '', { q: text, kind: kind === 'exact' ? kind : '' }) : href('search'), { replace: current.view === 'search' });
  };
  return (
    <form class="search-field" role="search" onSubmit={(event) => (event.preventDefault(), openFirst())}>
      <Icon name="search" />
      <input ref={field} type="search" aria-label="Search the vault" placeholder="Search" autocomplete="off" spellcheck={false} maxLength={500}
        value={query} aria-keyshortcuts="/" onInput={(event) => handleInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') (event.preventDefault(), focusResult(1));
          else if (event.key === 'Escape' && current.view === 'search') history.back();
        }} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

const findResults = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('.found-list a')];
const openFirst = (): void => findResults()[0]?.click();

/** Moves the focus to the next or previous result, for the arrow keys. */
function focusResult(step: number): void {
  const results = findResults();
  const at = results.indexOf(document.activeElement as HTMLElement);
  const next = results[at + step];
  if (next) next.focus();
  else if (at + step < 0) document.querySelector<HTMLElement>('.search-field input')?.focus();
}

export function Search({ route: current }: { route: Route }): JSX.Element {
  const query = current.query.get('q') ?? '';
  const kind = current.query.get('kind') === 'exact' ? 'exact' : 'ranked';
  const allFiles = useStore(files);
  const [limit, setLimit] = useState(PAGE_SIZE);
  const [results, setResults] = useState<SearchResults | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [answered, setAnswered] = useState(''); // the query of the results
  const [attempt, setAttempt] = useState(0);
  useTitle(query ? `Search: ${query}` : 'Search');
  // A layout effect, because an ordinary effect would send the request a frame later.
  useLayoutEffect(() => {
    const abort = new AbortController();
    api<SearchResults>('search', { query: { q: query, kind, limit }, signal: abort.signal }).then(
      (answer) => abort.signal.aborted || (setResults(answer), setError(null), setAnswered(query)),
      (reason) => abort.signal.aborted || (setError(reason), setResults(null), setAnswered(query)),
    );
    return () => abort.abort();
  }, [query, kind, limit, attempt]);
  useEffect(() => setLimit(PAGE_SIZE), [query, kind]);
  const byName = useMemo(() => (kind === 'ranked' ? findByName(allFiles?.paths ?? [], query, MAX_NAMES) : []), [allFiles, query, kind]);
  const setKind = (value: string) => navigate(href('search', '', { q: query, kind: value === 'exact' ? value : '' }), { replace: true });
  const handleKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    focusResult(event.key === 'ArrowDown' ? 1 : -1);
  };
  const selection = useRef<[number, number] | null>(null); // to be made in the field
  const addOperator = (before: string, sample: string, after: string): void => {
    const text = `${query.trim()} ${before}`.trimStart();
    selection.current = [text.length, text.length + sample.length];
    navigate(href('search', '', { q: text + sample + after, kind: 'exact' }), { replace: true });
  };
  // The person continues by replacing the sample.
  useEffect(() => {
    const input = document.querySelector<HTMLInputElement>('.search-field input');
    if (!selection.current || !input) return;
    input.focus();
    input.setSelectionRange(...selection.current);
    selection.current = null;
  }, [query]);
  const total = results?.total ?? 0;
  const isUnreachable = error instanceof ApiError && error.status === 0;
  const isNothingFound = query !== '' && answered === query && results !== null && !total && !byName.length;
  const status = !query || error ? '' : answered === query && results ? (total ? pluralize(total, 'note', 'notes', results.more) + (results.reason && `; ${results.reason}: searched for the words`) : 'Nothing found') : 'Searching…';
  return (
    <div class="page search">
      <header class="search-head">
        <h1>Search</h1>
        <div class="choice" role="group" aria-label="How to search">
          <button type="button" aria-pressed={kind === 'ranked'} onClick={() => setKind('ranked')}>Smart search</button>
          <button type="button" aria-pressed={kind === 'exact'} onClick={() => setKind('exact')}>Obsidian syntax</button>
        </div>
      </header>
      {kind === 'exact' && (
        <p class="quiet query-parts">Obsidian’s query language. Press an operator to add it:
          {OPERATORS.map(([before, sample, after, description]) => <button key={before} type="button" title={description} onClick={() => addOperator(before, sample, after)}><code>{before}{sample}{after}</code><span class="hidden-text">, {description}</span></button>)}
        </p>
      )}
      <p class={`quiet found-count${error || (isNothingFound && results?.complete) ? ' hidden-text' : ''}`} role="status" data-of={answered}>{status}{results && !results.complete ? ` The vault is still being read${results.notes ? `: ${results.indexed} of ${results.notes} notes so far` : ''}.` : ''}</p>
      {!query && <EmptyState icon="search" title="What are you looking for?"><p>Type a name, or words that the note contains.<span class="keys-only"> Press <kbd>/</kbd> in any view to get here.</span></p></EmptyState>}
      {error && isUnreachable && <Failure error={error} retry={() => setAttempt(attempt + 1)} />}
      {error && !isUnreachable && (kind === 'exact' ? <p class="note-problem search-problem"><Icon name="warning" /><span>This query is not complete yet. {error.message}</span></p> : <Failure error={error} />)}
      <div class="found-list" onKeyDown={handleKeyDown}>
        {byName.length > 0 && (
          <section aria-label="Files by name">
            <h2 class="list-title">By name</h2>
            <ul class="named">
              {byName.map((path) => <li key={path}><a href={href('note', path)}><Icon name={iconOf(path)} /><bdi>{titleOf(path)}</bdi><bdi class="quiet">{folderOf(path)}</bdi></a></li>)}
            </ul>
          </section>
        )}
        {results && results.hits.length > 0 && (
          <section aria-label="Notes by text">
            <h2 class="list-title">In the text</h2>
            <ol class="hits">
              {results.hits.map((hit) => (
                <li key={hit.path} class="hit">
                  <a class="hit-title" href={href('note', hit.path)}><bdi>{titleOf(hit.path)}</bdi></a>
                  <span class="quiet hit-place">{[folderOf(hit.path), hit.heading.replaceAll(' > ', ' › ')].filter(Boolean).map((part) => <span key={part}><bdi>{part}</bdi> · </span>)}<time dateTime={new Date(hit.modified * 1000).toISOString()}>{formatAgo(hit.modified)}</time></span>
                  {kindOf(hit.path) === 'note' && hit.lines.map((line) => (
                    <a key={line.line} class="snippet" dir="auto" href={href('note', hit.path, { line: line.line })}>
                      {stripLineParts(line.parts).map(([text, isMatch], i) => (isMatch ? <mark key={i}>{text}</mark> : <span key={i}>{text}</span>))}
                    </a>
                  ))}
                </li>
              ))}
            </ol>
            {results.hits.length < total && <button type="button" onClick={() => setLimit(Math.min(limit + PAGE_SIZE, MAX_HITS))} disabled={limit >= MAX_HITS}>{limit >= MAX_HITS ? 'Narrow the search to see the rest' : 'Show more'}</button>}
          </section>
        )}
      </div>
      {isNothingFound && <EmptyState icon="search" title="Nothing found"><p>{kind === 'exact' ? 'No note matches this query. A search for plain words also finds notes that contain only some of them.' : 'No note contains these words. Try fewer or different ones.'}</p></EmptyState>}
    </div>
  );
}
