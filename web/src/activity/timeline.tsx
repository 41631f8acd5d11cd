// What assistants read and changed, newest first, with the diff of each change and a button to undo it.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../lib/api';
import { Diff } from '../lib/diff';
import { live } from '../lib/live';
import { href, navigate, type Route } from '../lib/router';
import { complain, dismissAbout, Empty, Failure, Icon, type IconName, Loading, notify, plural, useLoad } from '../lib/ui';
import { Order, useValue } from '../lib/value';
import { waiting } from '../review/proposals';
import { known } from './known';
import { type ActivityPage, type ChangeDetail, clock, day, type Entry, FILTERS, ms, TIMES } from './model';

const PAGE = 60; // entries asked for at once
const KEPT = 2000; // entries shown at most; older ones through the filters
const TYPING_MS = 250; // after the last keystroke in a filter

const ICONS: Record<Entry['kind'], IconName> = {
  read: 'note', search: 'search', list: 'folder', change: 'edit', propose: 'review', undo: 'undo', call: 'activity', connect: 'link', disconnect: 'close', control: 'pause',
};

/** The newest first; a later entry replaces an earlier one with the same id. */
const merge = (old: Entry[], fresh: Entry[]): Entry[] =>
  [...new Map([...old, ...fresh].map((entry) => [entry.id, entry])).values()].sort((a, b) => b.at - a.at).slice(0, KEPT);

export function Timeline({ route, disabled }: { route: Route; disabled: boolean }): JSX.Element {
  const { query } = route;
  const wanted = { assistant: query.get('assistant') ?? '', kind: query.get('kind') ?? '', note: query.get('note') ?? '', time: query.get('time') ?? '' };
  const kinds = FILTERS.find(({ value }) => value === wanted.kind)?.kinds ?? [];
  const seconds = TIMES.find(({ value }) => value === wanted.time)?.seconds ?? 0;
  const asked = { assistant: wanted.assistant, kind: kinds.join(','), note: wanted.note, limit: PAGE };
  const since = (): number | null => (seconds ? Date.now() / 1000 - seconds : null);
  const [entries, set] = useState<Entry[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const arrived = useRef<Entry[]>([]); // since the list was asked for; it may not have them
  const order = useMemo(() => new Order(), []);
  const loaded = useLoad((signal) => {
    arrived.current = [];
    order.take('list'); // older entries that were asked for before belong to another filter
    return ask({ ...asked, since: since() }, signal);
  }, Object.values(wanted));
  // Before the frame is painted: without entries it would say that nothing has happened.
  useLayoutEffect(() => {
    if (loaded.state !== 'done') return;
    set(merge(loaded.value.entries, arrived.current.filter(latest.current)));
    setNext(loaded.value.next);
  }, [loaded.state, loaded.value]);
  const fits = (entry: Entry): boolean =>
    (!wanted.assistant || entry.assistant.id === wanted.assistant) && (!kinds.length || kinds.includes(entry.kind)) && (!wanted.note || entry.paths.some((path) => path === wanted.note || path.endsWith(`/${wanted.note}`)));
  const latest = useRef(fits);
  latest.current = fits;
  useEffect(() => live.on('activityAdded', ({ entries: fresh }: { entries: Entry[] }) => {
    arrived.current = [...arrived.current, ...fresh].slice(-KEPT);
    set((old) => merge(old, fresh.filter((entry) => latest.current(entry) || old.some(({ id }) => id === entry.id))));
  }), []);
  const { again } = loaded;
  useEffect(() => live.hello.watch((hello) => void (hello && again())), []);

  const older = async (): Promise<void> => {
    const turn = order.ask();
    try {
      const page = await api<ActivityPage>('activity', { query: { ...asked, since: since(), before: next, vault: '' } });
      if (!order.take('list', turn)) return;
      set((old) => [...old, ...page.entries.filter((entry) => !old.some(({ id }) => id === entry.id))].slice(0, KEPT));
      setNext(page.next);
    } catch (error) {
      complain(error);
    }
  };
  const filter = (changes: Partial<typeof wanted>): void => navigate(href('activity', '', { ...wanted, ...changes }), { replace: true });
  const isFiltered = Object.values(wanted).some(Boolean);
  const days = useMemo(() => {
    const groups: { title: string; entries: Entry[] }[] = [];
    for (const entry of entries) {
      const title = day(entry.at);
      const last = groups.at(-1);
      if (last?.title === title) last.entries.push(entry);
      else groups.push({ title, entries: [entry] });
    }
    return groups;
  }, [entries]);
  const undone = (): void => again();

  return (
    <div class="timeline">
      <Filters wanted={wanted} filter={filter} />
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={again} />}
      {loaded.state === 'loading' && !loaded.value && <Loading />}
      {loaded.value && loaded.state !== 'failed' && !entries.length && (isFiltered
        ? <Empty icon="activity" title="Nothing matches this filter"><p><button type="button" class="link" onClick={() => filter({ assistant: '', kind: '', note: '', time: '' })}>Show everything</button></p></Empty>
        : <Empty icon="activity" title="Nothing has happened yet"><p>As soon as an assistant reads, searches or changes something, it is listed here. Every change comes with its diff and an Undo button.</p><p><a href={href('settings', 'assistants')}>Connect an assistant</a></p></Empty>)}
      {days.map(({ title, entries: own }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ol>{own.map((entry) => <Line key={entry.id} entry={entry} disabled={disabled} undone={undone} />)}</ol>
        </section>
      ))}
      {next && entries.length > 0 && <button type="button" class="older" onClick={() => void older()}>Show older</button>}
    </div>
  );
}

/** The entries that fit; none when the note that is being typed does not exist (yet). */
async function ask(query: Record<string, string | number | null>, signal: AbortSignal): Promise<ActivityPage> {
  try {
    return await api<ActivityPage>('activity', { query: { ...query, vault: '' }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && query.note) return { entries: [], next: null, newest: null, remembers: 0 };
    throw error;
  }
}

interface Wanted {
  assistant: string;
  kind: string;
  note: string;
  time: string;
}

function Filters({ wanted, filter }: { wanted: Wanted; filter: (changes: Partial<Wanted>) => void }): JSX.Element {
  const all = useValue(known)?.assistants ?? [];
  const [note, setNote] = useState(wanted.note);
  useEffect(() => setNote(wanted.note), [wanted.note]);
  useEffect(() => {
    const timer = setTimeout(() => note !== wanted.note && filter({ note }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [note]);
  return (
    <form class="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <label>What <select value={wanted.kind} onChange={(event) => filter({ kind: event.currentTarget.value })}>
        {FILTERS.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
      </select></label>
      <label>Who <select value={wanted.assistant} onChange={(event) => filter({ assistant: event.currentTarget.value })}>
        <option value="">Everybody</option>
        {all.map((assistant) => <option key={assistant.id} value={assistant.id}>{assistant.name}{assistant.connected ? '' : ' (gone)'}</option>)}
        {wanted.assistant && !all.some(({ id }) => id === wanted.assistant) && <option value={wanted.assistant}>{wanted.assistant}</option>}
      </select></label>
      <label>When <select value={wanted.time} onChange={(event) => filter({ time: event.currentTarget.value })}>
        {TIMES.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
      </select></label>
      <label>Note <input type="search" value={note} placeholder="Projects/Plan.md" autocomplete="off" spellcheck={false} onInput={(event) => setNote(event.currentTarget.value)} /></label>
    </form>
  );
}

function Line({ entry, disabled, undone }: { entry: Entry; disabled: boolean; undone: () => void }): JSX.Element {
  const [open, setOpen] = useState(false);
  const hasChange = entry.change !== null && entry.change > 0;
  const isWaiting = useValue(waiting).some(({ id }) => id === entry.proposal);
  return (
    <li class="entry" data-kind={entry.kind} data-ok={entry.ok || isRejected(entry)}>
      <time dateTime={new Date(entry.at * 1000).toISOString()}>{clock(entry.at)}</time>
      <Icon name={ICONS[entry.kind] ?? 'activity'} />
      <div class="entry-words">
        <p><strong>{entry.assistant.name}</strong> {worded(entry)}</p>
        {!entry.ok && !isRejected(entry) && <p class="entry-bad">{entry.error === 'PAUSED' ? 'You had paused it.' : `${reason(entry.error)}.`}</p>}
        {entry.undoneBy !== null && <p class="quiet">Undone by change {entry.undoneBy}.</p>}
      </div>
      <div class="entry-acts">
        {entry.ms !== null && <span class="quiet entry-ms">{ms(entry.ms)}</span>}
        {entry.proposal && (isWaiting ? <a class="button" href={href('review', entry.proposal)}>Review</a> : <a class="button" href={href('review', '', { show: 'decided' })}>Decided</a>)}
        {hasChange && <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Hide' : 'Show'} the change</button>}
        {hasChange && entry.canUndo && <Undo vault={entry.vault} change={entry.change ?? 0} disabled={disabled} done={undone} />}
      </div>
      {open && hasChange && <Shown vault={entry.vault} change={entry.change ?? 0} />}
    </li>
  );
}

/** A person has said no: that is no failure, and the words say it. */
/** An error's code as words: `FILE_NOT_FOUND` is "File not found". */
const reason = (code: string): string => (code.slice(0, 1) + code.slice(1).toLowerCase().replaceAll('_', ' ')) || 'An error';

const isRejected = ({ kind, error }: Entry): boolean => kind === 'propose' && error === 'PERMISSION_DENIED';

/** The words of an entry, with its first paths as links. */
function worded(entry: Entry): (JSX.Element | string)[] {
  const parts: (JSX.Element | string)[] = [];
  // The reason of a failure has a line of its own.
  let rest = entry.error ? entry.words.replace(`: ${entry.error}`, '') : entry.words;
  for (const path of entry.paths) {
    const at = rest.indexOf(path);
    if (at < 0) continue;
    parts.push(rest.slice(0, at), <a key={path} href={href('note', path, { vault: entry.vault })}>{path}</a>);
    rest = rest.slice(at + path.length);
  }
  return [...parts, rest];
}

export function Undo({ vault, change, disabled, done }: { vault: string; change: number; disabled: boolean; done: () => void }): JSX.Element {
  const [clash, setClash] = useState('');
  const [busy, setBusy] = useState(false);
  const run = async (force: boolean): Promise<void> => {
    setBusy(true);
    try {
      const { change: number, notices } = await api<{ change: number; notices: string[] }>('undo', { body: { vault, change, force }, query: { vault } });
      setClash('');
      dismissAbout(`${vault} ${change}`);
      notify([`Change ${change} is undone.`, ...notices].join(' '), 'good', { label: 'Redo', run: () => void redo(vault, number, done) });
      done();
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) setClash(error.message);
      else complain(error);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={disabled || busy} onClick={() => void run(false)}><Icon name="undo" />Undo</button>
      {clash && (
        <div class="banner warn" role="alert">
          <p>{clash}</p>
          <button type="button" class="reject" disabled={disabled || busy} onClick={() => void run(true)}>Undo anyway</button>
          <button type="button" onClick={() => setClash('')}>Leave it</button>
        </div>
      )}
    </>
  );
}

async function redo(vault: string, change: number, done: () => void): Promise<void> {
  try {
    await api('undo', { body: { vault, change, force: false }, query: { vault } });
    notify('Done again.');
    done();
  } catch (error) {
    complain(error);
  }
}

/** The texts of a change, before and after. */
export function Shown({ vault, change }: { vault: string; change: number }): JSX.Element {
  const loaded = useLoad((signal) => api<ChangeDetail>('change', { query: { vault, change }, signal }), [vault, change]);
  const detail = loaded.value;
  if (!detail) return <div class="entry-change">{loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading />}</div>;
  return (
    <div class="entry-change">
      <p class="quiet">Change {detail.change}{detail.label && `, ${detail.label}`}, by {detail.actor}</p>
      {detail.files.map((file) => (
        <section key={file.path} class="card" aria-label={file.path}>
          <h3>{file.path} <span class="tag">{file.change === 'moved' ? `moved from ${file.was}` : file.change}</span></h3>
          {file.before === null && file.after === null ? <p class="quiet">{file.note || 'Not a text.'}</p>
            : file.before === file.after ? <p class="quiet">Its text did not change.</p>
            : <Diff name={file.path} before={file.before ?? ''} after={file.after ?? ''} />}
        </section>
      ))}
      {detail.more > 0 && <p class="quiet">And {plural(detail.more, 'more file')}.</p>}
    </div>
  );
}
