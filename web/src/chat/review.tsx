// A proposed change, in a chat: what it would do, and the person's decision.
//
// The decision is sent with a code that only this view has, so it counts as a person's. Therefore buttons react only to real
// presses, and not in the first moment: a button that appears under a finger must not decide by accident.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { pluralize } from '../lib/format';
import { formatCodePoint, INVISIBLE, INVISIBLE_TITLE } from '../lib/invisible';
import { countChanges, type FileEdit, makeFileDecision, toggleHunk } from '../review/hunks';
import { describeReason } from '../review/wording';
import { textOf, type ToolResult, viewDataOf } from './host';
import { ErrorText, startView, Text, type ViewProps } from './parts';

const DECIDE_TOOL = 'obsidian_decide_proposal';
const SETTLE_MS = 500; // before the buttons react

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

interface ProposalData {
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
  /** Required for the decision; missing if it has been made, or cannot be made here. */
  code?: string;
  whole?: boolean;
  decision?: string;
  change?: number;
  /** The code with which the person can undo an accepted change; empty if that cannot be done here. */
  undo?: string;
  message?: string;
}

const CHANGE_LABELS = { created: 'new', changed: 'changed', moved: 'moved', deleted: 'deleted' };

function Review({ host, result }: ViewProps): JSX.Element {
  const [proposal, setProposal] = useState(() => viewDataOf<ProposalData>(result, 'review'));
  const [isBusy, setBusy] = useState(false);
  const [isReady, setReady] = useState(false);
  const [error, setError] = useState('');
  const [outcome, setOutcome] = useState('');
  const [edits, setEdits] = useState<ReadonlyMap<string, FileEdit>>(new Map());
  const [editedPath, setEditedPath] = useState('');
  const [reason, setReason] = useState<string | null>(null);
  const code = proposal?.code ?? '';
  const shownKey = `${code} ${proposal?.files.length}`;
  useEffect(() => {
    setReady(false);
    const timer = setTimeout(() => setReady(true), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [shownKey]);
  const decide = async (action: string, options: Record<string, unknown> = {}): Promise<ProposalData | null> => viewDataOf<ProposalData>(await host.callTool(DECIDE_TOOL, { id: proposal?.id, code, action, ...options }), 'review');
  useEffect(() => {
    // An old conversation shows an old answer, so the current state is requested once.
    if (code && host.can('serverTools')) decide('look').then((current) => current && setProposal(current), (reason: Error) => setError(reason.message));
  }, []);
  if (!proposal) return <Outcome result={result} />;

  const files = proposal.files.map(({ path, text, hunks }) => ({ path, newText: text, hunkCount: hunks?.length ?? 0 }));
  const decisions = files.flatMap((file) => makeFileDecision(file, edits.get(file.path)) ?? []);
  const isEdited = decisions.some(({ text }) => text !== undefined);
  const { all, accepted } = countChanges(files, edits);
  const canDecide = code !== '' && host.can('serverTools');
  const canAccept = canDecide && proposal.whole === true && accepted > 0 && (!proposal.conflict || isEdited);
  const handleDecision = (action: 'accept' | 'reject') => (event: Event): void => {
    if (!event.isTrusted || isBusy || !isReady) return;
    setBusy(true);
    setError('');
    decide(action, action === 'accept' ? (decisions.length ? { files: decisions } : {}) : reason ? { reason } : {}).then((current) => {
      setBusy(false);
      if (!current) return;
      setProposal(current);
      if (current.status === 'waiting') setError(current.message ?? '');
      else {
        setOutcome(current.message ?? '');
        host.tellModel(`The person decided on ${current.id} in this conversation: ${current.decision ?? current.status}.`);
      }
      if (current.status !== 'waiting' || current.code !== code) setEdits(new Map()), setEditedPath(''), setReason(null);
    }, (reason: Error) => (setBusy(false), setError(reason.message)));
  };
  const undo = (event: Event): void => {
    if (!event.isTrusted || isBusy) return;
    setBusy(true);
    decide('undo', { code: proposal.undo }).then((current) => {
      setBusy(false);
      setOutcome(current?.message ?? '');
      setProposal({ ...proposal, undo: '', decision: 'accepted, and undone' });
      host.tellModel(`The person undid change ${proposal.change} (${proposal.id}).`);
    }, (reason: Error) => (setBusy(false), setError(reason.message)));
  };
  const setEdit = (path: string, edit: FileEdit | null): void => {
    const next = new Map(edits);
    if (edit) next.set(path, edit);
    else next.delete(path);
    setEdits(next);
  };
  const acceptLabel = isEdited ? 'Accept my version' : accepted < all ? `Accept ${accepted} of ${pluralize(all, 'change')}` : 'Accept';
  const [firstFile] = proposal.files;
  const count = proposal.files.length + proposal.moreFiles;
  return (
    <main>
      <h1>{proposal.status === 'waiting' ? 'Proposed: ' : ''}{proposal.label || proposal.tool} {count === 1 && firstFile ? describeFile(firstFile) : pluralize(count, 'file')}</h1>
      <p class="quiet">By {proposal.assistant}, with {proposal.tool}. {proposal.status === 'waiting' && `It waits because ${describeReason(proposal.reason)}.`}</p>
      {proposal.status !== 'waiting' && <p class="decided" role="status">{outcome || toSentence(proposal.decision ?? proposal.status)}</p>}
      {proposal.status !== 'waiting' && proposal.undo && host.can('serverTools') && <button type="button" disabled={isBusy} onClick={undo}>Undo</button>}
      {proposal.conflict && <p class="error-text" role="alert">{proposal.conflict} Edit it to keep what you want, or reject it.</p>}
      {!proposal.conflict && proposal.rebased > 0 && proposal.status === 'waiting' && <p class="banner">A note has changed since this was proposed; what was written in the meantime is kept.</p>}
      {proposal.notices.map((text) => <p key={text} class="banner">{text}</p>)}
      {proposal.files.map((file) => (
        <FileSection key={file.path} file={file} edit={edits.get(file.path)} setEdit={(edit) => setEdit(file.path, edit)} canDecide={canDecide} isEditing={editedPath === file.path} setEditing={(isEditing) => setEditedPath(isEditing ? file.path : '')} />
      ))}
      {proposal.moreFiles > 0 && <p class="quiet">And {pluralize(proposal.moreFiles, 'more file')} that {proposal.moreFiles === 1 ? 'is' : 'are'} not shown.</p>}
      <ErrorText>{error}</ErrorText>
      {proposal.status === 'waiting' && (canDecide
        ? (
          <div class="actions">
            <button type="button" class="accept" disabled={!canAccept || isBusy || !isReady} onClick={handleDecision('accept')}>{acceptLabel}</button>
            <button type="button" class="reject" disabled={isBusy || !isReady} onClick={handleDecision('reject')}>Reject</button>
            {reason === null ? <button type="button" class="link" onClick={() => setReason('')}>Give a reason</button> : <input type="text" aria-label="Reason for rejecting it" placeholder="Reason for rejecting it" maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}
            {!proposal.whole && <p class="quiet">This change is too long to show here: accept it on the page or in Obsidian.</p>}
            {accepted === 0 && <p class="quiet">No change is left: reject it instead.</p>}
          </div>
        )
        : <p class="quiet">Decide on the page (<code>vaultbridge page</code> opens it), in Obsidian, or in a terminal with <code>vaultbridge diffs</code>.</p>)}
    </main>
  );
}

/** The result of a call that needed no decision: it changed something at once, or only showed what it would do. */
function Outcome({ result }: { result: ToolResult }): JSX.Element {
  const text = textOf(result);
  const data = readEnvelope(text);
  if (!data) return <Text text={text} />;
  if (typeof data.diff === 'string') return <main><h1>What would change</h1><Text text={data.diff} /></main>;
  if (data.status === 'pending') return <p class="quiet">{String(data.id)} is waiting for your review: on the page (<code>vaultbridge page</code> opens it), in Obsidian, or in a terminal with <code>vaultbridge diffs</code>.</p>;
  const changed = typeof data.path === 'string' ? data.path : 'The vault';
  return <p class="decided" role="status">{typeof data.change === 'number' ? `${changed} was changed (change ${data.change}).` : `${changed} was not changed.`}</p>;
}

function readEnvelope(text: string): Record<string, unknown> | null {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

interface FileSectionProps {
  file: ProposedFile;
  edit: FileEdit | undefined;
  setEdit: (edit: FileEdit | null) => void;
  canDecide: boolean;
  isEditing: boolean;
  setEditing: (isEditing: boolean) => void;
}

function FileSection({ file, edit, setEdit, canDecide, isEditing, setEditing }: FileSectionProps): JSX.Element {
  const hunks = file.hunks ?? [];
  const isEditable = canDecide && file.text !== undefined && (file.change === 'changed' || file.change === 'created');
  const isOwnText = edit?.text !== undefined && edit.text !== file.text;
  return (
    <section class="file" aria-label={file.path}>
      <header>
        <h2>{file.path}</h2>
        <span class="tag">{isOwnText ? 'edited by you' : file.change === 'moved' ? `moved from ${file.was}` : CHANGE_LABELS[file.change]}</span>
        {isEditable && <button type="button" class="small" aria-pressed={isEditing} onClick={() => (isEditing || setEdit({ text: edit?.text ?? file.text ?? '' }), setEditing(!isEditing))}>{isEditing ? 'Done editing' : isOwnText ? 'Edit again' : 'Edit first'}</button>}
        {edit?.text !== undefined && <button type="button" class="small" onClick={() => (setEdit(null), setEditing(false))}>Discard my edit</button>}
      </header>
      {file.conflict && <p class="error-text">{file.conflict}</p>}
      {isEditing ? <textarea aria-label={`The new text of ${file.path}`} rows={12} spellcheck={false} value={edit?.text ?? ''} onInput={(event) => setEdit({ text: event.currentTarget.value })} />
        : isOwnText ? <Text text={edit?.text ?? ''} />
        : file.fits === false ? <p class="quiet">Too long to show here.</p>
        : file.size !== undefined ? <p class="quiet">{file.change === 'deleted' ? 'This file would be deleted.' : file.change === 'moved' ? 'Its content stays the same.' : `Not a text file: ${pluralize(file.size, 'byte')}.`}</p>
        : file.change === 'moved' && !hunks.length ? <p class="quiet">Its text stays the same.</p>
        : hunks.map((hunk, i) => (
          <div key={i} class={edit?.leftOut?.has(i) ? 'hunk left-out' : 'hunk'}>
            {hunks.length > 1 && <label class="hunk-head"><input type="checkbox" disabled={!isEditable} checked={!edit?.leftOut?.has(i)} onChange={() => setEdit(toggleHunk(edit?.leftOut, i))} />Accept the change at line {hunk.new}</label>}
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
  if (sign === '+') return <ins class="line">{showInvisible(text)}</ins>;
  if (sign === '-') return <del class="line">{showInvisible(text)}</del>;
  return <div class="line">{showInvisible(text)}</div>;
}

/** The text with its invisible characters made visible, because they change what a line means. */
function showInvisible(text: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  let at = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    parts.push(text.slice(at, match.index), <span class="invisible" title={INVISIBLE_TITLE}>{formatCodePoint(match[0].codePointAt(0) ?? 0)}</span>);
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at) || (parts.length ? '' : '\u00a0')];
}

const describeFile = (file: ProposedFile): string => (file.change === 'moved' && file.was ? `${file.was} → ${file.path}` : file.path);
const toSentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

startView('review', 'The change is being prepared…', Review);
