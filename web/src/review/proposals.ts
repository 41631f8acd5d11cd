// The proposals that wait for a person, kept up to date by the server's events. The server alone decides what can be
// accepted and how it fits the current notes: nothing is merged here.

import { api } from '../lib/api';
import { live } from '../lib/live';
import { RequestOrder } from '../lib/request-order';
import { Store } from '../lib/store';

export interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

export interface ProposedFile {
  path: string;
  was: string;
  change: 'created' | 'changed' | 'moved' | 'deleted';
  /** Whether it is a text; missing in a list of proposals. */
  text?: boolean;
  oldText?: string | null;
  newText?: string | null;
  hunks?: Hunk[];
  size: number;
  conflict: string;
}

export interface Proposal {
  id: string;
  kind: 'tool' | 'diff';
  status: string;
  vault: string;
  assistant: string;
  token: string;
  tool: string;
  label: string;
  reason: string;
  at: number;
  expires: number | null;
  hash: string;
  files: ProposedFile[];
  moreFiles: number;
  notices: string[];
  rebased: number;
  conflict: string;
  elsewhere: { path: string; at: number; by: string }[];
  decided: null | { at: number; by: string; reason: string; change: number; undone: boolean; edited: boolean };
}

export interface FileDecision {
  path: string;
  text?: string;
  hunks?: number[];
  skip?: boolean;
}

export interface Decision {
  outcome: 'accepted' | 'rejected' | 'shown-again' | 'note-changed';
  text: string;
  proposal: Proposal;
  change: number;
}

interface ClosedProposal {
  id: string;
  status: string;
  by: string;
  change: number;
  text: string;
  proposal: Proposal;
}

export type Policy = 'off' | 'destructive' | 'all';

interface ReviewState {
  review: Policy;
  set: Policy | null;
  configured: Policy;
  least: Policy;
  wait: number;
}

/** Waiting proposals, oldest first. */
export const waitingProposals = new Store<Proposal[]>([]);
export const reviewState = new Store<ReviewState | null>(null);
/** Whether the list has been loaded since the page connected. */
export const isLoaded = new Store(false);

const sortByAge = (list: Proposal[]): Proposal[] => list.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));

const order = new RequestOrder();
const REVIEW_STATE = ''; // the key of the review state in the order; the key of a proposal is its id

/** Adds the texts that are known for this hash: events and lists come without them. */
function addTexts(proposal: Proposal): Proposal {
  const last = waitingProposals.get().find(({ id }) => id === proposal.id);
  return last && last.hash === proposal.hash && hasTexts(last) && !hasTexts(proposal) ? { ...proposal, files: last.files } : proposal;
}

/** Stores a proposal. Returns whether nothing newer was known of it. */
function update(proposal: Proposal, started = order.start()): boolean {
  if (!order.accept(proposal.id, started)) return false;
  waitingProposals.set(sortByAge([...waitingProposals.get().filter(({ id }) => id !== proposal.id), addTexts(proposal)]));
  return true;
}

function remove(id: string): void {
  order.accept(id);
  waitingProposals.set(waitingProposals.get().filter((other) => other.id !== id));
}

async function requestReviewState(method: 'review' | 'setReview', params: { review?: Policy | null } = {}): Promise<void> {
  const started = order.start();
  const state = await live.request<ReviewState>(method, params);
  if (order.accept(REVIEW_STATE, started)) reviewState.set(state);
}

/** Called with each proposal that is new, and with each that is no longer waiting. */
export const arrivalHandlers = new Set<(proposal: Proposal) => void>();
export const closeHandlers = new Set<(closed: ClosedProposal) => void>();

live.on('proposalOpened', (proposal: Proposal) => {
  const isNew = !waitingProposals.get().some(({ id }) => id === proposal.id);
  update(proposal);
  if (isNew && isLoaded.get()) for (const handle of arrivalHandlers) handle(proposal);
});
live.on('proposalChanged', (proposal: Proposal) => void update(proposal));
live.on('proposalClosed', (closed: ClosedProposal) => {
  remove(closed.id);
  for (const handle of closeHandlers) handle(closed);
});
live.on('reviewChanged', (state: ReviewState) => order.accept(REVIEW_STATE) && reviewState.set(state));
live.hello.subscribe(async (hello) => {
  if (!hello) return;
  isLoaded.set(false);
  try {
    await requestReviewState('review');
    const started = order.start();
    const { proposals } = await live.request<{ proposals: Proposal[] }>('proposals');
    // What events have added or closed since the request is newer than the list.
    const listed = proposals.filter(({ id }) => order.accept(id, started)).map(addTexts);
    const added = waitingProposals.get().filter(({ id }) => !listed.some((other) => other.id === id) && !order.accept(id, started));
    waitingProposals.set(sortByAge([...listed, ...added]));
    isLoaded.set(true);
  } catch {
    // The connection was lost; the next one begins with a new hello.
  }
});

/** Loads a proposal with its texts, fitted to the current notes. */
export async function loadProposal(id: string): Promise<Proposal> {
  for (let left = MAX_LOADS; ; left--) {
    const started = order.start();
    const { proposal } = await live.request<{ proposal: Proposal }>('proposal', { id });
    const isListed = proposal.status === 'waiting' && waitingProposals.get().some((other) => other.id === id);
    if (!isListed || update(proposal, started) || left <= 1) return proposal;
  }
}
const MAX_LOADS = 5; // if events keep overtaking the answers

/** What accepting these texts would write now: `fits`, or `shown-again` if the same lines have been changed in the meantime. */
export const previewDecision = (id: string, hash: string, files: FileDecision[]): Promise<{ outcome: 'fits' | 'shown-again'; proposal: Proposal }> =>
  live.request('preview', { id, hash, files });

/** The proposals that this page is deciding on. Others are closed because they were decided elsewhere or withdrawn. */
export const deciding = new Set<string>();

export async function decide(proposal: Proposal, action: 'accept' | 'reject', files: FileDecision[] = []): Promise<Decision> {
  const started = order.start();
  deciding.add(proposal.id);
  try {
    const decision = await live.request<Decision>('decide', { id: proposal.id, hash: proposal.hash, action, ...(files.length && { files }) });
    if (decision.outcome === 'shown-again') update(decision.proposal, started);
    else remove(proposal.id);
    return decision;
  } finally {
    deciding.delete(proposal.id);
  }
}

/** Undoes what an accepted proposal wrote. What Claude Code wrote itself is a change like any other. */
export async function undoProposal({ id, kind, vault }: Proposal, change: number): Promise<void> {
  if (kind === 'tool') await live.request('undoProposal', { id });
  else await api('undo', { body: { vault, change, force: false }, query: { vault } });
}

export const setReviewPolicy = (review: Policy | null): Promise<void> => requestReviewState('setReview', { review });

export async function listDecided(): Promise<Proposal[]> {
  const { proposals } = await live.request<{ proposals: Proposal[] }>('proposals', { status: 'all', limit: 100 });
  return proposals.filter(({ status }) => status !== 'waiting');
}

export const hasTexts = (proposal: Proposal): boolean =>
  proposal.files.every((file) => file.text === false || (typeof file.oldText === 'string' && typeof file.newText === 'string'));
