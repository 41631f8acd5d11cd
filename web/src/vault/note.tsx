// The view of a file: it loads a note or another file, keeps it up to date, and shows it for reading or editing.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, ApiError, getVaultName } from '../lib/api';
import { formatAgo } from '../lib/format';
import { useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { useKeys } from '../lib/keys';
import { live } from '../lib/live';
import { Menu, type MenuItem } from '../lib/menu';
import { copyText, notify, notifyError } from '../lib/notices';
import { kindOf, titleOf } from '../lib/paths';
import { RequestOrder } from '../lib/request-order';
import { href, navigate, type Route } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { Breadcrumbs } from './breadcrumbs';
import { discardDraft, useDraft } from './drafts';
import { FileDialog, type FileAction } from './file-dialog';
import { files, loadFiles } from './files';
import type { NoteData, Saved } from './model';
import { NoteContent } from './note-content';
import { Panel } from './panel';
import { addRecentNote } from './recent';
import { useSharedSelection } from './selection';
import { SourceEditor } from './source-editor';
import { makeUndoAction } from './undo';

const POLL_MS = 2500; // between two checks whether the note has changed, while it is visible

export function NoteView({ route }: { route: Route }): JSX.Element {
  const { path } = route;
  const vault = getVaultName();
  const [note, setNote] = useState<NoteData | null>(null);
  const [failure, setFailure] = useState<{ key: string; error: Error } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const latestNote = useRef(note);
  latestNote.current = note;
  const key = `${vault}/${path}`;
  const latestKey = useRef(key);
  latestKey.current = key;
  const order = useMemo(() => new RequestOrder(), []);
  useTitle(titleOf(path));

  // Polling, saving and ticking a task all request the note, and by the time of the answer another one may be open.
  const update = (changed: NoteData, started?: number): boolean => {
    if (latestKey.current !== key || !order.accept(key, started)) return false;
    setNote(changed);
    setFailure(null);
    return true;
  };
  const load = async ({ known = '', signal }: { known?: string; signal?: AbortSignal } = {}): Promise<NoteData | null> => {
    const started = order.start();
    try {
      const loaded = await api<NoteData>('note', { query: { path, known }, ...(signal && { signal }) });
      return !loaded.unchanged && update(loaded, started) ? loaded : null;
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404 && latestKey.current === key && order.accept(key, started);
      if (isGone && !signal) (setNote(null), setFailure({ key, error }));
      throw error;
    }
  };

  useEffect(() => {
    const abort = new AbortController();
    load({ signal: abort.signal }).then(
      // A bare name or another spelling leads here too; the address then changes to the path.
      (loaded) => loaded && loaded.path !== path && navigate(href('note', loaded.path, { to: route.query.get('to'), line: route.query.get('line') }), { replace: true }),
      (error) => abort.signal.aborted || (setNote(null), setFailure({ key, error })),
    );
    return () => abort.abort();
  }, [path, vault, attempt]);

  useEffect(() => {
    const poll = () => {
      const shown = latestNote.current;
      if (document.hidden || !live.isReachable() || !shown?.hash || shown.path !== path) return;
      load({ known: shown.hash }).catch(() => undefined);
    };
    // A link in this note may lead to a file that was just created, or deleted.
    const handleFiles = () => void (latestNote.current?.path === path && load().catch(() => undefined));
    const timer = setInterval(poll, POLL_MS);
    document.addEventListener('visibilitychange', poll);
    const unsubscribe = files.subscribe(handleFiles);
    return () => (clearInterval(timer), document.removeEventListener('visibilitychange', poll), unsubscribe());
  }, [path, vault]);

  useEffect(() => void (note?.path === path && addRecentNote(path)), [path, note?.path]);

  const error = failure?.key === key ? failure.error : null;
  const retry = (): void => setAttempt(attempt + 1);
  if (error) return error instanceof ApiError && error.status === 404 ? <MissingNote path={path} onCreated={retry} /> : <Failure error={error} retry={retry} />;
  if (!note || note.path !== path) return <div class="note-layout"><div class="note-page"><div class="note-heading"><Breadcrumbs path={path} /></div><h1 class="note-title" dir="auto">{titleOf(path)}</h1><Loading /></div></div>;
  return <NotePage key={path} note={note} route={route} update={update} reload={load} />;
}

function MissingNote({ path, onCreated }: { path: string; onCreated: () => void }): JSX.Element {
  const vault = getVaultName();
  const draft = useDraft(vault, path);
  const isReadOnly = useStore(files)?.readOnly ?? false;
  // A bare name goes where Obsidian puts new notes; a note that was deleted goes back where it was.
  const create = async () => {
    try {
      const created = await api<Saved>('note', { body: { path: draft ? `/${path}` : path, text: draft?.text ?? '' } });
      discardDraft(vault, path);
      void loadFiles();
      navigate(href('note', created.path, { edit: 1 }), { replace: true });
      onCreated();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <EmptyState standalone icon="note" title={`There is no “${titleOf(path)}” yet`}>
      <p>No file in the vault is called <strong dir="auto">{path}</strong>. It may have been moved, renamed or deleted.</p>
      {draft && <p role="status">Your unsaved text is still here: create the note with it, or copy what you need.</p>}
      {draft && <textarea class="draft" readOnly rows={8} aria-label="Your unsaved text" value={draft.text} />}
      <p class="buttons">
        {!isReadOnly && (kindOf(path) === 'note' || !/\.\w{1,5}$/.test(path)) && <button type="button" class="accept" onClick={() => void create()}>{draft ? 'Create it with my text' : 'Create this note'}</button>}
        {draft && <button type="button" class="reject" onClick={() => discardDraft(vault, path)}>Discard my text</button>}
        <a class="button" href={href('search', '', { q: titleOf(path) })}>Search for it</a>
      </p>
    </EmptyState>
  );
}

interface NotePageProps {
  note: NoteData;
  route: Route;
  /** Shows another state of the note. */
  update: (note: NoteData) => void;
  /** Requests the current state of the note. */
  reload: () => Promise<unknown>;
}

function NotePage({ note, route, update, reload }: NotePageProps): JSX.Element {
  const { path } = note;
  const isText = note.kind === 'note' || note.kind === 'canvas' || note.kind === 'base';
  const isEditing = isText && route.query.has('edit');
  const body = useRef<HTMLDivElement>(null);
  const hasDraft = useDraft(getVaultName(), path) !== undefined;
  const [action, setAction] = useState<FileAction | null>(null);
  const selection = useSharedSelection(note, body, isEditing);
  const edit = () => (note.readOnly ? notify(note.readOnly, 'bad') : navigate(href('note', path, { edit: 1 })));
  const leaveEditor = () => navigate(href('note', path), { replace: true });
  // The link that led here is gone, and with it the focus: the title takes it.
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById('note-title')?.focus({ preventScroll: true });
  }, []);
  useKeys({ e: () => isText && !isEditing && edit(), F2: () => note.readOnly || setAction('move'), o: () => document.querySelector<HTMLElement>('.panel a')?.focus() });

  const handleSaved = (saved: Saved, text: string) => {
    update({ ...note, text, hash: saved.hash });
    // Outline, links and properties follow from the text, and come from the server.
    reload().catch(notifyError);
    notify(`${titleOf(path)} was saved.`, 'good', makeUndoAction(saved.change, reload));
  };

  const menu: MenuItem[] = [
    { id: 'copy-link', icon: 'copy', label: 'Copy link', run: () => copyText(makeLink(path), `${makeLink(path)} was copied.`) },
    ...(isText ? [{ icon: 'graph' as const, label: 'Show in the graph', href: href('graph', path) }] : []),
    ...(note.obsidian ? [{ id: 'open-in-app', icon: 'out' as const, label: 'Open in Obsidian', href: note.obsidian }] : []),
    ...(note.readOnly ? [] : [
      { id: 'rename', icon: 'move' as const, label: 'Rename or move…', keys: 'F2', run: () => setAction('move') },
      { id: 'delete', icon: 'trash' as const, label: 'Delete…', isDangerous: true, run: () => setAction('delete') },
    ]),
  ];

  return (
    <div class={`note-layout${isEditing || note.kind === 'canvas' ? ' wide' : ''}`} data-kind={note.kind}>
      <article class="note-page" aria-labelledby="note-title">
        <header class="note-head">
          <div class="note-heading">
            <Breadcrumbs path={path} />
            <div class="note-tools">
              {selection.mention && !isEditing && <button type="button" id="mention" onClick={selection.mention} title="Mention this to the connected assistants"><Icon name="at" /> <span>{selection.label}</span></button>}
              {isText && !isEditing && !note.readOnly && <button type="button" id="edit" onClick={edit} title="Edit the text (E)"><Icon name="edit" /> <span>Edit</span></button>}
              {!isEditing && <Menu label="More about this file" items={menu} />}
            </div>
          </div>
          <h1 id="note-title" class="note-title" tabIndex={-1} dir="auto">{titleOf(path)}</h1>
          <p class="quiet note-facts"><time dateTime={new Date(note.modified * 1000).toISOString()}>Changed {formatAgo(note.modified)}</time>{note.readOnly && isText ? ' · read-only' : ''}{isText && live.state.get().status === 'connected' && <> · <a href={href('activity', '', { note: path })}>History</a></>}{hasDraft && !isEditing && <> · <a href={href('note', path, { edit: 1 })}>You have unsaved changes</a></>}</p>
        </header>
        {isEditing ? <SourceEditor note={note} onSaved={handleSaved} onLeave={leaveEditor} /> : <NoteContent note={note} route={route} body={body} reload={reload} />}
      </article>
      {isText && !isEditing && note.kind !== 'canvas' && <Panel note={note} />}
      <FileDialog note={note} action={action} onClose={() => setAction(null)} />
    </div>
  );
}

/** A link to a file as a person would write it in a note: by its name, unless another file has the same name. */
function makeLink(path: string): string {
  const name = titleOf(path);
  const target = kindOf(path) === 'note' ? path.replace(/\.md$/i, '') : path;
  const namesakes = (files.get()?.paths ?? []).filter((file) => titleOf(file).toLowerCase() === name.toLowerCase());
  if (/[[\]#^|]/.test(target)) return `[${name.replace(/[[\]]/g, '')}](${path.split('/').map(encodeURIComponent).join('/')})`;
  return `[[${namesakes.length > 1 ? target : (target.split('/').at(-1) ?? target)}]]`;
}
