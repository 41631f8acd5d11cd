// What a search or a question found, within a chat.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { plural } from '../lib/ui';
import { shownIn, textOf } from './host';
import { Note, start, type ViewProps, Words } from './parts';

const ROWS = 10; // at once; more with a press
const PLACES = 5; // of one note

interface Found {
  vault: string;
  query: string;
  total: number;
  more: boolean; // there are more than total
  rows: { path: string; places: { heading: string; line: number; parts: string[] }[] }[];
}

function Results({ host, input, result }: ViewProps): JSX.Element {
  const found = shownIn<Found>(result, 'results');
  const [shown, show] = useState(ROWS);
  if (!found) return <Words text={textOf(result)} />;
  return (
    <main>
      <h1>{found.total ? plural(found.total, 'note', 'notes', found.more) : 'No note'} for “{found.query}”</h1>
      <ol class="results">
        {found.rows.slice(0, shown).map(({ path, places }) => (
          <li key={path}>
            <Note host={host} path={path} vault={found.vault} input={input} />
            {places.slice(0, PLACES).map(({ heading, line, parts }) => (
              <p key={line} class="place">
                <span class="quiet">{heading ? `${heading}, line ${line}` : `Line ${line}`}</span>
                <span>{parts.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</span>
              </p>
            ))}
          </li>
        ))}
      </ol>
      {found.rows.length > shown && <button type="button" onClick={() => show(shown + ROWS)}>Show {plural(Math.min(ROWS, found.rows.length - shown), 'more note')}</button>}
    </main>
  );
}

start('results', 'Searching…', Results);
