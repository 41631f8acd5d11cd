// A base, as a table, as cards or as a list.

import type { JSX } from 'preact';
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { pluralize } from '../lib/format';
import { useLoad } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { kindOf, titleOf } from '../lib/paths';
import { href } from '../lib/router';
import { Failure, Loading } from '../lib/states';
import type { BaseData, Cell } from './model';

const PAGE_SIZE = 200; // rows at once
const MAX_ROWS = 1000; // which the server sends

interface BaseProps {
  path: string;
  /** The number of the block in a note, from 1; 0 for a file. */
  block: number;
  view: string;
  /** The note that embeds the base file. */
  embeddedIn?: string;
  onView?: (name: string) => void;
}

export function Base({ path, block, view: initialView, embeddedIn = '', onView }: BaseProps): JSX.Element {
  const [ownView, setOwnView] = useState(initialView);
  const [limit, setLimit] = useState(PAGE_SIZE);
  const view = onView ? initialView : ownView;
  const base = useLoad((signal) => api<BaseData>('base', { query: { path, view, limit, block: block || null, this: embeddedIn }, signal }), [path, block, view, limit, embeddedIn]);
  const value = base.value;
  if (base.state === 'failed') return <Failure error={base.error} retry={isInvalid(base.error) ? undefined : base.reload} />;
  if (!value) return <div class="base-loading"><Loading>Running the query…</Loading></div>;
  return (
    <div class="base" aria-busy={base.state === 'loading'}>
      <div class="base-head">
        {value.views.length > 1 && (
          <div class="choice" role="group" aria-label="Views of the base">
            {value.views.map((view) => <button key={view.name} type="button" aria-pressed={view.name === value.view} onClick={() => (onView ?? setOwnView)(view.name)}>{view.name}</button>)}
          </div>
        )}
        <span class="quiet">{value.shown === value.total ? pluralize(value.total, 'result') : `${value.shown.toLocaleString()} of ${pluralize(value.total, 'result')}`}</span>
      </div>
      {value.problems.map((problem) => <p key={problem} class="base-problem"><Icon name="warning" /> {problem}</p>)}
      {!value.rows.length ? <p class="quiet base-none">No files match the filters of this view.</p> : <Groups value={value} />}
      {value.rows.length < value.shown && <button type="button" onClick={() => setLimit(Math.min(limit + PAGE_SIZE, MAX_ROWS))} disabled={limit >= MAX_ROWS}>Show more</button>}
    </div>
  );
}

/** Whether the base itself is at fault: then trying again does not help, and it is loaded again after an edit anyway. */
const isInvalid = (error: Error): boolean => error instanceof ApiError && error.status >= 400 && error.status < 500;

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
            <h3>{group.value === null || group.value === '' ? <span class="quiet">Empty</span> : <CellValue cell={group.value} />} <span class="row-count">{group.rows}</span></h3>
            <Rows value={value} rows={rows} summaries={group.summaries} />
          </section>
        );
      })}
    </>
  );
}

function Rows({ value, rows, summaries }: { value: BaseData; rows: BaseData['rows']; summaries: BaseData['summaries'] }): JSX.Element {
  const { columns } = value;
  const showsName = (column: { id: string } | undefined): boolean => column?.id === 'file.name' || column?.id === 'file.basename';
  // A column with the file's name links to the file.
  const renderCell = (row: BaseData['rows'][number], cell: Cell, at: number) =>
    showsName(columns[at]) ? <a href={href('note', row.path)}>{typeof cell === 'string' ? cell.replace(/\.md$/, '') : titleOf(row.path)}</a> : <CellValue cell={cell} />;
  const hasName = columns.some(showsName);
  if (value.type === 'cards')
    return (
      <ul class="cards">
        {rows.map((row) => (
          <li key={row.path} class="card base-card">
            {row.image !== null && typeof row.image === 'object' && 'media' in row.image && row.image.media && <img src={row.image.media} alt="" loading="lazy" />}
            {!hasName && <p class="card-name"><a href={href('note', row.path)}>{titleOf(row.path)}</a></p>}
            <dl>
              {columns.map((column, at) => (row.cells[at] === null || row.cells[at] === '' ? null : (
                <div key={column.id} class={at === 0 ? 'card-name' : ''}><dt class={at === 0 ? 'hidden-text' : ''}>{column.name}</dt><dd>{renderCell(row, row.cells[at] ?? null, at)}</dd></div>
              )))}
            </dl>
          </li>
        ))}
      </ul>
    );
  if (value.type === 'list')
    return <ul class="base-list">{rows.map((row) => <li key={row.path}>{!hasName && <a href={href('note', row.path)}>{titleOf(row.path)} </a>}{columns.map((column, at) => <span key={column.id} class={at || !hasName ? 'quiet' : undefined}>{renderCell(row, row.cells[at] ?? null, at)} </span>)}</li>)}</ul>;
  return (
    <div class="base-table" tabIndex={0} role="region" aria-label={`Table ${value.view}`}>
      <table>
        <thead><tr>{!hasName && <th scope="col">File</th>}{columns.map((column) => <th key={column.id} scope="col">{column.name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.path}>
              {!hasName && <td><a href={href('note', row.path)}>{titleOf(row.path)}</a></td>}
              {columns.map((column, at) => <td key={column.id} class={classOf(row.cells[at] ?? null)}>{renderCell(row, row.cells[at] ?? null, at)}</td>)}
            </tr>
          ))}
        </tbody>
        {summaries.length > 0 && (
          <tfoot><tr>{!hasName && <td />}{columns.map((column) => {
            const own = summaries.filter((summary) => summary.column === column.id);
            return <td key={column.id}>{own.map((summary) => <span key={summary.name}><span class="quiet">{summary.name} </span><CellValue cell={summary.value} /></span>)}</td>;
          })}</tr></tfoot>
        )}
      </table>
    </div>
  );
}

const classOf = (cell: Cell): string => (typeof cell === 'object' && cell !== null && (cell.kind === 'number' || cell.kind === 'date') ? cell.kind : '');

function CellValue({ cell }: { cell: Cell }): JSX.Element | null {
  if (cell === null || cell === '') return null;
  if (typeof cell === 'boolean') return <input type="checkbox" checked={cell} disabled aria-label={cell ? 'yes' : 'no'} />;
  if (typeof cell === 'string') return <>{cell}</>;
  switch (cell.kind) {
    case 'list':
      return <span class="cell-list">{cell.items.map((item, i) => <span key={i} class={typeof item === 'string' || (typeof item === 'object' && item?.kind === 'text') ? 'tag' : undefined}><CellValue cell={item} /></span>)}</span>;
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

/** Renders a base into an element of a note. The result unmounts it. */
export function mountBase(element: HTMLElement, path: string, block: number, view: string, note: string): () => void {
  render(<Base path={path} block={block} view={view} embeddedIn={kindOf(path) === 'base' ? note : ''} />, element);
  return () => render(null, element);
}
