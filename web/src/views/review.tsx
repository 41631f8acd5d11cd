// Review: what assistants propose, and a person's decision on each. `#/review`, `#/review/p12`, `#/review?show=decided`.

import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { live } from '../lib/live';
import { href, navigate, type Route } from '../lib/router';
import { ago, announce, complain, dismissAbout, Empty, Failure, Icon, Loading, notify, plural, useKeys, useLoad, useTitle } from '../lib/ui';
import { useValue, Value } from '../lib/value';
import { known, knownName } from '../activity/known';
import { Shown } from '../activity/timeline';
import { askToNotify, notifying, silence } from '../review/notifications';
import { Detail, type DetailHandle, forgetEdits } from '../review/detail';
import { decide, type Decision, departures, type FileDecision, listDecided, listed, policy, type Proposal, setPolicy, undo, waiting } from '../review/proposals';
import { OUTCOMES, POLICIES, what } from '../review/words';

export default function Review({ route }: { route: Route }): JSX.Element {
  useTitle('Review');
  const proposals = useValue(waiting);
  useValue(known); // the names of assistants
  const isListed = useValue(listed);
  const { word } = useValue(live.state);
  const isAway = word !== 'connected';
  const showsDecided = route.query.get('show') === 'decided';
  const [busy, setBusy] = useState(false);
  const [last, setLast] = useState<{ proposal: Proposal; change: number } | null>(null);
  const detail = useRef<DetailHandle | null>(null);
  // After a decision the button is gone: the next proposal, or the text that there is none, gets the focus.
  const followed = useRef(false);
  const at = proposals.findIndex(({ id }) => id === route.path);
  const shown = at >= 0 ? proposals[at] : undefined;
  const goTo = useCallback((proposal: Proposal | undefined, replace = false) => navigate(href('review', proposal?.id ?? ''), { replace }), []);

  // The address names a proposal; without one, or when it has gone, the next one is shown.
  const place = useRef(0);
  if (at >= 0) place.current = at;
  useEffect(() => {
    if (showsDecided || !isListed || shown) return;
    if (route.path && proposals.length === 0) goTo(undefined, true);
    else if (proposals.length && (route.path || matchMedia('(min-width: 760px)').matches)) goTo(proposals[Math.min(place.current, proposals.length - 1)], true);
  }, [proposals, route.path, showsDecided, isListed]);

  useEffect(() => {
    if (!followed.current) return;
    followed.current = false;
    (document.getElementById('proposal-title') ?? document.getElementById('main'))?.focus();
  }, [shown?.id]);

  const take = async (proposal: Proposal, action: 'accept' | 'reject', files: FileDecision[] = []): Promise<void> => {
    if (busy || isAway) return;
    setBusy(true);
    try {
      if (proposal.kind === 'diff' && action === 'accept') accepting.add(proposal.id);
      const decision = await decide(proposal, action, files);
      if (decision.outcome !== 'accepted') accepting.delete(proposal.id);
      confirm(proposal, decision);
      if (decision.outcome === 'accepted' && decision.change > 0) setLast({ proposal, change: decision.change });
      if (decision.outcome !== 'shown-again') forgetEdits(proposal.id);
      followed.current = true;
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  const step = (by: number): void => {
    const next = proposals[at < 0 ? 0 : Math.min(proposals.length - 1, Math.max(0, at + by))];
    if (next && next !== shown) {
      goTo(next);
      announce(`${what(next)}, by ${knownName(next.assistant)}`);
    }
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    a: () => detail.current?.accept(),
    r: () => detail.current?.reject(),
    e: () => detail.current?.edit(),
    u: () => last && void takeBack(last.proposal, last.change),
  });

  if (word === 'limited') {
    return (
      <Empty alone icon="review" title="This token may not decide">
        <p>Proposals are shown to the owner of the vault. Open the link that <code>vaultbridge page</code> prints.</p>
      </Empty>
    );
  }
  return (
    <div class="review" data-shows={shown ? 'one' : 'list'}>
      <header class="review-head">
        <h1>Review</h1>
        <nav class="segments" aria-label="Which proposals">
          <a href={href('review')} aria-current={showsDecided ? undefined : 'page'}>Waiting {proposals.length > 0 && <span class="count">{proposals.length}</span>}</a>
          <a href={href('review', '', { show: 'decided' })} aria-current={showsDecided ? 'page' : undefined}>Decided</a>
        </nav>
        <NotifyButton />
      </header>
      {isAway && isListed && <p class="banner warn" role="status"><Icon name="warning" />The server is away. You can read, but not decide until it is back.</p>}
      {showsDecided ? <Decided isAway={isAway} />
        : !isListed && !proposals.length ? <Loading />
        : !proposals.length ? <NothingWaits isAway={isAway} />
        : (
          <div class="review-body">
            <List {...{ proposals, shown, isAway, busy, setBusy }} />
            {shown ? <Detail key={shown.id} handle={detail} proposal={shown} disabled={isAway || busy} take={take} /> : <div class="review-detail review-none quiet">Choose a proposal.</div>}
          </div>
        )}
    </div>
  );
}

function confirm(proposal: Proposal, decision: Decision): void {
  const text = `${what(proposal)}: ${decision.text}`;
  if (decision.outcome === 'shown-again') return notify(text, 'bad');
  const canUndo = decision.outcome === 'accepted' && decision.change > 0;
  const kind = decision.outcome === 'note-changed' ? 'bad' : 'good';
  notify(text, kind, canUndo ? { label: 'Undo', run: () => void takeBack(proposal, decision.change) } : undefined, aboutChange(proposal, decision.change));
}

/** What Claude Code writes itself becomes a change when it has been written; then the confirmation gets an Undo. */
departures.add(({ id, change, proposal }) => {
  if (!change || !accepting.delete(id)) return;
  notify(`${what(proposal)}: Claude Code has written it.`, 'good', { label: 'Undo', run: () => void takeBack(proposal, change) }, aboutChange(proposal, change));
});
const accepting = new Set<string>(); // diffs of Claude Code that were accepted here and are not written yet

const aboutChange = ({ vault }: Proposal, change: number): string => (change > 0 ? `${vault} ${change}` : '');

/** How often something was undone here: the list of decided proposals follows. */
const undos = new Value(0);

async function takeBack(proposal: Proposal, change: number): Promise<void> {
  try {
    await undo(proposal, change);
    dismissAbout(aboutChange(proposal, change));
    notify(`The change to ${what(proposal)} is undone.`);
    undos.set(undos.get() + 1);
  } catch (error) {
    complain(error);
  }
}

interface ListProps {
  proposals: Proposal[];
  shown: Proposal | undefined;
  isAway: boolean;
  busy: boolean;
  setBusy: (busy: boolean) => void;
}

function List({ proposals, shown, isAway, busy, setBusy }: ListProps): JSX.Element {
  const [asked, ask] = useState('');
  const names = [...new Set(proposals.map(({ assistant }) => assistant))];
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: 'nearest' }), [shown?.id]);
  const acceptAll = async (assistant: string): Promise<void> => {
    ask('');
    setBusy(true);
    await takeAll(proposals.filter((proposal) => proposal.assistant === assistant), assistant);
    setBusy(false);
  };
  return (
    <nav class="review-list" aria-label="Waiting proposals">
      {names.map((name) => {
        const own = proposals.filter(({ assistant }) => assistant === name);
        return (
          <section key={name} aria-label={knownName(name)}>
            <header>
              <h2>{knownName(name)}</h2>
              {own.length > 1 && asked !== name && <button type="button" disabled={isAway || busy} onClick={() => ask(name)}>Accept all {own.length}</button>}
              {asked === name && (
                <div class="review-sure" role="group" aria-label={`Accept all of ${knownName(name)}`}>
                  <p>Accept {own.length} proposals without looking at each?</p>
                  <button type="button" class="accept" disabled={isAway || busy} onClick={() => void acceptAll(name)}>Accept all</button>
                  <button type="button" onClick={() => ask('')}>Cancel</button>
                </div>
              )}
            </header>
            <ul>
              {own.map((proposal) => (
                <li key={proposal.id}>
                  <a href={href('review', proposal.id)} {...(proposal.id === shown?.id && { ref: current })} aria-current={proposal.id === shown?.id ? 'true' : undefined}>
                    <strong>{what(proposal)}</strong>
                    <span class="quiet">{[proposal.label === what(proposal) ? '' : proposal.label || proposal.tool, ago(proposal.at), proposal.conflict ? 'does not fit any more' : proposal.rebased ? 'the note has changed' : ''].filter(Boolean).join(' · ')}</span>
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

/** Accepts each proposal as listed; one that has changed since, or no longer fits, is left to the person. */
async function takeAll(proposals: Proposal[], assistant: string): Promise<void> {
  const done: { proposal: Proposal; change: number }[] = [];
  let left = 0;
  for (const proposal of proposals) {
    try {
      const { outcome, change } = await decide(proposal, 'accept');
      if (outcome === 'accepted') done.push({ proposal, change });
      else left++;
    } catch {
      left++;
    }
  }
  const back = async (): Promise<void> => {
    for (const { proposal, change } of done.reverse()) if (change > 0) await takeBack(proposal, change);
  };
  const more = left ? ` ${plural(left, 'proposal')} still ${left === 1 ? 'waits' : 'wait'} for a look.` : '';
  notify(`Accepted ${plural(done.length, 'proposal')} of ${knownName(assistant)}.${more}`, left ? 'bad' : 'good', done.length ? { label: 'Undo all', run: () => void back() } : undefined);
}

function NothingWaits({ isAway }: { isAway: boolean }): JSX.Element {
  const state = useValue(policy);
  const choose = (value: 'destructive' | 'all'): void => void setPolicy(value).then(() => notify('Review is on. The next change by an assistant will wait for you here.'), complain);
  return (
    <Empty icon="review" title="Nothing is waiting">
      <p>When an assistant wants to change a note, the change appears here with both texts, and nothing is written before you accept it.</p>
      {state?.review === 'off' ? (
        <>
          <p><strong>Review is off:</strong> assistants change notes at once. Only what Claude Code shows with <code>/ide</code> comes here.</p>
          <p class="review-on">
            <button type="button" class="accept" disabled={isAway} onClick={() => choose('all')}>Ask me before every change</button>
            <button type="button" disabled={isAway} onClick={() => choose('destructive')}>Only before deleting and overwriting</button>
          </p>
        </>
      ) : (
        state && <p>Review is on: {POLICIES.find(({ value }) => value === state.review)?.title.toLowerCase()}. <a href={href('settings', 'review')}>Change this</a></p>
      )}
    </Empty>
  );
}

function NotifyButton(): JSX.Element | null {
  const state = useValue(notifying);
  if (state === 'impossible') return null;
  const isOn = state === 'on';
  return (
    <button type="button" class="review-notify" aria-pressed={isOn} disabled={state === 'refused'} onClick={() => (isOn ? silence() : void askToNotify())}
      title={state === 'refused' ? 'Your browser blocks notifications from this page. You can allow them in its settings for this site.' : undefined}>
      <Icon name="bell" /><span>{state === 'refused' ? 'Notifications are blocked' : isOn ? 'Notifies you' : 'Notify me'}</span>
    </button>
  );
}

function Decided({ isAway }: { isAway: boolean }): JSX.Element {
  const loaded = useLoad(listDecided, [isAway, useValue(undos)]);
  const { again } = loaded;
  useEffect(() => {
    const tell = (): void => again();
    departures.add(tell);
    return () => void departures.delete(tell);
  }, []);
  const list = loaded.value;
  if (!list) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={again} /> : <Loading />;
  if (!list.length) return <Empty icon="review" title="Nothing has been decided yet"><p>What you accept or reject stays listed here, and what was written can be undone.</p></Empty>;
  const back = (proposal: Proposal): void => void takeBack(proposal, proposal.decided?.change ?? 0);
  return <ol class="review-decided">{list.map((proposal) => <DecidedOne key={proposal.id} {...{ proposal, isAway, back }} />)}</ol>;
}

const WHERE: Record<string, string> = { page: 'on the page', obsidian: 'in Obsidian', cli: 'in the terminal' };

function DecidedOne({ proposal, isAway, back }: { proposal: Proposal; isAway: boolean; back: (proposal: Proposal) => void }): JSX.Element {
  const [isOpen, open] = useState(false);
  const { decided, files, moreFiles } = proposal;
  const isWritten = !!decided && decided.change > 0;
  const only = files.length === 1 && !moreFiles && files[0]?.change !== 'deleted' ? files[0] : undefined;
  const about = [knownName(proposal.assistant), proposal.label === what(proposal) ? '' : proposal.label || proposal.tool, ago(decided?.at ?? proposal.at), decided?.by ? `decided ${WHERE[decided.by] ?? `by ${decided.by}`}` : ''];
  return (
    <li class="card">
      <div>
        <p><strong>{only ? <a href={href('note', isWritten && !decided.undone ? only.path : only.was || only.path, { vault: proposal.vault })}>{what(proposal)}</a> : what(proposal)}</strong> <span class="tag" data-status={decided?.undone ? 'undone' : proposal.status}>{OUTCOMES[proposal.status] ?? proposal.status}{decided?.undone ? ', undone' : ''}</span></p>
        <p class="quiet">{about.filter(Boolean).join(' · ')}</p>
        {decided?.reason && <p class="quiet">“{decided.reason}”</p>}
      </div>
      {isWritten && <button type="button" class="decided-show" aria-expanded={isOpen} onClick={() => open(!isOpen)}>{isOpen ? 'Hide' : 'Show'} the change</button>}
      {isWritten && !decided.undone && <button type="button" class="decided-undo" disabled={isAway} onClick={() => back(proposal)}><Icon name="undo" />Undo</button>}
      {isOpen && isWritten && <Shown vault={proposal.vault} change={decided.change} />}
    </li>
  );
}
