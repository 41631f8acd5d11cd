// The results of a search, in a chat.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pluralize } from '../lib/format';
import { stripLineParts } from '../note/plain-text';
import { textOf, viewDataOf } from './host';
import { NoteHeader, startView, Text, type ViewProps } from './parts';

const PAGE_SIZE = 10; // notes at once
const MAX_LINES = 5; // of one note

interface ResultsData {
  vault: string;
  query: string;
  total: number;
  more: boolean; // whether there are more than `total`
  rows: { path: string; places: { heading: string; line: number; parts: string[] }[] }[];
}

function Results({ host, input, result }: ViewProps): JSX.Element {
  const data = viewDataOf<ResultsData>(result, 'results');
  const [rowCount, setRowCount] = useState(PAGE_SIZE);
  if (!data) return <Text text={textOf(result)} />;
  return (
    <main>
      <h1>{data.total ? pluralize(data.total, 'note', 'notes', data.more) : 'No note'} for “{data.query}”</h1>
      <ol class="results">
        {data.rows.slice(0, rowCount).map(({ path, places }) => (
          <li key={path}>
            <NoteHeader host={host} path={path} vault={data.vault} input={input} />
            {places.slice(0, MAX_LINES).map(({ heading, line, parts }) => (
              <p key={line} class="place">
                <span class="quiet">{heading ? `${heading}, line ${line}` : `Line ${line}`}</span>
                <span>{stripLineParts(parts.map((part, i) => [part, i % 2 === 1])).map(([text, isMatch], i) => (isMatch ? <mark key={i}>{text}</mark> : text))}</span>
              </p>
            ))}
          </li>
        ))}
      </ol>
      {data.rows.length > rowCount && <button type="button" onClick={() => setRowCount(rowCount + PAGE_SIZE)}>Show {pluralize(Math.min(PAGE_SIZE, data.rows.length - rowCount), 'more note')}</button>}
    </main>
  );
}

startView('results', 'Searching…', Results);
