// A base as the table, cards or list that it is.

import type { JSX } from 'preact';
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { href } from '../lib/router';
import { Failure, Icon, Loading, plural, useLoad } from '../lib/ui';
import { type BaseData, type Cell, kindOf, titleOf } from './types';

const ROWS = 200; // at once

interface Props {
  path: string;
  /** Which block of a note, from 1; 0 for a file. */
  block: number;
  view: string;
  /** The note that shows it, if it is another one. */
  within?: string;
  onView?: (name: string) => void;
}

export function Base({ path, block, view: wanted, within = '', onView }: Props): JSX.Element {
  const [chosen, choose] = useState(wanted);
  const [limit, setLimit] = useState(ROWS);
  const view = onView ? wanted : chosen;
  const base = useLoad((signal) => api<BaseData>('base', { query: { path, view, limit, block: block || null, this: within }, signal }), [path, block, view, limit, within]);
  const value = base.value;
  if (base.state === 'failed') return <Failure error={base.error} retry={isWrong(base.error) ? undefined : base.again} />;
  if (!value) return <div class="base-loading"><Loading>Running the query…</Loading></div>;
  return (
    <div class="base" aria-busy={base.state === 'loading'}>
      <div class="base-head">
        {value.views.length > 1 && (
          <div class="choice" role="group" aria-label="Views of the base">
            {value.views.map((view) => <button key={view.name} type="button" aria-pressed={view.name === value.view} onClick={() => (onView ?? choose)(view.name)}>{view.name}</button>)}
          </div>
        )}
        <span class="quiet">{value.shown === value.total ? plural(value.total, 'result') : `${value.shown.toLocaleString()} of ${plural(value.total, 'result')}`}</span>
      </div>
      {value.problems.map((problem) => <p key={problem} class="base-problem"><Icon name="warning" /> {problem}</p>)}
      {!value.rows.length ? <p class="quiet base-none">No file passes the filters of this view.</p> : <Groups value={value} />}
      {value.rows.length < value.shown && <button type="button" onClick={() => setLimit(Math.min(limit + ROWS, 1000))} disabled={limit >= 1000}>Show more</button>}
    </div>
  );
}

/** The base itself is wrong: trying again would not help, and editing it reads it anew. */
const isWrong = (error: Error): boolean => error instanceof ApiError && error.status >= 400 && error.status < 500;

function Groups({ value }: { value: BaseData }): JSX.Element {
  if (!value.groups.length) return <Rows value={value} rows={value.rows} summaries={value.summaries} />;
  let at = 0;
  return (
    <>
      {value.groups.map((group, i) => {
        const rows = value.rows.slice(at, at + group.rows);
        at += group.rows;
        if (!rows.length) return null;
        return (
          <section key={i} class="base-group">
            <h3>{group.value === null || group.value === '' ? <span class="quiet">Empty</span> : <Show cell={group.value} />} <span class="row-count">{group.rows}</span></h3>
            <Rows value={value} rows={rows} summaries={group.summaries} />
          </section>
        );
      })}
    </>
  );
}

function Rows({ value, rows, summaries }: { value: BaseData; rows: BaseData['rows']; summaries: BaseData['summaries'] }): JSX.Element {
  const { columns } = value;
  // The first column opens the file when it shows the file's own name.
  const first = (row: BaseData['rows'][number], cell: Cell, at: number) =>
    columns[at]?.id === 'file.name' || columns[at]?.id === 'file.basename' ? <a href={href('note', row.path)}>{typeof cell === 'string' ? cell.replace(/\.md$/, '') : titleOf(row.path)}</a> : <Show cell={cell} />;
  const named = columns.some((column) => column.id === 'file.name' || column.id === 'file.basename');
  if (value.type === 'cards')
    return (
      <ul class="cards">
        {rows.map((row) => (
          <li key={row.path} class="card base-card">
            {row.image !== null && typeof row.image === 'object' && 'media' in row.image && row.image.media && <img src={row.image.media} alt="" loading="lazy" />}
            {!named && <p class="card-name"><a href={href('note', row.path)}>{titleOf(row.path)}</a></p>}
            <dl>
              {columns.map((column, at) => (row.cells[at] === null || row.cells[at] === '' ? null : (
                <div key={column.id} class={at === 0 ? 'card-name' : ''}><dt class={at === 0 ? 'hidden-text' : ''}>{column.name}</dt><dd>{first(row, row.cells[at] ?? null, at)}</dd></div>
              )))}
            </dl>
          </li>
        ))}
      </ul>
    );
  if (value.type === 'list')
    return <ul class="base-list">{rows.map((row) => <li key={row.path}>{!named && <a href={href('note', row.path)}>{titleOf(row.path)} </a>}{columns.map((column, at) => <span key={column.id} class={at || !named ? 'quiet' : undefined}>{first(row, row.cells[at] ?? null, at)} </span>)}</li>)}</ul>;
  return (
    <div class="base-table" tabIndex={0} role="region" aria-label={`Table ${value.view}`}>
      <table>
        <thead><tr>{!named && <th scope="col">File</th>}{columns.map((column) => <th key={column.id} scope="col">{column.name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              {!named && <td><a href={href('note', row.path)}>{titleOf(row.path)}</a></td>}
              {columns.map((column, at) => <td key={column.id} class={kindClass(row.cells[at] ?? null)}>{first(row, row.cells[at] ?? null, at)}</td>)}
            </tr>
          ))}
        </tbody>
        {summaries.length > 0 && (
          <tfoot><tr>{!named && <td />}{columns.map((column) => {
            const own = summaries.filter((summary) => summary.column === column.id);
            return <td key={column.id}>{own.map((summary) => <span key={summary.name}><span class="quiet">{summary.name} </span><Show cell={summary.value} /></span>)}</td>;
          })}</tr></tfoot>
        )}
      </table>
    </div>
  );
}

const kindClass = (cell: Cell): string => (typeof cell === 'object' && cell !== null && (cell.kind === 'number' || cell.kind === 'date') ? cell.kind : '');

function Show({ cell }: { cell: Cell }): JSX.Element | null {
  if (cell === null || cell === '') return null;
  if (typeof cell === 'boolean') return <input type="checkbox" checked={cell} disabled aria-label={cell ? 'yes' : 'no'} />;
  if (typeof cell === 'string') return <>{cell}</>;
  switch (cell.kind) {
    case 'list':
      return <span class="cell-list">{cell.items.map((item, i) => <span key={i} class={typeof item === 'string' || (typeof item === 'object' && item?.kind === 'text') ? 'tag' : undefined}><Show cell={item} /></span>)}</span>;
    case 'url':
      return /^https?:/i.test(cell.url) ? <a href={cell.url} target="_blank" rel="noopener noreferrer">{cell.text}</a> : <>{cell.text}</>;
    case 'image':
      return cell.media ? <img src={cell.media} alt={cell.text} loading="lazy" /> : <>{cell.text}</>;
    case 'link':
      return cell.path ? <a href={href('note', cell.path)}>{cell.text.startsWith('[[') ? titleOf(cell.path) : cell.text}</a> : <span class="md-absent">{cell.text}</span>;
    case 'error':
      return <span class="cell-error" title={cell.text}>error</span>;
    default:
      return <>{cell.text}</>;
  }
}

/** Puts a base into a place of a rendered note; the result takes it out again. */
export function mountBase(place: HTMLElement, path: string, block: number, view: string, within: string): () => void {
  render(<Base path={path} block={block} view={view} within={kindOf(path) === 'base' ? within : ''} />, place);
  return () => render(null, place);
}
