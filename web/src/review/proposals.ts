// The proposals that wait for a person, kept up to date by the server's events. What can be accepted, and how it fits
// the notes as they are now, the server alone decides: nothing is merged here.

import { api } from '../lib/api';
import { live } from '../lib/live';
import { Value } from '../lib/value';

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
  text: boolean;
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

const put = (proposal: Proposal): void => waiting.set(byAge([...waiting.get().filter(({ id }) => id !== proposal.id), proposal]));
const drop = (id: string): void => waiting.set(waiting.get().filter((one) => one.id !== id));

/** What to do when a proposal arrives that was not there before: badges, notifications of the desktop. */
export const arrivals = new Set<(proposal: Proposal) => void>();
export const departures = new Set<(closed: Closed) => void>();

live.on('proposalOpened', (proposal: Proposal) => {
  const isNew = !waiting.get().some(({ id }) => id === proposal.id);
  put(proposal);
  if (isNew && listed.get()) for (const tell of arrivals) tell(proposal);
});
live.on('proposalChanged', put);
live.on('proposalClosed', (closed: Closed) => {
  drop(closed.id);
  for (const tell of departures) tell(closed);
});
live.on('reviewChanged', (state: ReviewState) => policy.set(state));
live.hello.watch(async (hello) => {
  if (!hello) return;
  listed.set(false);
  try {
    policy.set(await live.ask<ReviewState>('review'));
    // Last, and used as soon as it comes: a proposal that an event brings after this answer is not in it.
    const { proposals } = await live.ask<{ proposals: Proposal[] }>('proposals');
    // An event may have brought texts already: keep those that are of the same hash.
    const known = new Map(waiting.get().map((one) => [`${one.id} ${one.hash}`, one]));
    waiting.set(byAge(proposals.map((one) => known.get(`${one.id} ${one.hash}`) ?? one)));
    listed.set(true);
  } catch {
    // The connection went away; it comes back with a new hello.
  }
});

/** One proposal with its texts, fitted to the notes as they are now. */
export async function look(id: string): Promise<Proposal> {
  const { proposal } = await live.ask<{ proposal: Proposal }>('proposal', { id });
  if (proposal.status === 'waiting' && waiting.get().some((one) => one.id === id)) put(proposal);
  return proposal;
}

/** What accepting these texts would write now: `fits`, or `shown-again` where the same lines were written meanwhile. */
export const preview = (id: string, hash: string, files: FileDecision[]): Promise<{ outcome: 'fits' | 'shown-again'; proposal: Proposal }> =>
  live.ask('preview', { id, hash, files });

export async function decide(proposal: Proposal, action: 'accept' | 'reject', files: FileDecision[] = []): Promise<Decision> {
  const decision = await live.ask<Decision>('decide', { id: proposal.id, hash: proposal.hash, action, ...(files.length && { files }) });
  if (decision.outcome === 'shown-again') put(decision.proposal);
  else drop(proposal.id);
  return decision;
}

/** Undoes what an accepted proposal wrote. What Claude Code wrote itself is a change like any other. */
export async function undo({ id, kind, vault }: Proposal, change: number): Promise<void> {
  if (kind === 'tool') await live.ask('undoProposal', { id });
  else await api('undo', { body: { vault, change, force: false }, query: { vault } });
}

export async function setPolicy(review: Policy | null): Promise<void> {
  policy.set(await live.ask<ReviewState>('setReview', { review }));
}

export async function listDecided(): Promise<Proposal[]> {
  const { proposals } = await live.ask<{ proposals: Proposal[] }>('proposals', { status: 'all', limit: 100 });
  return proposals.filter(({ status }) => status !== 'waiting');
}

export const hasTexts = (proposal: Proposal): boolean =>
  proposal.files.every((file) => !file.text || (typeof file.oldText === 'string' && typeof file.newText === 'string'));
