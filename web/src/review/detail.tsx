// A proposal in full: what would change, file by file, and the decision.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { assistantNameOf } from '../activity/assistant-list';
import { Diff } from '../lib/diff';
import { formatAgo, pluralize } from '../lib/format';
import { Icon } from '../lib/icons';
import { href } from '../lib/router';
import { Failure, Loading } from '../lib/states';
import { getEdits, type ProposalEdit, storeTexts } from './edits';
import { applyHunks, countChanges, countLines, describeHunk, makeFileDecision, toggleHunk } from './hunks';
import { type FileDecision, hasTexts, loadProposal, previewDecision, type Proposal, type ProposedFile } from './proposals';
import { describeFileChange, describeProposal, describeReason } from './wording';

const PAGE_SIZE = 10; // files whose texts are shown at once

/** What the shortcuts of the view do to the open proposal. */
export interface DetailHandle {
  accept: () => void;
  reject: () => void;
  edit: () => void;
}

interface DetailProps {
  proposal: Proposal;
  disabled: boolean;
  handle: { current: DetailHandle | null };
  onDecide: (proposal: Proposal, action: 'accept' | 'reject', files?: FileDecision[]) => Promise<void>;
}

export function Detail({ proposal, disabled, handle, onDecide }: DetailProps): JSX.Element {
  const [error, setError] = useState<Error | null>(null);
  const [, render] = useState(0);
  const [editedPath, setEditedPath] = useState('');
  const [fileCount, setFileCount] = useState(PAGE_SIZE);
  const edits = useMemo(() => getEdits(proposal.id), [proposal.id]);
  const isComplete = hasTexts(proposal);
  const load = (): void => void loadProposal(proposal.id).then(() => setError(null), setError);
  // Always loaded once: a note may have changed since the list was made.
  useEffect(load, [proposal.id]);
  useEffect(() => (isComplete ? undefined : load()), [proposal.hash]);
  // When the proposal changes, a choice of its hunks means nothing any more. A text stays, and is fitted to the current note.
  const lastHash = useRef(proposal.hash);
  if (lastHash.current !== proposal.hash) {
    lastHash.current = proposal.hash;
    for (const [path, edit] of edits) if (edit.text === undefined) edits.delete(path);
  }

  const setEdit = (path: string, edit: ProposalEdit | null): void => {
    if (edit) edits.set(path, edit);
    else edits.delete(path);
    storeTexts(proposal);
    render((n) => n + 1);
  };
  const [attempt, setAttempt] = useState(0);
  const outdated = [...edits].flatMap(([path, { text, hash = '' }]) => (text !== undefined && hash !== proposal.hash ? [{ path, text, hash }] : []));
  useEffect(() => {
    const hash = outdated[0]?.hash;
    if (hash === undefined || disabled) return;
    let isCurrent = true;
    const files = outdated.filter((edit) => edit.hash === hash).map(({ path, text }) => ({ path, text }));
    previewDecision(proposal.id, hash, files).then(({ outcome, proposal: fittedProposal }) => {
      if (!isCurrent) return;
      for (const { path, text } of files) {
        if (edits.get(path)?.text !== text) continue; // the person has typed more, so this is tried again
        const fitted = outcome === 'fits' ? fittedProposal.files.find((file) => file.path === path)?.newText : undefined;
        edits.set(path, typeof fitted === 'string' ? { text: fitted, fitted, hash: fittedProposal.hash } : { text, hash: fittedProposal.hash, hasConflict: true });
      }
      storeTexts(proposal);
      setAttempt((n) => n + 1);
    }, (reason) => isCurrent && setError(reason));
    return () => void (isCurrent = false);
  }, [proposal.hash, outdated.length > 0, disabled, attempt]);

  const files = proposal.files.map(({ path, newText, hunks }) => ({ path, newText, hunkCount: hunks?.length ?? 0 }));
  const decisions = files.flatMap((file) => makeFileDecision(file, edits.get(file.path)) ?? []);
  const { all, accepted } = countChanges(files, edits);
  const isEdited = decisions.some(({ text }) => text !== undefined);
  const isEmpty = all > 0 && accepted === 0;
  const hasConflict = proposal.conflict !== '' && !isEdited;
  const canAccept = !disabled && isComplete && !hasConflict && !isEmpty && outdated.length === 0;
  const firstEditable = proposal.files.find(isEditable);
  const accept = (): void => {
    if (canAccept) void onDecide(proposal, 'accept', decisions);
  };
  const reject = (): void => {
    if (!disabled) void onDecide(proposal, 'reject');
  };
  const startEditing = (path = firstEditable?.path ?? ''): void => {
    const file = proposal.files.find((candidate) => candidate.path === path);
    if (disabled || !isComplete || !file) return;
    const edit = edits.get(path);
    setEdit(path, { ...edit, text: edit?.text ?? applyHunks(file, acceptedHunksOf(file, edit)), hash: edit?.hash ?? proposal.hash });
    setEditedPath(path);
  };
  const discardEdit = (): void => {
    edits.clear();
    storeTexts(proposal);
    setEditedPath('');
    render((n) => n + 1);
  };
  const ownHandle = useRef<DetailHandle | null>(null);
  handle.current = ownHandle.current = { accept, reject, edit: () => startEditing() };
  // The next proposal may have replaced the handle before this one is unmounted.
  useEffect(() => () => void (handle.current === ownHandle.current && (handle.current = null)), []);

  const isSingleFile = proposal.files.length + proposal.moreFiles === 1;
  const acceptLabel = isEdited ? 'Accept my version' : all > accepted ? `Accept ${accepted} of ${pluralize(all, 'change')}` : 'Accept';
  return (
    <article class="review-detail" aria-labelledby="proposal-title">
      <header class="detail-head">
        <a class="detail-back" href={href('review')}><Icon name="right" />All proposals</a>
        <h2 id="proposal-title" tabIndex={-1}>{describeProposal(proposal)}</h2>
        <p class="quiet">
          Proposed by <strong>{assistantNameOf(proposal.assistant)}</strong>{proposal.token && ` (token “${proposal.token}”)`} {formatAgo(proposal.at)}, with {proposal.label && proposal.label !== proposal.tool ? `${proposal.tool} (${proposal.label})` : proposal.tool}. {proposal.reason !== 'all' && `It waits because ${describeReason(proposal.reason)}. `}
          {proposal.expires ? `You can decide until ${new Date(proposal.expires * 1000).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}.` : ''}
        </p>
      </header>
      <Banners proposal={proposal} isEdited={isEdited} hasEditConflict={[...edits.values()].some((edit) => edit.hasConflict)} />
      {error && !isComplete && <Failure error={error} retry={load} />}
      {!isComplete && !error && <Loading>Comparing the texts…</Loading>}
      {isComplete && proposal.files.slice(0, fileCount).map((file) => (
        <FileSection key={file.path} file={file} edit={edits.get(file.path)} setEdit={(edit) => setEdit(file.path, edit)} isSingleFile={isSingleFile}
          isEditing={editedPath === file.path} onEdit={() => startEditing(file.path)} onLeave={() => setEditedPath('')} disabled={disabled} />
      ))}
      {proposal.files.length > fileCount && <button type="button" onClick={() => setFileCount(fileCount + PAGE_SIZE)}>Show {pluralize(Math.min(PAGE_SIZE, proposal.files.length - fileCount), 'more file')}</button>}
      {proposal.moreFiles > 0 && <p class="quiet">And {pluralize(proposal.moreFiles, 'more file')} that {proposal.moreFiles === 1 ? 'is' : 'are'} not shown.</p>}
      <footer class="detail-actions">
        <button type="button" class="accept" disabled={!canAccept} onClick={accept} aria-keyshortcuts="a"><Icon name="check" />{acceptLabel} {!editedPath && <kbd aria-hidden="true">a</kbd>}</button>
        <button type="button" class="reject" disabled={disabled} onClick={reject} aria-keyshortcuts="r"><Icon name="close" />Reject {!editedPath && <kbd aria-hidden="true">r</kbd>}</button>
        {firstEditable && !editedPath && <button type="button" disabled={disabled || !isComplete} onClick={() => startEditing()} aria-keyshortcuts="e"><Icon name="edit" />{isEdited ? 'Edit again' : 'Edit first'} <kbd aria-hidden="true">e</kbd></button>}
        {editedPath && <button type="button" onClick={() => setEditedPath('')}>Done editing <kbd aria-hidden="true">Esc</kbd></button>}
        {isEdited && <button type="button" onClick={discardEdit}>Discard my edit</button>}
        {isEmpty && <p class="quiet">No change is left: reject it instead.</p>}
      </footer>
    </article>
  );
}

const isEditable = (file: ProposedFile): boolean => file.text === true && (file.change === 'created' || file.change === 'changed');

const acceptedHunksOf = (file: ProposedFile, edit: ProposalEdit | undefined): Set<number> => new Set([...(file.hunks ?? []).keys()].filter((i) => !edit?.leftOut?.has(i)));

/** What has happened to the notes since the proposal was made, and what prevents accepting it. */
function Banners({ proposal, isEdited, hasEditConflict }: { proposal: Proposal; isEdited: boolean; hasEditConflict: boolean }): JSX.Element {
  const { elsewhere, rebased, conflict, notices } = proposal;
  return (
    <>
      {conflict && (
        <div class="banner bad" role="alert">
          <Icon name="warning" />
          <p>{conflict} {isEdited ? 'Your version replaces what is there.' : 'Edit first to keep what you want, or reject it.'}</p>
        </div>
      )}
      {!conflict && hasEditConflict && (
        <div class="banner bad" role="alert">
          <Icon name="warning" />
          <p>The note has changed in lines that you have edited. Your version replaces what is there: compare before you accept.</p>
        </div>
      )}
      {!conflict && !hasEditConflict && rebased > 0 && (
        <div class="banner warn" role="status">
          <Icon name="warning" />
          <p>The note has changed since this was proposed. The proposal was adapted to the current note, and what was written in the meantime is kept. Look again before you accept.</p>
        </div>
      )}
      {elsewhere.length > 0 && (
        <ul class="banner info elsewhere">
          {elsewhere.slice(0, 5).map((change) => <li key={`${change.path} ${change.at}`}>{change.path} was changed by {change.by}, {formatAgo(change.at)}.</li>)}
        </ul>
      )}
      {notices.map((text) => <p key={text} class="banner info"><Icon name="warning" />{text}</p>)}
    </>
  );
}

interface FileSectionProps {
  file: ProposedFile;
  edit: ProposalEdit | undefined;
  setEdit: (edit: ProposalEdit | null) => void;
  isSingleFile: boolean;
  isEditing: boolean;
  onEdit: () => void;
  onLeave: () => void;
  disabled: boolean;
}

function FileSection({ file, edit, setEdit, isSingleFile, isEditing, onEdit, onLeave, disabled }: FileSectionProps): JSX.Element {
  const [showAll, setShowAll] = useState(false);
  const hunks = file.hunks ?? [];
  const { plus, minus } = countLines(hunks);
  const accepted = acceptedHunksOf(file, edit);
  const isOwnText = edit?.text !== undefined && edit.text !== file.newText;
  // During editing, the editor owns the text: it must not be replaced at every keystroke.
  const [initialText, setInitialText] = useState('');
  useEffect(() => void (isEditing && setInitialText(edit?.text ?? '')), [isEditing, edit?.fitted]);
  const after = isEditing ? initialText || edit?.text || '' : (edit?.text ?? applyHunks(file, accepted));
  return (
    <section class="detail-file card" aria-label={file.path}>
      <header>
        <h3><a href={href('note', file.change === 'created' ? '' : file.was || file.path)} class={file.change === 'created' ? 'unlinked' : undefined}>{file.path}</a></h3>
        <span class="tag">{isOwnText ? 'edited by you' : describeFileChange(file)}</span>
        {file.text && <span class="lines"><span class="plus">+{plus}</span> <span class="minus">−{minus}</span></span>}
        <span class="detail-tools">
          {file.text && <button type="button" class="link" aria-pressed={showAll} onClick={() => setShowAll(!showAll)}>{showAll ? 'Only the changes' : 'Whole text'}</button>}
          {!isSingleFile && isEditable(file) && !isEditing && <button type="button" class="link" disabled={disabled} onClick={onEdit}>Edit</button>}
        </span>
      </header>
      {file.conflict && !isSingleFile && <p class="banner bad"><Icon name="warning" />{file.conflict}</p>}
      {hunks.length > 1 && isEditable(file) && edit?.text === undefined && (
        <fieldset class="hunks" disabled={disabled}>
          <legend>Changes to accept</legend>
          {hunks.map((hunk, i) => {
            const { line, text } = describeHunk(hunk);
            return (
              <div key={i}>
                <label><input type="checkbox" checked={accepted.has(i)} onChange={() => setEdit(toggleHunk(edit?.leftOut, i))} /><span class="quiet">line {line}</span><span class="hunk-text">{text}</span></label>
                <button type="button" class="link" onClick={() => setEdit({ leftOut: new Set([...hunks.keys()].filter((other) => other !== i)) })}>only this</button>
              </div>
            );
          })}
        </fieldset>
      )}
      {!file.text ? <p class="detail-binary quiet">{file.change === 'deleted' ? 'This file would be deleted.' : file.change === 'moved' ? `It would move here from ${file.was}. Its content stays the same.` : `Not a text file: ${pluralize(file.size, 'byte')}.`}</p>
        : file.change === 'moved' && file.oldText === file.newText ? <p class="detail-binary quiet">Its text stays the same.</p>
        : <Diff name={file.path} before={file.oldText ?? ''} after={after} showAll={showAll} {...(isEditing && { onEdit: (text: string) => setEdit({ ...edit, text }), onLeave })} />}
    </section>
  );
}
