// Proposals in words.

import { plural } from '../lib/ui';
import type { Hunk, Policy, Proposal, ProposedFile } from './proposals';

export function what(proposal: Proposal): string {
  const { files, moreFiles } = proposal;
  const count = files.length + moreFiles;
  const [first] = files;
  if (!first) return proposal.label || 'a change';
  if (count > 1) return plural(count, 'file');
  return first.change === 'moved' && first.was ? `${first.was} → ${first.path}` : first.path;
}

const VERBS = { created: 'Create', changed: 'Change', moved: 'Move', deleted: 'Delete' };

/** What would be done, for a heading. */
export function deed({ files, moreFiles }: Proposal): string {
  const kinds = new Set(files.map(({ change }) => change));
  const [only] = kinds;
  return kinds.size === 1 && only && !moreFiles ? VERBS[only] : 'Change';
}

export const fileDeed = (file: ProposedFile): string =>
  ({ created: 'a new file', changed: 'changed', deleted: 'deleted', moved: `moved from ${file.was}` })[file.change];

const REASONS: Record<string, string> = {
  all: 'every change is reviewed',
  delete: 'it deletes',
  overwrite: 'it overwrites a whole note',
  folder: 'it moves a folder',
  'many files': 'it touches many files',
  diff: 'Claude Code asks in the editor',
};

export const why = (reason: string): string => REASONS[reason] ?? reason;

export const OUTCOMES: Record<string, string> = {
  accepted: 'Accepted',
  edited: 'Accepted with your edits',
  rejected: 'Rejected',
  expired: 'Expired: nobody decided',
  withdrawn: 'Withdrawn by the assistant',
  'accepted-in-terminal': 'Accepted in the terminal',
  'note-changed': 'Accepted, but not written: the note had changed',
};

export const POLICIES: { value: Policy; title: string; explains: string }[] = [
  { value: 'off', title: 'Off', explains: 'Assistants change notes at once. Every change can be undone under Activity.' },
  { value: 'destructive', title: 'Only destructive changes', explains: 'You are asked before something is deleted or overwritten, a folder is moved, or many files change.' },
  { value: 'all', title: 'Every change', explains: 'Nothing is written before you have accepted it here, in Obsidian or in the terminal.' },
];

export function countLines(hunks: Hunk[] | undefined): { plus: number; minus: number } {
  let [plus, minus] = [0, 0];
  for (const { lines } of hunks ?? [])
    for (const line of lines) {
      if (line.startsWith('+')) plus++;
      else if (line.startsWith('-')) minus++;
    }
  return { plus, minus };
}

/** A hunk in a few words: where it is, and its first new or removed line. */
export function hunkTitle(hunk: Hunk): { line: number; text: string } {
  let line = hunk.newStart;
  let first = '';
  for (const text of hunk.lines) {
    if (!text.startsWith(' ')) {
      first = text;
      break;
    }
    line++;
  }
  const added = hunk.lines.find((text) => text.startsWith('+') && text.slice(1).trim());
  const text = (added ?? first).slice(1).trim();
  return { line, text: added ? text : `removes ${text || 'an empty line'}` };
}

/** The new text with only some of its hunks, as the server would write it. */
export function withHunks(file: ProposedFile, taken: ReadonlySet<number>): string {
  const hunks = file.hunks ?? [];
  if (taken.size === hunks.length) return file.newText ?? '';
  const old = (file.oldText ?? '').split(/(?<=\n)/);
  const fresh = (file.newText ?? '').split(/(?<=\n)/);
  const parts: string[] = [];
  let at = 0;
  hunks.forEach((hunk, i) => {
    const start = hunk.oldLines ? hunk.oldStart - 1 : hunk.oldStart; // with no old line, the line after which it is put
    const begin = hunk.newLines ? hunk.newStart - 1 : hunk.newStart;
    parts.push(...old.slice(at, start));
    parts.push(...(taken.has(i) ? fresh.slice(begin, begin + hunk.newLines) : old.slice(start, start + hunk.oldLines)));
    at = start + hunk.oldLines;
  });
  return [...parts, ...old.slice(at)].join('');
}
