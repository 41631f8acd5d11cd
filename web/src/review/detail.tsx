// One proposal: what would change, file by file, and the decision.

import type { JSX, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { knownName } from '../activity/known';
import { Diff } from '../lib/diff';
import { Kept } from '../lib/kept';
import { href } from '../lib/router';
import { ago, copyText, Failure, Icon, Loading, notify, plural } from '../lib/ui';
import { deciding, departures, type FileDecision, hasTexts, listed, look, preview, type Proposal, type ProposedFile, waiting } from './proposals';
import { countLines, deed, fileDeed, hunkTitle, what, why, withHunks } from './words';

const FILES = 10; // whose texts are shown at once; the rest opens with a press

export interface DetailHandle {
  accept: () => void;
  reject: () => void;
  edit: () => void;
}

interface DetailProps {
  proposal: Proposal;
  disabled: boolean;
  handle: { current: DetailHandle | null };
  take: (proposal: Proposal, action: 'accept' | 'reject', files?: FileDecision[]) => Promise<void>;
}

/** What a person has done to a file before deciding: their own text, or the hunks they leave out. */
interface Draft {
  text?: string;
  /** The proposal as the text was written on it. */
  hash?: string;
  /** The text as the server brought it onto a note that had changed meanwhile. */
  fitted?: string;
  /** It could not: the same lines were written meanwhile. */
  clashes?: boolean;
  without?: ReadonlySet<number>;
}

/** Kept while other proposals are shown, so that an unfinished edit is not lost. */
const drafts = new Map<string, Map<string, Draft>>();
const DRAFTS = 50; // proposals whose drafts are kept
/** The texts among them, by proposal: these stay over a reload too. */
const edits = new Kept<[string, Draft][]>('proposal-edits');

/** The proposal has been decided with what the person had made of it. */
export function forgetEdits(id: string): void {
  drafts.delete(id);
  if (edits.get().has(id)) edits.put(id, undefined);
}

/** The proposal was closed while it was being edited: the person gets the text back, who alone knows whether it matters. */
function returnEdits(id: string): void {
  const texts = (edits.get().get(id) ?? []).map(([, { text = '' }]) => text);
  forgetEdits(id);
  if (!texts.length) return;
  const copy = (): void => copyText(texts.join('\n\n'), 'Your text is copied.');
  notify('The proposal that you were editing was decided elsewhere or withdrawn. Your text was not used.', 'bad', { label: 'Copy my text', run: copy });
}

departures.add(({ id }) => deciding.has(id) || returnEdits(id));
listed.watch((isListed) => {
  if (!isListed) return;
  for (const id of [...edits.get().keys()]) if (!waiting.get().some((proposal) => proposal.id === id)) returnEdits(id);
});

export function Detail({ proposal, disabled, handle, take }: DetailProps): JSX.Element {
  const [error, fail] = useState<Error | null>(null);
  const [, draw] = useState(0);
  const [editing, setEditing] = useState('');
  const [opened, open] = useState(FILES);
  const top = useRef<HTMLElement>(null);
  const own = useMemo(() => {
    const map = drafts.get(proposal.id) ?? new Map<string, Draft>(edits.get().get(proposal.id));
    drafts.set(proposal.id, map);
    if (drafts.size > DRAFTS) drafts.delete(drafts.keys().next().value ?? '');
    return map;
  }, [proposal.id]);
  const isWhole = hasTexts(proposal);
  const fetch = (): void => void look(proposal.id).then(() => fail(null), fail);
  // Always asked for once: the note may have changed since the list was made.
  useEffect(fetch, [proposal.id]);
  useEffect(() => (isWhole ? undefined : fetch()), [proposal.hash]);
  // Hunks that were left out belong to the proposal as it was; an edit stays, and is brought onto the note as it is now.
  const seen = useRef(proposal.hash);
  if (seen.current !== proposal.hash) {
    seen.current = proposal.hash;
    for (const [path, draft] of own) if (draft.text === undefined) own.delete(path);
  }

  const put = (path: string, draft: Draft | null): void => {
    if (draft) own.set(path, draft);
    else own.delete(path);
    keep();
    draw((n) => n + 1);
  };
  const keep = (): void => {
    const texts = [...own].filter(([path, { text }]) => text !== undefined && text !== proposal.files.find((file) => file.path === path)?.newText);
    if (texts.length || edits.get().has(proposal.id)) edits.put(proposal.id, texts.length ? texts : undefined);
  };
  const [attempt, tryAgain] = useState(0);
  const begun = [...own].flatMap(([path, { text, hash = '' }]) => (text !== undefined && hash !== proposal.hash ? [{ path, text, hash }] : []));
  useEffect(() => {
    const hash = begun[0]?.hash;
    if (hash === undefined || disabled) return;
    let isCurrent = true;
    const files = begun.filter((edit) => edit.hash === hash).map(({ path, text }) => ({ path, text }));
    preview(proposal.id, hash, files).then(({ outcome, proposal: now }) => {
      if (!isCurrent) return;
      for (const { path, text } of files) {
        if (own.get(path)?.text !== text) continue; // the person has typed more: tried again
        const fitted = outcome === 'fits' ? now.files.find((file) => file.path === path)?.newText : undefined;
        own.set(path, typeof fitted === 'string' ? { text: fitted, fitted, hash: now.hash } : { text, hash: now.hash, clashes: true });
      }
      keep();
      tryAgain((n) => n + 1);
    }, (problem) => isCurrent && fail(problem));
    return () => void (isCurrent = false);
  }, [proposal.hash, begun.length > 0, disabled, attempt]);
  const decisions: FileDecision[] = [];
  let [taken, all] = [0, 0];
  for (const file of proposal.files) {
    const draft = own.get(file.path);
    const hunks = file.hunks?.length ?? 0;
    all += hunks;
    if (draft?.text !== undefined && draft.text !== file.newText) decisions.push({ path: file.path, text: draft.text });
    else if (draft?.without?.size && draft.without.size === hunks) decisions.push({ path: file.path, skip: true });
    else if (draft?.without?.size) decisions.push({ path: file.path, hunks: [...Array(hunks).keys()].filter((i) => !draft.without?.has(i)) });
    taken += hunks - (draft?.without?.size ?? 0);
  }
  const isEdited = decisions.some(({ text }) => text !== undefined);
  const leavesNothing = !isEdited && all > 0 && taken === 0;
  const stuck = proposal.conflict !== '' && !isEdited;
  const canAccept = !disabled && isWhole && !stuck && !leavesNothing && begun.length === 0;
  const editable = proposal.files.find(isEditable);
  const accept = (): void => {
    if (canAccept) void take(proposal, 'accept', decisions);
  };
  const reject = (): void => {
    if (!disabled) void take(proposal, 'reject');
  };
  const edit = (path = editable?.path ?? ''): void => {
    const file = proposal.files.find((candidate) => candidate.path === path);
    if (disabled || !isWhole || !file) return;
    const draft = own.get(path);
    put(path, { ...draft, text: draft?.text ?? withHunks(file, takenOf(file, draft)), hash: draft?.hash ?? proposal.hash });
    setEditing(path);
  };
  const mine = useRef<DetailHandle | null>(null);
  handle.current = mine.current = { accept, reject, edit: () => edit() };
  // The next proposal may have taken the keys before this one goes.
  useEffect(() => () => void (handle.current === mine.current && (handle.current = null)), []);

  const count = proposal.files.length + proposal.moreFiles;
  const label = isEdited ? 'Accept my version' : all > taken ? `Accept ${taken} of ${plural(all, 'change')}` : 'Accept';
  return (
    <article class="review-detail" ref={top} aria-labelledby="proposal-title">
      <header class="detail-head">
        <a class="detail-back" href={href('review')}><Icon name="right" />All proposals</a>
        <h2 id="proposal-title" tabIndex={-1}>{deed(proposal)} {what(proposal)}</h2>
        <p class="quiet">
          Proposed by <strong>{knownName(proposal.assistant)}</strong>{proposal.token && ` (token “${proposal.token}”)`} {ago(proposal.at)}, with {proposal.label && proposal.label !== proposal.tool ? `${proposal.tool} (${proposal.label})` : proposal.tool}. {proposal.reason !== 'all' && `Waits because ${why(proposal.reason)}. `}
          {proposal.expires ? `You can decide until ${new Date(proposal.expires * 1000).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}.` : ''}
        </p>
      </header>
      <States proposal={proposal} isEdited={isEdited} clashes={[...own.values()].some((draft) => draft.clashes)} />
      {error && !isWhole && <Failure error={error} retry={fetch} />}
      {!isWhole && !error && <Loading>Comparing the texts…</Loading>}
      {isWhole && proposal.files.slice(0, opened).map((file) => (
        <File key={file.path} file={file} draft={own.get(file.path)} put={(draft) => put(file.path, draft)} alone={count === 1}
          isEditing={editing === file.path} edit={() => edit(file.path)} leave={() => setEditing('')} disabled={disabled} />
      ))}
      {proposal.files.length > opened && <button type="button" onClick={() => open(opened + FILES)}>Show {plural(Math.min(FILES, proposal.files.length - opened), 'more file')}</button>}
      {proposal.moreFiles > 0 && <p class="quiet">And {plural(proposal.moreFiles, 'more file')} that {proposal.moreFiles === 1 ? 'is' : 'are'} not shown.</p>}
      <footer class="detail-actions">
        <button type="button" class="accept" disabled={!canAccept} onClick={accept} aria-keyshortcuts="a"><Icon name="check" />{label} {!editing && <kbd aria-hidden="true">a</kbd>}</button>
        <button type="button" class="reject" disabled={disabled} onClick={reject} aria-keyshortcuts="r"><Icon name="close" />Reject {!editing && <kbd aria-hidden="true">r</kbd>}</button>
        {editable && !editing && <button type="button" disabled={disabled || !isWhole} onClick={() => edit()} aria-keyshortcuts="e"><Icon name="edit" />{isEdited ? 'Edit again' : 'Edit first'} <kbd aria-hidden="true">e</kbd></button>}
        {editing && <button type="button" onClick={() => setEditing('')}>Done editing <kbd aria-hidden="true">Esc</kbd></button>}
        {isEdited && <button type="button" onClick={() => (own.clear(), keep(), setEditing(''), draw((n) => n + 1))}>Discard my edit</button>}
        {leavesNothing && <p class="quiet">No change is left: reject it instead.</p>}
      </footer>
    </article>
  );
}

const isEditable = (file: ProposedFile): boolean => file.text === true && (file.change === 'created' || file.change === 'changed');

const takenOf = (file: ProposedFile, draft: Draft | undefined): Set<number> => new Set([...(file.hunks ?? []).keys()].filter((i) => !draft?.without?.has(i)));

/** What has happened to the notes since, and what prevents acceptance, in words. */
function States({ proposal, isEdited, clashes }: { proposal: Proposal; isEdited: boolean; clashes: boolean }): JSX.Element {
  const { elsewhere, rebased, conflict, notices } = proposal;
  return (
    <>
      {conflict && (
        <div class="banner bad" role="alert">
          <Icon name="warning" />
          <p>{conflict} {isEdited ? 'Your version replaces what is there.' : 'Edit first to keep what you want, or reject it.'}</p>
        </div>
      )}
      {!conflict && clashes && (
        <div class="banner bad" role="alert">
          <Icon name="warning" />
          <p>The note has changed in lines that you have edited. Your version replaces what is there: compare before you accept.</p>
        </div>
      )}
      {!conflict && !clashes && rebased > 0 && (
        <div class="banner warn" role="status">
          <Icon name="warning" />
          <p>The note has changed since this was proposed. The proposal was adapted to the current note, and what was written in the meantime is kept. Look again before you accept.</p>
        </div>
      )}
      {elsewhere.length > 0 && (
        <ul class="banner info elsewhere">
          {elsewhere.slice(0, 5).map((change) => <li key={`${change.path} ${change.at}`}>{change.path} was changed by {change.by}, {ago(change.at)}.</li>)}
        </ul>
      )}
      {notices.map((text) => <p key={text} class="banner info"><Icon name="warning" />{text}</p>)}
    </>
  );
}

interface FileProps {
  file: ProposedFile;
  draft: Draft | undefined;
  put: (draft: Draft | null) => void;
  alone: boolean;
  isEditing: boolean;
  edit: () => void;
  leave: () => void;
  disabled: boolean;
}

function File({ file, draft, put, alone, isEditing, edit, leave, disabled }: FileProps): JSX.Element {
  const [whole, setWhole] = useState(false);
  const hunks = file.hunks ?? [];
  const { plus, minus } = countLines(hunks);
  const taken = takenOf(file, draft);
  const isOwn = draft?.text !== undefined && draft.text !== file.newText;
  // While it is being edited, the editor holds the text: it must not be replaced at every keystroke.
  const [start, setStart] = useState('');
  useEffect(() => void (isEditing && setStart(draft?.text ?? '')), [isEditing, draft?.fitted]);
  const shownText = isEditing ? start || draft?.text || '' : (draft?.text ?? withHunks(file, taken));
  const foot = useRef<HTMLElement>(null);
  return (
    <section class="detail-file card" aria-label={file.path} ref={foot as RefObject<HTMLElement>}>
      <header>
        <h3><a href={href('note', file.change === 'created' ? '' : file.was || file.path)} class={file.change === 'created' ? 'unlinked' : undefined}>{file.path}</a></h3>
        <span class="tag">{isOwn ? 'edited by you' : fileDeed(file)}</span>
        {file.text && <span class="lines"><span class="plus">+{plus}</span> <span class="minus">−{minus}</span></span>}
        <span class="detail-tools">
          {file.text && <button type="button" class="link" aria-pressed={whole} onClick={() => setWhole(!whole)}>{whole ? 'Only the changes' : 'Whole text'}</button>}
          {!alone && isEditable(file) && !isEditing && <button type="button" class="link" disabled={disabled} onClick={edit}>Edit</button>}
        </span>
      </header>
      {file.conflict && !alone && <p class="banner bad"><Icon name="warning" />{file.conflict}</p>}
      {hunks.length > 1 && isEditable(file) && draft?.text === undefined && (
        <fieldset class="hunks" disabled={disabled}>
          <legend>Take</legend>
          {hunks.map((hunk, i) => {
            const { line, text } = hunkTitle(hunk);
            const flip = (): void => {
              const without = new Set(draft?.without);
              if (!without.delete(i)) without.add(i);
              put(without.size ? { without } : null);
            };
            return (
              <div key={i}>
                <label><input type="checkbox" checked={taken.has(i)} onChange={flip} /><span class="quiet">line {line}</span><span class="hunk-text">{text}</span></label>
                <button type="button" class="link" onClick={() => put({ without: new Set([...hunks.keys()].filter((other) => other !== i)) })}>only this</button>
              </div>
            );
          })}
        </fieldset>
      )}
      {!file.text ? <p class="detail-binary quiet">{file.change === 'deleted' ? 'This file would be deleted.' : `Not a text: ${plural(file.size, 'byte')}.`}</p>
        : file.change === 'moved' && file.oldText === file.newText ? <p class="detail-binary quiet">Its text stays the same.</p>
        : <Diff name={file.path} before={file.oldText ?? ''} after={shownText} whole={whole} {...(isEditing && { onEdit: (text: string) => put({ ...draft, text }), onLeave: leave })} />}
    </section>
  );
}

