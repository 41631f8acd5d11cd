// The proposals that wait for a person, kept up to date by the server's events. What can be accepted, and how it fits
// the notes as they are now, the server alone decides: nothing is merged here.

import { api } from '../lib/api';
import { live } from '../lib/live';
import { Order, Value } from '../lib/value';

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
  /** Whether it is a text; a list of proposals does not say. */
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

export interface Closed {
  id: string;
  status: string;
  by: string;
  change: number;
  text: string;
  proposal: Proposal;
}

export type Policy = 'off' | 'destructive' | 'all';

export interface ReviewState {
  review: Policy;
  set: Policy | null;
  configured: Policy;
  least: Policy;
  wait: number;
}

/** Those that wait, oldest first. */
export const waiting = new Value<Proposal[]>([]);
export const policy = new Value<ReviewState | null>(null);
/** Whether the list has come at least once. */
export const listed = new Value(false);

const byAge = (list: Proposal[]): Proposal[] => list.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));

const order = new Order();
const POLICY = ''; // the name of the policy in the order; a proposal has its id

/** Texts that are known for this hash stay: an event or a list may come without them. */
function withTexts(proposal: Proposal): Proposal {
  const before = waiting.get().find(({ id }) => id === proposal.id);
  return before && before.hash === proposal.hash && hasTexts(before) && !hasTexts(proposal) ? { ...proposal, files: before.files } : proposal;
}

/** Whether it was the newest that is known of the proposal. */
function put(proposal: Proposal, asked = order.ask()): boolean {
  if (!order.take(proposal.id, asked)) return false;
  waiting.set(byAge([...waiting.get().filter(({ id }) => id !== proposal.id), withTexts(proposal)]));
  return true;
}

function drop(id: string): void {
  order.take(id);
  waiting.set(waiting.get().filter((other) => other.id !== id));
}

async function askPolicy(method: 'review' | 'setReview', params: { review?: Policy | null } = {}): Promise<void> {
  const asked = order.ask();
  const state = await live.ask<ReviewState>(method, params);
  if (order.take(POLICY, asked)) policy.set(state);
}

/** What to do when a proposal arrives that was not there before: badges, notifications of the desktop. */
export const arrivals = new Set<(proposal: Proposal) => void>();
export const departures = new Set<(closed: Closed) => void>();

live.on('proposalOpened', (proposal: Proposal) => {
  const isNew = !waiting.get().some(({ id }) => id === proposal.id);
  put(proposal);
  if (isNew && listed.get()) for (const tell of arrivals) tell(proposal);
});
live.on('proposalChanged', (proposal: Proposal) => void put(proposal));
live.on('proposalClosed', (closed: Closed) => {
  drop(closed.id);
  for (const tell of departures) tell(closed);
});
live.on('reviewChanged', (state: ReviewState) => order.take(POLICY) && policy.set(state));
live.hello.watch(async (hello) => {
  if (!hello) return;
  listed.set(false);
  try {
    await askPolicy('review');
    const asked = order.ask();
    const { proposals } = await live.ask<{ proposals: Proposal[] }>('proposals');
    // What events have brought or closed since the question was asked is newer than the list.
    const fresh = proposals.filter(({ id }) => order.take(id, asked)).map(withTexts);
    const brought = waiting.get().filter(({ id }) => !fresh.some((other) => other.id === id) && !order.take(id, asked));
    waiting.set(byAge([...fresh, ...brought]));
    listed.set(true);
  } catch {
    // The connection went away; it comes back with a new hello.
  }
});

/** One proposal with its texts, fitted to the notes as they are now. */
export async function look(id: string): Promise<Proposal> {
  for (let left = LOOKS; ; left--) {
    const asked = order.ask();
    const { proposal } = await live.ask<{ proposal: Proposal }>('proposal', { id });
    const isListed = proposal.status === 'waiting' && waiting.get().some((listed) => listed.id === id);
    if (!isListed || put(proposal, asked) || left <= 1) return proposal;
  }
}
const LOOKS = 5; // while events overtake the answers

/** What accepting these texts would write now: `fits`, or `shown-again` where the same lines were written meanwhile. */
export const preview = (id: string, hash: string, files: FileDecision[]): Promise<{ outcome: 'fits' | 'shown-again'; proposal: Proposal }> =>
  live.ask('preview', { id, hash, files });

/** The proposals that this page is deciding on now: others go because somebody else has decided. */
export const deciding = new Set<string>();

export async function decide(proposal: Proposal, action: 'accept' | 'reject', files: FileDecision[] = []): Promise<Decision> {
  const asked = order.ask();
  deciding.add(proposal.id);
  try {
    const decision = await live.ask<Decision>('decide', { id: proposal.id, hash: proposal.hash, action, ...(files.length && { files }) });
    if (decision.outcome === 'shown-again') put(decision.proposal, asked);
    else drop(proposal.id);
    return decision;
  } finally {
    deciding.delete(proposal.id);
  }
}

/** Undoes what an accepted proposal wrote. What Claude Code wrote itself is a change like any other. */
export async function undo({ id, kind, vault }: Proposal, change: number): Promise<void> {
  if (kind === 'tool') await live.ask('undoProposal', { id });
  else await api('undo', { body: { vault, change, force: false }, query: { vault } });
}

export const setPolicy = (review: Policy | null): Promise<void> => askPolicy('setReview', { review });

export async function listDecided(): Promise<Proposal[]> {
  const { proposals } = await live.ask<{ proposals: Proposal[] }>('proposals', { status: 'all', limit: 100 });
  return proposals.filter(({ status }) => status !== 'waiting');
}

export const hasTexts = (proposal: Proposal): boolean =>
  proposal.files.every((file) => file.text === false || (typeof file.oldText === 'string' && typeof file.newText === 'string'));
