// A change that an assistant proposes, within a chat: what it would do, and the person's decision.
//
// The decision is sent with a code that only this view got, so it counts as a person's. Buttons therefore act on a
// real press alone, and not in the first moment: what appears under a finger that is on its way must not be decided.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { plural } from '../lib/ui';
import { UNSEEN } from '../lib/unseen';
import { why } from '../review/words';
import { shownIn, textOf, type ToolResult } from './host';
import { start, Trouble, type ViewProps, Words } from './parts';

const DECIDE = 'obsidian_decide_proposal';
const SETTLE_MS = 500; // before the buttons act

interface Hunk {
  old: number;
  new: number;
  lines: string[];
}

interface ProposedFile {
  path: string;
  was: string;
  change: 'created' | 'changed' | 'moved' | 'deleted';
  conflict?: string;
  fits?: boolean;
  text?: string;
  hunks?: Hunk[];
  size?: number;
}

interface Proposed {
  id: string;
  status: string;
  assistant: string;
  tool: string;
  label: string;
  reason: string;
  files: ProposedFile[];
  moreFiles: number;
  notices: string[];
  conflict: string;
  rebased: number;
  /** For the decision; missing when it has been made, or cannot be made here. */
  code?: string;
  whole?: boolean;
  said?: string;
  change?: number;
  undo?: string;
  message?: string;
}

interface Draft {
  text?: string;
  without?: ReadonlySet<number>;
}

const DEEDS = { created: 'new', changed: 'changed', moved: 'moved', deleted: 'deleted' };

function Review({ host, input, result }: ViewProps): JSX.Element {
  const [proposed, setProposed] = useState(() => shownIn<Proposed>(result, 'review'));
  const [isBusy, setBusy] = useState(false);
  const [isReady, setReady] = useState(false);
  const [trouble, setTrouble] = useState('');
  const [done, setDone] = useState('');
  const [drafts, setDrafts] = useState<ReadonlyMap<string, Draft>>(new Map());
  const [editing, setEditing] = useState('');
  const [reason, setReason] = useState<string | null>(null);
  const code = proposed?.code ?? '';
  const settled = `${code} ${proposed?.files.length}`;
  useEffect(() => {
    setReady(false);
    const timer = setTimeout(() => setReady(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [settled]);
  const decide = async (action: string, more: Record<string, unknown> = {}): Promise<Proposed | null> => shownIn<Proposed>(await host.call(DECIDE, { id: proposed?.id, code, action, ...more }), 'review');
  useEffect(() => {
    // An old conversation shows old answers: request the current state once.
    if (code && host.can('serverTools')) decide('look').then((now) => now && setProposed(now), (error: Error) => setTrouble(error.message));
  }, []);
  if (!proposed) return <Outcome result={result} />;

  const files = decisions(proposed.files, drafts);
  const isEdited = files.some(({ text }) => text !== undefined);
  const left = countTaken(proposed.files, drafts);
  const canDecide = code !== '' && host.can('serverTools');
  const canAccept = canDecide && proposed.whole === true && left.taken > 0 && (!proposed.conflict || isEdited);
  const act = (action: 'accept' | 'reject') => (event: Event): void => {
    if (!event.isTrusted || isBusy || !isReady) return;
    setBusy(true);
    setTrouble('');
    decide(action, action === 'accept' ? (files.length ? { files } : {}) : reason ? { reason } : {}).then((now) => {
      setBusy(false);
      if (!now) return;
      setProposed(now);
      if (now.status === 'waiting') setTrouble(now.message ?? '');
      else {
        setDone(now.message ?? '');
        host.tellModel(`The person decided on ${now.id} in this conversation: ${now.said ?? now.status}.`);
      }
      if (now.status !== 'waiting' || now.code !== code) setDrafts(new Map()), setEditing(''), setReason(null);
    }, (error: Error) => (setBusy(false), setTrouble(error.message)));
  };
  const undo = (event: Event): void => {
    if (!event.isTrusted || isBusy) return;
    setBusy(true);
    const vault = typeof input.vault === 'string' ? { vault: input.vault } : {};
    host.call(proposed.undo ?? '', { id: proposed.change, ...vault }).then(() => {
      setBusy(false);
      setDone('Undone: the notes are as they were.');
      setProposed({ ...proposed, undo: '', said: 'accepted, and undone' });
      host.tellModel(`The person undid change ${proposed.change} (${proposed.id}).`);
    }, (error: Error) => (setBusy(false), setTrouble(error.message)));
  };
  const put = (path: string, draft: Draft | null): void => {
    const next = new Map(drafts);
    if (draft) next.set(path, draft);
    else next.delete(path);
    setDrafts(next);
  };
  const label = isEdited ? 'Accept my version' : left.taken < left.all ? `Accept ${left.taken} of ${plural(left.all, 'change')}` : 'Accept';
  const [first] = proposed.files;
  const count = proposed.files.length + proposed.moreFiles;
  return (
    <main>
      <h1>{proposed.status === 'waiting' ? 'Proposed: ' : ''}{proposed.label || proposed.tool} {count === 1 && first ? nameOfChange(first) : plural(count, 'file')}</h1>
      <p class="quiet">{proposed.assistant} asks with {proposed.tool}. {proposed.status === 'waiting' && `It waits because ${why(proposed.reason)}.`}</p>
      {proposed.status !== 'waiting' && <p class="decided" role="status">{done || capital(proposed.said ?? proposed.status)}</p>}
      {proposed.status !== 'waiting' && proposed.undo && host.can('serverTools') && <button type="button" disabled={isBusy} onClick={undo}>Undo</button>}
      {proposed.conflict && <p class="trouble" role="alert">{proposed.conflict} Edit it to keep what you want, or reject it.</p>}
      {!proposed.conflict && proposed.rebased > 0 && proposed.status === 'waiting' && <p class="banner">A note has changed since this was proposed; what was written in the meantime is kept.</p>}
      {proposed.notices.map((text) => <p key={text} class="banner">{text}</p>)}
      {proposed.files.map((file) => (
        <File key={file.path} file={file} draft={drafts.get(file.path)} put={(draft) => put(file.path, draft)} isOpen={canDecide} isEditing={editing === file.path} edit={(on) => setEditing(on ? file.path : '')} />
      ))}
      {proposed.moreFiles > 0 && <p class="quiet">And {plural(proposed.moreFiles, 'more file')} that {proposed.moreFiles === 1 ? 'is' : 'are'} not shown.</p>}
      <Trouble>{trouble}</Trouble>
      {proposed.status === 'waiting' && (canDecide
        ? (
          <div class="actions">
            <button type="button" class="accept" disabled={!canAccept || isBusy || !isReady} onClick={act('accept')}>{label}</button>
            <button type="button" class="reject" disabled={isBusy || !isReady} onClick={act('reject')}>Reject</button>
            {reason === null ? <button type="button" class="link" onClick={() => setReason('')}>Say why</button> : <input type="text" aria-label="Why you reject it" placeholder="Why you reject it" maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}
            {!proposed.whole && <p class="quiet">This change is too long to be shown here: accept it on the page or in Obsidian.</p>}
            {left.taken === 0 && <p class="quiet">No change is left: reject it instead.</p>}
          </div>
        )
        : <p class="quiet">Decide on vaultbridge’s page, in Obsidian, or in a terminal with <code>vaultbridge diffs</code>.</p>)}
    </main>
  );
}

/** A call that changed something at once, or only showed what it would do. */
function Outcome({ result }: { result: ToolResult }): JSX.Element {
  const text = textOf(result);
  const data = readEnvelope(text);
  if (!data) return <Words text={text} />;
  if (typeof data.diff === 'string') return <main><h1>What would change</h1><Words text={data.diff} /></main>;
  if (data.status === 'pending') return <p class="quiet">{String(data.id)} waits for a decision: on vaultbridge’s page, in Obsidian, or in a terminal with <code>vaultbridge diffs</code>.</p>;
  const what = typeof data.path === 'string' ? data.path : 'The vault';
  return <p class="decided" role="status">{typeof data.change === 'number' ? `${what} was changed (change ${data.change}).` : `${what} is as it was.`}</p>;
}

function readEnvelope(text: string): Record<string, unknown> | null {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

interface FileProps {
  file: ProposedFile;
  draft: Draft | undefined;
  put: (draft: Draft | null) => void;
  isOpen: boolean;
  isEditing: boolean;
  edit: (on: boolean) => void;
}

function File({ file, draft, put, isOpen, isEditing, edit }: FileProps): JSX.Element {
  const hunks = file.hunks ?? [];
  const editable = isOpen && file.text !== undefined && (file.change === 'changed' || file.change === 'created');
  const isOwn = draft?.text !== undefined && draft.text !== file.text;
  const flip = (i: number): void => {
    const without = new Set(draft?.without);
    if (!without.delete(i)) without.add(i);
    put(without.size ? { without } : null);
  };
  return (
    <section class="file" aria-label={file.path}>
      <header>
        <h2>{file.path}</h2>
        <span class="tag">{isOwn ? 'edited by you' : file.change === 'moved' ? `moved from ${file.was}` : DEEDS[file.change]}</span>
        {editable && <button type="button" class="small" aria-pressed={isEditing} onClick={() => (isEditing || put({ text: draft?.text ?? file.text ?? '' }), edit(!isEditing))}>{isEditing ? 'Done editing' : isOwn ? 'Edit again' : 'Edit first'}</button>}
        {draft?.text !== undefined && <button type="button" class="small" onClick={() => (put(null), edit(false))}>Discard my edit</button>}
      </header>
      {file.conflict && <p class="trouble">{file.conflict}</p>}
      {isEditing ? <textarea aria-label={`The new text of ${file.path}`} rows={12} spellcheck={false} value={draft?.text ?? ''} onInput={(event) => put({ text: event.currentTarget.value })} />
        : isOwn ? <Words text={draft?.text ?? ''} />
        : file.fits === false ? <p class="quiet">Too long to be shown here.</p>
        : file.size !== undefined ? <p class="quiet">{file.change === 'deleted' ? 'This file would be deleted.' : `Not a text: ${plural(file.size, 'byte')}.`}</p>
        : file.change === 'moved' && !hunks.length ? <p class="quiet">Its text stays the same.</p>
        : hunks.map((hunk, i) => (
          <div key={i} class={draft?.without?.has(i) ? 'hunk left-out' : 'hunk'}>
            {hunks.length > 1 && <label class="hunk-head"><input type="checkbox" disabled={!editable} checked={!draft?.without?.has(i)} onChange={() => flip(i)} />Take the change at line {hunk.new}</label>}
            <div class="diff" tabIndex={0} role="group" aria-label={`Change at line ${hunk.new}`}>
              {hunk.lines.map((line, n) => <Line key={n} line={line} />)}
            </div>
          </div>
        ))}
    </section>
  );
}

function Line({ line }: { line: string }): JSX.Element {
  const [sign, text] = [line[0], line.slice(1)];
  if (sign === '+') return <ins class="line">{seen(text)}</ins>;
  if (sign === '-') return <del class="line">{seen(text)}</del>;
  return <div class="line">{seen(text)}</div>;
}

/** The text, with what cannot be seen made visible: such characters change what a line means. */
function seen(text: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  let at = 0;
  for (const found of text.matchAll(UNSEEN)) {
    parts.push(text.slice(at, found.index), <span class="unseen" title="A character that cannot be seen">U+{found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}</span>);
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at) || (parts.length ? '' : '\u00a0')];
}

const isText = (file: ProposedFile): boolean => file.text !== undefined && (file.change === 'changed' || file.change === 'created');

interface FileDecision {
  path: string;
  text?: string;
  hunks?: number[];
  skip?: boolean;
}

function decisions(files: ProposedFile[], drafts: ReadonlyMap<string, Draft>): FileDecision[] {
  return files.flatMap((file): FileDecision[] => {
    const draft = drafts.get(file.path);
    const count = file.hunks?.length ?? 0;
    if (!draft || !isText(file)) return [];
    if (draft.text !== undefined) return draft.text === file.text ? [] : [{ path: file.path, text: draft.text }];
    if (!draft.without?.size) return [];
    return [draft.without.size === count ? { path: file.path, skip: true } : { path: file.path, hunks: [...Array(count).keys()].filter((i) => !draft.without?.has(i)) }];
  });
}

/** How many of all changes are taken: each hunk is one, and so is a file without hunks. */
function countTaken(files: ProposedFile[], drafts: ReadonlyMap<string, Draft>): { all: number; taken: number } {
  let [all, taken] = [0, 0];
  for (const file of files) {
    const count = Math.max(1, file.hunks?.length ?? 0);
    all += count;
    taken += count - (drafts.get(file.path)?.without?.size ?? 0);
  }
  return { all, taken };
}

const nameOfChange = (file: ProposedFile): string => (file.change === 'moved' && file.was ? `${file.was} → ${file.path}` : file.path);
const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

start('review', 'The change is being prepared…', Review);
