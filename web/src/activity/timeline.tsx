// The timeline: what assistants read and changed, newest first. Each change has its diff and a button to undo it.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { Diff } from '../lib/diff';
import { formatDay, formatDuration, formatTime, pluralize } from '../lib/format';
import { useLoad } from '../lib/hooks';
import { Icon, type IconName } from '../lib/icons';
import { live } from '../lib/live';
import { dismissNoticesAbout, notify, notifyError } from '../lib/notices';
import { RequestOrder } from '../lib/request-order';
import { href, navigate, type Route } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { waitingProposals } from '../review/proposals';
import { assistantList } from './assistant-list';
import { type ActivityPage, type ChangeDetail, type Entry, KIND_FILTERS, TIME_FILTERS } from './model';

const PAGE_SIZE = 60; // entries requested at once
const MAX_ENTRIES = 2000; // shown; older ones can be found with the filters
const TYPING_MS = 250; // after the last keystroke in a filter

const ICONS: Record<Entry['kind'], IconName> = {
  read: 'note', search: 'search', list: 'folder', change: 'edit', propose: 'review', undo: 'undo', call: 'activity', connect: 'link', disconnect: 'close', control: 'pause',
};

/** The newest first; a later entry replaces an earlier one with the same id. */
const merge = (old: Entry[], fresh: Entry[]): Entry[] =>
  [...new Map([...old, ...fresh].map((entry) => [entry.id, entry])).values()].sort((a, b) => b.at - a.at).slice(0, MAX_ENTRIES);

export function Timeline({ route, disabled }: { route: Route; disabled: boolean }): JSX.Element {
  const parameters = route.query;
  const filter = { assistant: parameters.get('assistant') ?? '', kind: parameters.get('kind') ?? '', note: parameters.get('note') ?? '', time: parameters.get('time') ?? '' };
  const kinds = KIND_FILTERS.find(({ value }) => value === filter.kind)?.kinds ?? [];
  const seconds = TIME_FILTERS.find(({ value }) => value === filter.time)?.seconds ?? 0;
  const query = { assistant: filter.assistant, kind: kinds.join(','), note: filter.note, limit: PAGE_SIZE };
  const computeSince = (): number | null => (seconds ? Date.now() / 1000 - seconds : null);
  const [entries, setEntries] = useState<Entry[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const arrived = useRef<Entry[]>([]); // since the list was requested, which may not contain them
  const order = useMemo(() => new RequestOrder(), []);
  const loaded = useLoad((signal) => {
    arrived.current = [];
    order.accept('list'); // older entries that were requested before belong to another filter
    return requestEntries({ ...query, since: computeSince() }, signal);
  }, Object.values(filter));
  // A layout effect, because a frame without entries would say that nothing has happened.
  useLayoutEffect(() => {
    if (loaded.state !== 'done') return;
    setEntries(merge(loaded.value.entries, arrived.current.filter(latestMatches.current)));
    setNext(loaded.value.next);
  }, [loaded.state, loaded.value]);
  const matches = (entry: Entry): boolean =>
    (!filter.assistant || entry.assistant.id === filter.assistant) && (!kinds.length || kinds.includes(entry.kind)) && (!filter.note || entry.paths.some((path) => path === filter.note || path.endsWith(`/${filter.note}`)));
  const latestMatches = useRef(matches);
  latestMatches.current = matches;
  useEffect(() => live.on('activityAdded', ({ entries: fresh }: { entries: Entry[] }) => {
    arrived.current = [...arrived.current, ...fresh].slice(-MAX_ENTRIES);
    setEntries((old) => merge(old, fresh.filter((entry) => latestMatches.current(entry) || old.some(({ id }) => id === entry.id))));
  }), []);
  const { reload } = loaded;
  useEffect(() => live.hello.subscribe((hello) => void (hello && reload())), []);

  const loadOlder = async (): Promise<void> => {
    const started = order.start();
    try {
      const page = await api<ActivityPage>('activity', { query: { ...query, since: computeSince(), before: next, vault: '' } });
      if (!order.accept('list', started)) return;
      setEntries((old) => [...old, ...page.entries.filter((entry) => !old.some(({ id }) => id === entry.id))].slice(0, MAX_ENTRIES));
      setNext(page.next);
    } catch (error) {
      notifyError(error);
    }
  };
  const changeFilter = (changes: Partial<Filter>): void => navigate(href('activity', '', { ...filter, ...changes }), { replace: true });
  const isFiltered = Object.values(filter).some(Boolean);
  const days = useMemo(() => {
    const groups: { title: string; entries: Entry[] }[] = [];
    for (const entry of entries) {
      const title = formatDay(entry.at);
      const last = groups.at(-1);
      if (last?.title === title) last.entries.push(entry);
      else groups.push({ title, entries: [entry] });
    }
    return groups;
  }, [entries]);

  return (
    <div class="timeline">
      <FilterForm filter={filter} onChange={changeFilter} />
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={reload} />}
      {loaded.value?.notices.map((notice) => <p key={notice} class="banner warn" role="status"><Icon name="warning" />{notice} <code>vaultbridge doctor --fix</code> confirms it.</p>)}
      {loaded.state === 'loading' && !loaded.value && <Loading />}
      {loaded.value && loaded.state !== 'failed' && !entries.length && (isFiltered
        ? <EmptyState icon="activity" title="Nothing matches this filter"><p><button type="button" class="link" onClick={() => changeFilter({ assistant: '', kind: '', note: '', time: '' })}>Show everything</button></p></EmptyState>
        : <EmptyState icon="activity" title="No activity yet"><p>As soon as an assistant reads, searches or changes something, it is listed here. Every change comes with its diff and an Undo button.</p><p><a href={href('settings', 'assistants')}>Connect an assistant</a></p></EmptyState>)}
      {days.map(({ title, entries: dayEntries }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ol>{dayEntries.map((entry) => <EntryRow key={entry.id} entry={entry} disabled={disabled} onUndone={reload} />)}</ol>
        </section>
      ))}
      {next && entries.length > 0 && <button type="button" class="older" onClick={() => void loadOlder()}>Show older</button>}
    </div>
  );
}

/** Loads matching entries: none while the name of the note, which may still be typed, is that of no file. */
async function requestEntries(query: Record<string, string | number | null>, signal: AbortSignal): Promise<ActivityPage> {
  try {
    return await api<ActivityPage>('activity', { query: { ...query, vault: '' }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && query.note) return { entries: [], next: null, newest: null, notices: [], remembers: 0 };
    throw error;
  }
}

interface Filter {
  assistant: string;
  kind: string;
  note: string;
  time: string;
}

function FilterForm({ filter, onChange }: { filter: Filter; onChange: (changes: Partial<Filter>) => void }): JSX.Element {
  const assistants = useStore(assistantList)?.assistants ?? [];
  const [note, setNote] = useState(filter.note);
  useEffect(() => setNote(filter.note), [filter.note]);
  useEffect(() => {
    const timer = setTimeout(() => note !== filter.note && onChange({ note }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [note]);
  return (
    <form class="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>What <select value={filter.kind} onChange={(event) => onChange({ kind: event.currentTarget.value })}>
        {KIND_FILTERS.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
      </select></label>
      <label>Who <select value={filter.assistant} onChange={(event) => onChange({ assistant: event.currentTarget.value })}>
        <option value="">Everyone</option>
        {assistants.map((assistant) => <option key={assistant.id} value={assistant.id}>{assistant.name}{assistant.connected ? '' : ' (disconnected)'}</option>)}
        {filter.assistant && !assistants.some(({ id }) => id === filter.assistant) && <option value={filter.assistant}>{filter.assistant}</option>}
      </select></label>
      <label>When <select value={filter.time} onChange={(event) => onChange({ time: event.currentTarget.value })}>
        {TIME_FILTERS.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
      </select></label>
      <label>Note <input type="search" value={note} placeholder="Projects/Plan.md" autocomplete="off" spellcheck={false} onInput={(event) => setNote(event.currentTarget.value)} /></label>
    </form>
  );
}

function EntryRow({ entry, disabled, onUndone }: { entry: Entry; disabled: boolean; onUndone: () => void }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const hasChange = entry.change !== null && entry.change > 0;
  const isWaiting = useStore(waitingProposals).some(({ id }) => id === entry.proposal);
  return (
    <li class="entry" data-kind={entry.kind} data-ok={entry.ok || isRejected(entry)}>
      <time dateTime={new Date(entry.at * 1000).toISOString()}>{formatTime(entry.at)}</time>
      <Icon name={ICONS[entry.kind] ?? 'activity'} />
      <div class="entry-text">
        <p><strong>{entry.assistant.name}</strong> {renderText(entry)}</p>
        {!entry.ok && !isRejected(entry) && <p class="entry-bad">{entry.error === 'PAUSED' ? 'You paused this assistant.' : `${describeError(entry.error)}.`}</p>}
        {entry.undoneBy !== null && <p class="quiet">Undone by change {entry.undoneBy}.</p>}
      </div>
      <div class="entry-actions">
        {entry.ms !== null && <span class="quiet entry-ms">{formatDuration(entry.ms)}</span>}
        {entry.proposal && (isWaiting ? <a class="button" href={href('review', entry.proposal)}>Review</a> : <a class="button" href={href('review', '', { show: 'decided' })}>Reviewed</a>)}
        {hasChange && <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? 'Hide' : 'Show'} the change</button>}
        {hasChange && entry.canUndo && <UndoButton vault={entry.vault} change={entry.change ?? 0} disabled={disabled} onUndone={onUndone} />}
      </div>
      {isOpen && hasChange && <ChangeFiles vault={entry.vault} change={entry.change ?? 0} />}
    </li>
  );
}

/** An error's code in words: `FILE_NOT_FOUND` is "File not found". */
const describeError = (code: string): string => (code.slice(0, 1) + code.slice(1).toLowerCase().replaceAll('_', ' ')) || 'An error';

/** Whether a person has rejected it. That is not a failure, and the text says it. */
const isRejected = ({ kind, error }: Entry): boolean => kind === 'propose' && error === 'PERMISSION_DENIED';

/** The text of an entry, with its paths as links. */
function renderText(entry: Entry): (JSX.Element | string)[] {
  const parts: (JSX.Element | string)[] = [];
  // The reason for a failure is shown on its own line.
  let rest = entry.error ? entry.text.replace(`: ${entry.error}`, '') : entry.text;
  for (const path of entry.paths) {
    const at = rest.indexOf(path);
    if (at < 0) continue;
    parts.push(rest.slice(0, at), <a key={path} href={href('note', path, { vault: entry.vault })}>{path}</a>);
    rest = rest.slice(at + path.length);
  }
  return [...parts, rest];
}

function UndoButton({ vault, change, disabled, onUndone }: { vault: string; change: number; disabled: boolean; onUndone: () => void }): JSX.Element {
  const [conflict, setConflict] = useState('');
  const [isBusy, setBusy] = useState(false);
  const undo = async (force: boolean): Promise<void> => {
    setBusy(true);
    try {
      const { change: undoChange, notices } = await api<{ change: number; notices: string[] }>('undo', { body: { vault, change, force }, query: { vault } });
      setConflict('');
      dismissNoticesAbout(`${vault} ${change}`);
      notify([`Change ${change} was undone.`, ...notices].join(' '), 'good', { label: 'Redo', run: () => void redo(vault, undoChange, onUndone) });
      onUndone();
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setConflict(error.message);
      else notifyError(error);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={disabled || isBusy} onClick={() => void undo(false)}><Icon name="undo" />Undo</button>
      {conflict && (
        <div class="banner warn" role="alert">
          <p>{conflict}</p>
          <button type="button" class="reject" disabled={disabled || isBusy} onClick={() => void undo(true)}>Undo anyway</button>
          <button type="button" onClick={() => setConflict('')}>Cancel</button>
        </div>
      )}
    </>
  );
}

/** Undoes the undoing of a change. */
async function redo(vault: string, change: number, onRedone: () => void): Promise<void> {
  try {
    await api('undo', { body: { vault, change, force: false }, query: { vault } });
    notify('The change was redone.');
    onRedone();
  } catch (error) {
    notifyError(error);
  }
}

/** The files of a change, each with its text before and after. */
export function ChangeFiles({ vault, change }: { vault: string; change: number }): JSX.Element {
  const loaded = useLoad((signal) => api<ChangeDetail>('change', { query: { vault, change }, signal }), [vault, change]);
  const detail = loaded.value;
  if (!detail) return <div class="entry-change">{loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />}</div>;
  return (
    <div class="entry-change">
      <p class="quiet">Change {detail.change}{detail.label && `, ${detail.label}`}, by {detail.actor}</p>
      {detail.files.map((file) => (
        <section key={file.path} class="card" aria-label={file.path}>
          <h3>{file.path} <span class="tag">{file.change === 'moved' ? `moved from ${file.was}` : file.change}</span></h3>
          {file.before === null && file.after === null ? <p class="quiet">{file.note || 'This is not a text file.'}</p>
            : file.before === file.after ? <p class="quiet">Its text did not change.</p>
            : <Diff name={file.path} before={file.before ?? ''} after={file.after ?? ''} />}
        </section>
      ))}
      {detail.more > 0 && <p class="quiet">And {pluralize(detail.more, 'more file')}.</p>}
    </div>
  );
}
