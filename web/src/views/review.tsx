// Review: the changes that assistants propose, and the decisions on them. `#/review`, `#/review/p12`, `#/review?show=decided`.

import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { assistantList, assistantNameOf } from '../activity/assistant-list';
import { ChangeFiles } from '../activity/timeline';
import { formatAgo, pluralize } from '../lib/format';
import { useLoad, useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { useKeys } from '../lib/keys';
import { live } from '../lib/live';
import { announce, dismissNoticesAbout, notify, notifyError } from '../lib/notices';
import { href, navigate, type Route } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';
import { Store, useStore } from '../lib/store';
import { Detail, type DetailHandle } from '../review/detail';
import { discardEdits } from '../review/edits';
import { disableNotifications, enableNotifications, notificationState } from '../review/notifications';
import { closeHandlers, decide, type Decision, type FileDecision, isLoaded, listDecided, type Proposal, reviewState, setReviewPolicy, undoProposal, waitingProposals } from '../review/proposals';
import { describeTarget, OUTCOMES, POLICIES } from '../review/wording';

export default function Review({ route }: { route: Route }): JSX.Element {
  useTitle('Review');
  const proposals = useStore(waitingProposals);
  useStore(assistantList); // for their names
  const hasLoaded = useStore(isLoaded);
  const { status } = useStore(live.state);
  const isOffline = status !== 'connected';
  const showsDecided = route.query.get('show') === 'decided';
  const [isBusy, setBusy] = useState(false);
  const [lastAccepted, setLastAccepted] = useState<{ proposal: Proposal; change: number } | null>(null);
  const detail = useRef<DetailHandle | null>(null);
  // A decision removes the focused button: the next proposal takes the focus, or the view if there is none.
  const movesFocus = useRef(false);
  const at = proposals.findIndex(({ id }) => id === route.path);
  const shown = at >= 0 ? proposals[at] : undefined;
  const goTo = useCallback((proposal: Proposal | undefined, replace = false) => navigate(href('review', proposal?.id ?? ''), { replace }), []);

  // Without a proposal in the address, or if that one is no longer waiting, the next one is shown.
  const lastPosition = useRef(0);
  if (at >= 0) lastPosition.current = at;
  useEffect(() => {
    if (showsDecided || !hasLoaded || shown) return;
    if (route.path && proposals.length === 0) goTo(undefined, true);
    else if (proposals.length && (route.path || matchMedia('(min-width: 760px)').matches)) goTo(proposals[Math.min(lastPosition.current, proposals.length - 1)], true);
  }, [proposals, route.path, showsDecided, hasLoaded]);

  useEffect(() => {
    if (!movesFocus.current) return;
    movesFocus.current = false;
    (document.getElementById('proposal-title') ?? document.getElementById('main'))?.focus();
  }, [shown?.id]);

  const handleDecide = async (proposal: Proposal, action: 'accept' | 'reject', files: FileDecision[] = []): Promise<void> => {
    if (isBusy || isOffline) return;
    setBusy(true);
    try {
      if (proposal.kind === 'diff' && action === 'accept') awaitedWrites.add(proposal.id);
      const decision = await decide(proposal, action, files);
      if (decision.outcome !== 'accepted') awaitedWrites.delete(proposal.id);
      confirmDecision(proposal, decision);
      if (decision.outcome === 'accepted' && decision.change > 0) setLastAccepted({ proposal, change: decision.change });
      if (decision.outcome !== 'shown-again') discardEdits(proposal.id);
      movesFocus.current = true;
    } catch (error) {
      notifyError(error);
    }
    setBusy(false);
  };
  const step = (by: number): void => {
    const next = proposals[at < 0 ? 0 : Math.min(proposals.length - 1, Math.max(0, at + by))];
    if (next && next !== shown) {
      goTo(next);
      announce(`${describeTarget(next)}, by ${assistantNameOf(next.assistant)}`);
    }
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    a: () => detail.current?.accept(),
    r: () => detail.current?.reject(),
    e: () => detail.current?.edit(),
    u: () => lastAccepted && void undo(lastAccepted.proposal, lastAccepted.change),
  });

  if (status === 'limited') {
    return (
      <EmptyState standalone icon="review" title="This token cannot review changes">
        <p>Proposals are shown to the owner of the vault. Open the link that <code>vaultbridge page</code> prints.</p>
      </EmptyState>
    );
  }
  return (
    <div class="review" data-shows={shown ? 'proposal' : 'list'}>
      <header class="review-head">
        <h1>Review</h1>
        <nav class="segments" aria-label="Which proposals">
          <a href={href('review')} aria-current={showsDecided ? undefined : 'page'}>Waiting {proposals.length > 0 && <span class="count">{proposals.length}</span>}</a>
          <a href={href('review', '', { show: 'decided' })} aria-current={showsDecided ? 'page' : undefined}>Reviewed</a>
        </nav>
        <NotifyButton />
      </header>
      {isOffline && hasLoaded && <p class="banner warn" role="status"><Icon name="warning" />The server cannot be reached. You can read, but cannot review until it is back.</p>}
      {showsDecided ? <DecidedList isOffline={isOffline} />
        : !hasLoaded && !proposals.length ? <Loading />
        : !proposals.length ? <NothingWaiting isOffline={isOffline} />
        : (
          <div class="review-body">
            <WaitingList {...{ proposals, shown, isOffline, isBusy, setBusy }} />
            {shown ? <Detail key={shown.id} handle={detail} proposal={shown} disabled={isOffline || isBusy} onDecide={handleDecide} /> : <div class="review-detail review-none quiet">Choose a proposal.</div>}
          </div>
        )}
    </div>
  );
}

function confirmDecision(proposal: Proposal, decision: Decision): void {
  const text = `${describeTarget(proposal)}: ${decision.text}`;
  if (decision.outcome === 'shown-again') return notify(text, 'bad');
  const canUndo = decision.outcome === 'accepted' && decision.change > 0;
  const kind = decision.outcome === 'note-changed' ? 'bad' : 'good';
  notify(text, kind, canUndo ? { label: 'Undo', run: () => void undo(proposal, decision.change) } : undefined, subjectOf(proposal, decision.change));
}

/** Claude Code writes its diffs itself. Once one is written, it is a change that can be undone. */
closeHandlers.add(({ id, change, proposal }) => {
  if (!change || !awaitedWrites.delete(id)) return;
  notify(`${describeTarget(proposal)}: Claude Code has written it.`, 'good', { label: 'Undo', run: () => void undo(proposal, change) }, subjectOf(proposal, change));
});
const awaitedWrites = new Set<string>(); // diffs that were accepted here and that Claude Code has not written yet

const subjectOf = ({ vault }: Proposal, change: number): string => (change > 0 ? `${vault} ${change}` : '');

/** How often something was undone here, after which the list of decided proposals is loaded again. */
const undoCount = new Store(0);

async function undo(proposal: Proposal, change: number): Promise<void> {
  try {
    await undoProposal(proposal, change);
    dismissNoticesAbout(subjectOf(proposal, change));
    notify(`The change to ${describeTarget(proposal)} was undone.`);
    undoCount.set(undoCount.get() + 1);
  } catch (error) {
    notifyError(error);
  }
}

interface WaitingListProps {
  proposals: Proposal[];
  shown: Proposal | undefined;
  isOffline: boolean;
  isBusy: boolean;
  setBusy: (isBusy: boolean) => void;
}

function WaitingList({ proposals, shown, isOffline, isBusy, setBusy }: WaitingListProps): JSX.Element {
  const [confirming, setConfirming] = useState(''); // the assistant whose proposals may all be accepted next
  const assistants = [...new Set(proposals.map(({ assistant }) => assistant))];
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest' }), [shown?.id]);
  const acceptAll = async (assistant: string): Promise<void> => {
    setConfirming('');
    setBusy(true);
    await acceptEach(proposals.filter((proposal) => proposal.assistant === assistant), assistant);
    setBusy(false);
  };
  return (
    <nav class="review-list" aria-label="Waiting proposals">
      {assistants.map((assistant) => {
        const name = assistantNameOf(assistant);
        const own = proposals.filter((proposal) => proposal.assistant === assistant);
        return (
          <section key={assistant} aria-label={name}>
            <header>
              <h2>{name}</h2>
              {own.length > 1 && confirming !== assistant && <button type="button" disabled={isOffline || isBusy} onClick={() => setConfirming(assistant)}>Accept all {own.length}</button>}
              {confirming === assistant && (
                <div class="review-confirm" role="group" aria-label={`Accept all proposals by ${name}`}>
                  <p>Accept {own.length} proposals without looking at each?</p>
                  <button type="button" class="accept" disabled={isOffline || isBusy} onClick={() => void acceptAll(assistant)}>Accept all</button>
                  <button type="button" onClick={() => setConfirming('')}>Cancel</button>
                </div>
              )}
            </header>
            <ul>
              {own.map((proposal) => (
                <li key={proposal.id}>
                  <a href={href('review', proposal.id)} {...(proposal.id === shown?.id && { ref: current })} aria-current={proposal.id === shown?.id ? 'true' : undefined}>
                    <strong>{describeTarget(proposal)}</strong>
                    <span class="quiet">{[proposal.label === describeTarget(proposal) ? '' : proposal.label || proposal.tool, formatAgo(proposal.at), proposal.conflict ? 'no longer fits' : proposal.rebased ? 'the note has changed' : ''].filter(Boolean).join(' · ')}</span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}

/** Accepts the proposals as they are listed. Any that has changed since, or no longer fits, is left to the person. */
async function acceptEach(proposals: Proposal[], assistant: string): Promise<void> {
  const accepted: { proposal: Proposal; change: number }[] = [];
  let left = 0;
  for (const proposal of proposals) {
    try {
      const { outcome, change } = await decide(proposal, 'accept');
      if (outcome === 'accepted') accepted.push({ proposal, change });
      else left++;
    } catch {
      left++;
    }
  }
  const undoAll = async (): Promise<void> => {
    for (const { proposal, change } of accepted.reverse()) if (change > 0) await undo(proposal, change);
  };
  const rest = left ? ` ${pluralize(left, 'proposal')} still ${left === 1 ? 'needs' : 'need'} your decision.` : '';
  notify(`Accepted ${pluralize(accepted.length, 'proposal')} by ${assistantNameOf(assistant)}.${rest}`, left ? 'bad' : 'good', accepted.length ? { label: 'Undo all', run: () => void undoAll() } : undefined);
}

function NothingWaiting({ isOffline }: { isOffline: boolean }): JSX.Element {
  const state = useStore(reviewState);
  const setPolicy = (value: 'destructive' | 'all'): void => void setReviewPolicy(value).then(() => notify('Review is on. The next change by an assistant will wait for you here.'), notifyError);
  return (
    <EmptyState icon="review" title="No changes to review">
      <p>When an assistant wants to change a note, the change appears here with both texts, and nothing is written before you accept it.</p>
      {state?.review === 'off' ? (
        <>
          <p><strong>Review is off:</strong> assistants change notes at once. Only what Claude Code shows with <code>/ide</code> comes here.</p>
          <p class="review-on">
            <button type="button" class="accept" disabled={isOffline} onClick={() => setPolicy('all')}>Ask me before every change</button>
            <button type="button" disabled={isOffline} onClick={() => setPolicy('destructive')}>Only before deleting and overwriting</button>
          </p>
        </>
      ) : (
        state && <p>Review is on: {POLICIES.find(({ value }) => value === state.review)?.title.toLowerCase()}. <a href={href('settings', 'review')}>Change this</a></p>
      )}
    </EmptyState>
  );
}

function NotifyButton(): JSX.Element | null {
  const state = useStore(notificationState);
  if (state === 'unsupported') return null;
  const isOn = state === 'on';
  return (
    <button type="button" class="review-notify" aria-pressed={isOn} disabled={state === 'blocked'} onClick={() => (isOn ? disableNotifications() : void enableNotifications())}
      title={state === 'blocked' ? 'Your browser blocks notifications from this page. You can allow them in its settings for this site.' : undefined}>
      <Icon name="bell" /><span>{state === 'blocked' ? 'Notifications are blocked' : isOn ? 'Notifications are on' : 'Notify me'}</span>
    </button>
  );
}

function DecidedList({ isOffline }: { isOffline: boolean }): JSX.Element {
  const loaded = useLoad(listDecided, [isOffline, useStore(undoCount)]);
  const { reload } = loaded;
  useEffect(() => {
    const handleClose = (): void => reload();
    closeHandlers.add(handleClose);
    return () => void closeHandlers.delete(handleClose);
  }, []);
  const list = loaded.value;
  if (!list) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={reload} /> : <Loading />;
  if (!list.length) return <EmptyState icon="review" title="No reviewed changes yet"><p>What you accept or reject stays listed here, and what was written can be undone.</p></EmptyState>;
  return <ol class="review-decided">{list.map((proposal) => <DecidedItem key={proposal.id} {...{ proposal, isOffline }} />)}</ol>;
}

const DECIDED_BY: Record<string, string> = { page: 'on the page', obsidian: 'in Obsidian', cli: 'in the terminal' };

function DecidedItem({ proposal, isOffline }: { proposal: Proposal; isOffline: boolean }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { decided, files, moreFiles } = proposal;
  const isWritten = !!decided && decided.change > 0;
  const onlyFile = files.length === 1 && !moreFiles && files[0]?.change !== 'deleted' ? files[0] : undefined;
  const facts = [assistantNameOf(proposal.assistant), proposal.label === describeTarget(proposal) ? '' : proposal.label || proposal.tool, formatAgo(decided?.at ?? proposal.at), decided?.by ? `decided ${DECIDED_BY[decided.by] ?? `by ${decided.by}`}` : ''];
  return (
    <li class="card">
      <div>
        <p><strong>{onlyFile ? <a href={href('note', isWritten && !decided.undone ? onlyFile.path : onlyFile.was || onlyFile.path, { vault: proposal.vault })}>{describeTarget(proposal)}</a> : describeTarget(proposal)}</strong> <span class="tag" data-status={decided?.undone ? 'undone' : proposal.status}>{OUTCOMES[proposal.status] ?? proposal.status}{decided?.undone ? ', undone' : ''}</span></p>
        <p class="quiet">{facts.filter(Boolean).join(' · ')}</p>
        {decided?.reason && <p class="quiet">“{decided.reason}”</p>}
      </div>
      {isWritten && <button type="button" class="decided-show" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? 'Hide' : 'Show'} the change</button>}
      {isWritten && !decided.undone && <button type="button" class="decided-undo" disabled={isOffline} onClick={() => void undo(proposal, decided.change)}><Icon name="undo" />Undo</button>}
      {isOpen && isWritten && <ChangeFiles vault={proposal.vault} change={decided.change} />}
    </li>
  );
}
