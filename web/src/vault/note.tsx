// A note, or another file: read, with what belongs to it at its side, or edited.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError, vaultName } from '../lib/api';
import { live } from '../lib/live';
import { href, navigate, type Route } from '../lib/router';
import { type Act, Menu } from '../lib/menu';
import { ago, complain, copyText, Empty, Failure, Icon, Loading, notify, useKeys, useTitle } from '../lib/ui';
import { Order, useValue } from '../lib/value';
import { type Drawing, renderNote } from '../note/render';
import { Base, mountBase } from './base';
import { Canvas } from './canvas';
import { drafts, dropDraft, findDraft } from './drafts';
import { Editing } from './editing';
import { files, loadFiles } from './files';
import { type Asking, Moving } from './moving';
import { rememberOpened } from './opened';
import { Panel } from './panel';
import { Properties } from './properties';
import { useSharedSelection } from './selection';
import { folderOf, kindOf, type NoteData, type Saved, titleOf } from './types';

const LOOK_MS = 2500; // between two checks whether the note has changed, while it is visible

export function NoteView({ route: now }: { route: Route }): JSX.Element {
  const path = now.path;
  const vault = vaultName();
  const [note, setNote] = useState<NoteData | null>(null);
  const [failed, fail] = useState<{ at: string; error: Error } | null>(null);
  const [turn, again] = useState(0);
  const held = useRef(note);
  held.current = note;
  const at = `${vault}/${path}`;
  const place = useRef(at);
  place.current = at;
  const order = useMemo(() => new Order(), []);
  useTitle(titleOf(path));

  // Several actions request the note: a check, a save, a ticked task. Meanwhile the person may have opened another note.
  const put = (changed: NoteData, asked?: number): boolean => {
    if (place.current !== at || !order.take(at, asked)) return false;
    setNote(changed);
    fail(null);
    return true;
  };
  const load = async ({ known = '', signal }: { known?: string; signal?: AbortSignal } = {}): Promise<NoteData | null> => {
    const asked = order.ask();
    try {
      const found = await api<NoteData>('note', { query: { path, known }, ...(signal && { signal }) });
      return !found.unchanged && put(found, asked) ? found : null;
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404 && place.current === at && order.take(at, asked);
      if (isGone && !signal) (setNote(null), fail({ at, error }));
      throw error;
    }
  };

  useEffect(() => {
    const abort = new AbortController();
    load({ signal: abort.signal }).then(
      // A name or another spelling leads here too; the address then says the path.
      (found) => found && found.path !== path && navigate(href('note', found.path, { to: now.query.get('to'), line: now.query.get('line') }), { replace: true }),
      (error) => abort.signal.aborted || (setNote(null), fail({ at, error })),
    );
    return () => abort.abort();
  }, [path, vault, turn]);

  useEffect(() => {
    const look = () => {
      const shown = held.current;
      if (document.hidden || !live.isUp() || !shown?.hash || shown.path !== path) return;
      load({ known: shown.hash }).catch(() => undefined);
    };
    // A file that came or went may be what a link of this note names.
    const follow = () => void (held.current?.path === path && load().catch(() => undefined));
    const timer = setInterval(look, LOOK_MS);
    document.addEventListener('visibilitychange', look);
    const end = files.watch(follow);
    return () => (clearInterval(timer), document.removeEventListener('visibilitychange', look), end());
  }, [path, vault]);

  useEffect(() => void (note?.path === path && rememberOpened(path)), [path, note?.path]);

  const error = failed?.at === at ? failed.error : null;
  if (error) return error instanceof ApiError && error.status === 404 ? <Missing path={path} again={() => again(turn + 1)} /> : <Failure error={error} retry={() => again(turn + 1)} />;
  if (!note || note.path !== path) return <div class="note-layout"><div class="note-page"><div class="note-heading"><Crumbs path={path} /></div><h1 class="note-title" dir="auto">{titleOf(path)}</h1><Loading /></div></div>;
  return <Shown key={path} note={note} now={now} put={put} load={load} />;
}

function Missing({ path, again }: { path: string; again: () => void }): JSX.Element {
  const vault = vaultName();
  useValue(drafts);
  const begun = findDraft(vault, path);
  const isReadOnly = useValue(files)?.readOnly ?? false;
  // A bare name goes where the app puts new notes; a note that was there comes back to its place.
  const create = async () => {
    try {
      const made = await api<Saved>('note', { body: { path: begun ? `/${path}` : path, text: begun?.text ?? '' } });
      dropDraft(vault, path);
      void loadFiles();
      navigate(href('note', made.path, { edit: 1 }), { replace: true });
      again();
    } catch (reason) {
      complain(reason);
    }
  };
  return (
    <Empty alone icon="note" title={`There is no “${titleOf(path)}” yet`}>
      <p>No file in the vault is called <strong dir="auto">{path}</strong>. It may have been moved, renamed or deleted.</p>
      {begun && <p role="status">Your unsaved text is kept: create the note with it, or copy what you need.</p>}
      {begun && <textarea class="begun" readOnly rows={8} aria-label="Your unsaved text" value={begun.text} />}
      <p class="buttons">
        {!isReadOnly && (kindOf(path) === 'note' || !/\.\w{1,5}$/.test(path)) && <button type="button" class="accept" onClick={() => void create()}>{begun ? 'Create it with my text' : 'Create this note'}</button>}
        {begun && <button type="button" class="reject" onClick={() => dropDraft(vault, path)}>Discard my text</button>}
        <a class="button" href={href('search', '', { q: titleOf(path) })}>Search for it</a>
      </p>
    </Empty>
  );
}

const CRUMBS = 3; // folders that are all named; of more, the first and the last

export function Crumbs({ path }: { path: string }): JSX.Element {
  const parts = folderOf(path).split('/').filter(Boolean);
  const leftOut = (at: number): boolean => parts.length > CRUMBS && at > 0 && at < parts.length - 1;
  return (
    <nav class="crumbs" aria-label="Place in the vault">
      <a href={href('vault')}>Vault</a>
      {parts.map((part, at) => {
        const folder = parts.slice(0, at + 1).join('/');
        // One step stands for all that are left out: the deepest of them.
        if (leftOut(at)) return leftOut(at + 1) ? null : <span key={at}><Icon name="right" /><a href={href('folder', folder)} title={folder} aria-label={`${folder}, ${at} folders in between`}>…</a></span>;
        return <span key={at}><Icon name="right" /><a href={href('folder', folder)} title={part} dir="auto">{part}</a></span>;
      })}
    </nav>
  );
}

/** Show another state of the note, or ask for the newest. */
interface Changing {
  put: (note: NoteData) => void;
  load: () => Promise<unknown>;
}

function Shown({ note, now, put, load }: { note: NoteData; now: Route } & Changing): JSX.Element {
  const { path } = note;
  const text = note.kind === 'note' || note.kind === 'canvas' || note.kind === 'base';
  const edit = text && now.query.has('edit');
  const body = useRef<HTMLDivElement>(null);
  const kept = useValue(drafts).has(`${vaultName()}/${path}`);
  const [asking, ask] = useState<Asking>('');
  const selection = useSharedSelection(note, body, edit);
  const toggle = () => (note.readOnly ? notify(note.readOnly, 'bad') : navigate(href('note', path, { edit: 1 })));
  const leave = () => navigate(href('note', path), { replace: true });
  // A link that was followed is gone, and the focus with it: it goes to what the link led to.
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById('note-title')?.focus({ preventScroll: true });
  }, []);
  useKeys({ e: () => text && !edit && toggle(), F2: () => note.readOnly || ask('move'), o: () => document.querySelector<HTMLElement>('.panel a')?.focus() });

  const saved = (result: Saved, text: string) => {
    put({ ...note, text, hash: result.hash });
    // The outline, links and properties follow from the text; the server knows them.
    load().catch(complain);
    notify(`${titleOf(path)} is saved.`, 'good', result.change === null || !isOwner() ? undefined : { label: 'Undo', run: () => void undo(result.change ?? 0) });
  };
  const undo = async (change: number) => {
    try {
      await api('undo', { body: { vault: live.hello.get()?.vault ?? '', change, force: false } });
      await load();
      notify('The change is undone.');
    } catch (reason) {
      complain(reason);
    }
  };

  const acts: Act[] = [
    { id: 'copy-link', icon: 'copy', label: 'Copy link', run: () => copyText(linkTo(path), `${linkTo(path)} is copied.`) },
    ...(text ? [{ icon: 'graph' as const, label: 'Show in the graph', href: href('graph', path) }] : []),
    ...(note.obsidian ? [{ id: 'open-in-app', icon: 'out' as const, label: 'Open in Obsidian', href: note.obsidian }] : []),
    ...(note.readOnly ? [] : [
      { id: 'rename', icon: 'move' as const, label: 'Rename or move…', keys: 'F2', run: () => ask('move') },
      { id: 'delete', icon: 'trash' as const, label: 'Delete…', bad: true, run: () => ask('delete') },
    ]),
  ];

  return (
    <div class={`note-layout${edit || note.kind === 'canvas' ? ' wide' : ''}`} data-kind={note.kind}>
      <article class="note-page" aria-labelledby="note-title">
        <header class="note-head">
          <div class="note-heading">
            <Crumbs path={path} />
            <div class="note-tools">
              {selection.mention && !edit && <button type="button" id="mention" onClick={selection.mention} title="Mention this to the connected assistant"><Icon name="at" /> <span>{selection.label}</span></button>}
              {text && !edit && !note.readOnly && <button type="button" id="edit" onClick={toggle} title="Edit the text (E)"><Icon name="edit" /> <span>Edit</span></button>}
              {!edit && <Menu label="More about this file" acts={acts} />}
            </div>
          </div>
          <h1 id="note-title" class="note-title" tabIndex={-1} dir="auto">{titleOf(path)}</h1>
          <p class="quiet note-facts"><time dateTime={new Date(note.modified * 1000).toISOString()}>Changed {ago(note.modified)}</time>{note.readOnly && text ? ' · read-only' : ''}{text && live.state.get().word === 'connected' && <> · <a href={href('activity', '', { note: path })}>History</a></>}{kept && !edit ? ' · ' : ''}{kept && !edit && <a href={href('note', path, { edit: 1 })}>You have unsaved changes</a>}</p>
        </header>
        {edit ? <Editing note={note} onSaved={saved} onLeave={leave} /> : <Content note={note} now={now} body={body} load={load} undo={undo} />}
      </article>
      {text && !edit && note.kind !== 'canvas' && <Panel note={note} />}
      <Moving note={note} asking={asking} onClose={() => ask('')} />
    </div>
  );
}

interface Reading {
  note: NoteData;
  now: Route;
  body: { current: HTMLDivElement | null };
  load: Changing['load'];
  undo: (change: number) => Promise<void>;
}

function Content({ note, now, body, load, undo }: Reading): JSX.Element {
  const { path } = note;
  switch (note.kind) {
    case 'note':
      return (
        <>
          <Properties note={note} />
          {note.problems.map((problem) => <p key={`${problem.line}${problem.message}`} class="note-problem"><Icon name="warning" /><span>{problem.message.startsWith('Line ') ? '' : `Line ${problem.line}: `}{problem.message}</span></p>)}
          <Body note={note} now={now} body={body} load={load} undo={undo} />
        </>
      );
    case 'base':
      return <Base path={path} block={0} view={now.query.get('view') ?? ''} onView={(view) => navigate(href('note', path, { view }))} />;
    case 'canvas':
      return <Canvas key={note.hash} path={path} />;
    case 'image':
      return <figure class="attachment"><img src={note.media ?? ''} alt={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'audio':
      return <figure class="attachment"><audio controls src={note.media ?? ''} aria-label={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'video':
      return <figure class="attachment"><video controls src={note.media ?? ''} aria-label={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'pdf':
      return <div class="attachment pdf"><iframe src={note.media ?? ''} title={titleOf(path)} /><Download note={note} /></div>;
    case 'text':
      return <div class="attachment"><pre class="md-code" tabIndex={0}>{note.text}</pre><Download note={note} /></div>;
    default:
      return <Empty icon="file" title="This file cannot be shown here"><Download note={note} /></Empty>;
  }
}

function Download({ note }: { note: NoteData }): JSX.Element {
  const size = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
  const shown = note.size < 1024 ? `${note.size} bytes` : note.size < 1024 ** 2 ? `${size.format(note.size / 1024)} KB` : `${size.format(note.size / 1024 ** 2)} MB`;
  return <p class="quiet"><a href={note.media ?? ''} download={note.path.split('/').at(-1) ?? ''}>Save a copy</a> · {shown}</p>;
}

function Body({ note, now, body, load, undo }: Reading): JSX.Element {
  const tick = async (path: string, line: number, hash: string) => {
    try {
      const done = await api<Saved>('task', { body: { path, line, expected: hash } });
      notify('The task is changed.', 'good', done.change === null || !isOwner() ? undefined : { label: 'Undo', run: () => void undo(done.change ?? 0) });
    } catch (error) {
      complain(error);
    }
    // Also after a refusal: the page then shows what the note says now.
    await load().catch(() => undefined);
  };
  const drawing = useRef<Drawing | null>(null);
  const leads = Object.entries(note.links).map(([target, { path }]) => `${target}>${path}`).join('|');
  useLayoutEffect(() => {
    const node = body.current;
    if (!node) return undefined;
    const mounted: (() => void)[] = [];
    const focused = node.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.task : undefined;
    const seen = lastSeen(node);
    drawing.current = renderNote(node, note, {
      depth: 0,
      around: [note.path],
      tick: (path, line, hash) => void tick(path, line, hash),
      base: (place, path, block, view) => mounted.push(mountBase(place, path, block, view, note.path)),
    });
    // What was visible is back before the page is laid out, so that it does not jump.
    drawing.current.reach(Math.max(seen, Number(focused ?? 0)));
    if (focused) node.querySelector<HTMLElement>(`[data-task="${CSS.escape(focused)}"]`)?.focus();
    return () => (drawing.current?.end(), mounted.forEach((end) => end()));
  }, [note.text, note.hash, note.path, leads]);

  const [to, line] = [now.query.get('to'), now.query.get('line')];
  useLayoutEffect(() => {
    const wanted = line ? Number(line) : to ? findLine(note, to) : 0;
    if (!wanted) return;
    drawing.current?.reach(wanted);
    const places = [...(body.current?.querySelectorAll<HTMLElement>('[data-line]') ?? [])].filter((element) => !element.closest('.md-embed'));
    const place = places.findLast((element) => Number(element.dataset.line) <= wanted) ?? places[0];
    const aim = (): void => place?.scrollIntoView({ block: line ? 'center' : 'start' });
    aim();
    place?.classList.add('md-found');
    document.getElementById('note-title')?.focus({ preventScroll: true });
    // What comes into sight in a long note may turn out to be higher or lower than it seemed.
    const frame = requestAnimationFrame(aim);
    return () => (cancelAnimationFrame(frame), place?.classList.remove('md-found'));
  }, [to, line, note.path]);
  const empty = !note.text.replace(/\r\n?/g, '\n').split('\n').slice(note.bodyLine - 1).join('').trim();
  return (
    <>
      <div class="note-body" ref={body} />
      {empty && <p class="quiet">This note has no text yet. {!note.readOnly && <a href={href('note', note.path, { edit: 1 })}>Write something</a>}</p>}
    </>
  );
}

/** A link to a file as a person writes it into a note: by its name where no other file has it. */
function linkTo(path: string): string {
  const name = titleOf(path);
  const written = kindOf(path) === 'note' ? path.replace(/\.md$/i, '') : path;
  const alike = (files.get()?.paths ?? []).filter((file) => titleOf(file).toLowerCase() === name.toLowerCase());
  if (/[[\]#^|]/.test(written)) return `[${name.replace(/[[\]]/g, '')}](${path.split('/').map(encodeURIComponent).join('/')})`;
  return `[[${alike.length > 1 ? written : (written.split('/').at(-1) ?? written)}]]`;
}

/** The line of the first block of a note that is below what is in sight, or of the last; 0 when it is not drawn yet. */
function lastSeen({ children }: HTMLElement): number {
  let [low, high] = [0, children.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((children[middle]?.getBoundingClientRect().top ?? 0) < innerHeight) low = middle + 1;
    else high = middle;
  }
  const lineOf = (block: Element | undefined): number => Number(block?.closest<HTMLElement>('[data-line]')?.dataset.line ?? block?.querySelector<HTMLElement>('[data-line]')?.dataset.line ?? 0);
  // Some blocks have no line, such as footnotes.
  let at = Math.min(low, children.length - 1);
  while (at > 0 && !lineOf(children[at])) at--;
  return lineOf(children[at]);
}

/** Whether the page may undo: a token other than the bridge's own may not. */
const isOwner = (): boolean => live.state.get().word === 'connected';

const plain = (text: string): string => text.replace(/[#*_`[\]|^:%\\]/g, ' ').replace(/\s+/g, ' ').trim().toLowerCase();

/** The line of a heading, or of a block, that a link names. */
function findLine(note: NoteData, to: string): number {
  if (to.startsWith('^')) return note.blocks[to.slice(1)] ?? 0;
  const steps = to.split('#').map(plain);
  let at = 0;
  let line = 0;
  for (const heading of note.outline) {
    if (plain(heading.text) !== steps[at]) continue;
    line = heading.line;
    if (++at === steps.length) return line;
  }
  return line;
}
