// How proposals are described to people.

import { pluralize } from '../lib/format';
import type { Policy, Proposal, ProposedFile } from './proposals';

/** The file that a proposal moves; its other files are those whose links follow. Undefined for anything else. */
const findMoved = ({ label, files: [first] }: Proposal): ProposedFile | undefined => (label === 'move' && first?.change === 'moved' && first.was ? first : undefined);

const withoutEnding = (path: string): string => path.replace(/\.md$/, '');
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

/** What a proposal is about: a path, or how many files. */
export function describeTarget(proposal: Proposal): string {
  const { files, moreFiles } = proposal;
  const count = files.length + moreFiles;
  const [first] = files;
  if (!first) return proposal.label || 'a change';
  const moved = findMoved(proposal);
  if (moved) return `${withoutEnding(moved.was)} → ${withoutEnding(moved.path)}`;
  if (count > 1) return pluralize(count, 'file');
  return first.change === 'moved' && first.was ? `${first.was} → ${first.path}` : first.path;
}

const VERBS = { created: 'Create', changed: 'Change', moved: 'Move', deleted: 'Delete' };

/** What a proposal would do, as a heading. */
export function describeProposal(proposal: Proposal): string {
  const links = findMoved(proposal) ? proposal.files.length + proposal.moreFiles - 1 : 0;
  return `${describeAction(proposal)} ${describeTarget(proposal)}${links ? `, and update links in ${pluralize(links, 'note')}` : ''}`;
}

function describeAction(proposal: Proposal): string {
  const { files, moreFiles } = proposal;
  const moved = findMoved(proposal);
  if (moved) return folderOf(moved.was) === folderOf(moved.path) ? 'Rename' : 'Move';
  const kinds = new Set(files.map(({ change }) => change));
  const [only] = kinds;
  return kinds.size === 1 && only && !moreFiles ? VERBS[only] : 'Change';
}

export const describeFileChange = (file: ProposedFile): string =>
  ({ created: 'a new file', changed: 'changed', deleted: 'deleted', moved: `moved from ${file.was}` })[file.change];

const REASONS: Record<string, string> = {
  all: 'every change is reviewed',
  delete: 'it deletes',
  overwrite: 'it overwrites a whole note',
  loss: 'it removes much of the text',
  folder: 'it moves a folder',
  'many files': 'it touches many files',
  "another's": 'it undoes somebody else’s change',
  diff: 'Claude Code asks in its editor',
};

/** Why a change waits, to follow "because". */
export const describeReason = (reason: string): string => REASONS[reason] ?? reason;

export const OUTCOMES: Record<string, string> = {
  accepted: 'Accepted',
  edited: 'Accepted with your edits',
  rejected: 'Rejected',
  expired: 'Expired without a review',
  withdrawn: 'Withdrawn by the assistant',
  'accepted-in-terminal': 'Accepted in the terminal',
  'note-changed': 'Accepted, but not written: the note had changed',
};

export const POLICIES: { value: Policy; title: string; description: string }[] = [
  { value: 'off', title: 'Off', description: 'Assistants change notes at once. Every change can be undone under Activity.' },
  { value: 'destructive', title: 'Only destructive changes', description: 'You are asked before something is deleted or overwritten, much text is removed, a folder is moved, or many files change.' },
  { value: 'all', title: 'Every change', description: 'Nothing is written before you have accepted it here, in Obsidian or in the terminal.' },
];
