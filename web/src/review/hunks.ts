// The hunks of a proposal: which of them a person accepts, and what is written then. Pure: no page, no network.

import type { FileDecision, Hunk, ProposedFile } from './proposals';

/** What a person has changed about a file before deciding: their own text, or the hunks that they leave out. */
export interface FileEdit {
  text?: string;
  leftOut?: ReadonlySet<number>;
}

/** A file of a proposal, as far as a decision needs it. */
interface DecidableFile {
  path: string;
  newText: string | null | undefined;
  hunkCount: number;
}

/** What to send for a file; null if it is accepted as proposed. A person's own text counts, whatever they left out before. */
export function makeFileDecision({ path, newText, hunkCount }: DecidableFile, edit: FileEdit | undefined): FileDecision | null {
  if (edit?.text !== undefined) return edit.text === newText ? null : { path, text: edit.text };
  const leftOut = edit?.leftOut;
  if (!leftOut?.size) return null;
  return leftOut.size === hunkCount ? { path, skip: true } : { path, hunks: [...Array(hunkCount).keys()].filter((i) => !leftOut.has(i)) };
}

/** How many of a proposal's changes are accepted. Each hunk is a change, and so is a file without hunks. */
export function countChanges(files: readonly DecidableFile[], edits: ReadonlyMap<string, FileEdit>): { all: number; accepted: number } {
  let [all, accepted] = [0, 0];
  for (const { path, hunkCount } of files) {
    const count = Math.max(1, hunkCount);
    const edit = edits.get(path);
    all += count;
    accepted += count - (edit?.text === undefined ? (edit?.leftOut?.size ?? 0) : 0);
  }
  return { all, accepted };
}

/** Leaves a hunk out, or takes it back in. */
export function toggleHunk(leftOut: ReadonlySet<number> | undefined, hunk: number): FileEdit | null {
  const next = new Set(leftOut);
  if (!next.delete(hunk)) next.add(hunk);
  return next.size ? { leftOut: next } : null;
}

export function countLines(hunks: Hunk[] | undefined): { plus: number; minus: number } {
  let [plus, minus] = [0, 0];
  for (const { lines } of hunks ?? [])
    for (const line of lines) {
      if (line.startsWith('+')) plus++;
      else if (line.startsWith('-')) minus++;
    }
  return { plus, minus };
}

/** A hunk in a few words: where it is, and its first added or removed line. */
export function describeHunk(hunk: Hunk): { line: number; text: string } {
  let line = hunk.newStart;
  let firstChange = '';
  for (const text of hunk.lines) {
    if (!text.startsWith(' ')) {
      firstChange = text;
      break;
    }
    line++;
  }
  const added = hunk.lines.find((text) => text.startsWith('+') && text.slice(1).trim());
  const text = (added ?? firstChange).slice(1).trim();
  return { line, text: added ? text : `removes ${text || 'an empty line'}` };
}

/** The new text with only some of its hunks, as the server would write it. */
export function applyHunks(file: ProposedFile, accepted: ReadonlySet<number>): string {
  const hunks = file.hunks ?? [];
  if (accepted.size === hunks.length) return file.newText ?? '';
  const oldLines = (file.oldText ?? '').split(/(?<=\n)/);
  const newLines = (file.newText ?? '').split(/(?<=\n)/);
  const parts: string[] = [];
  let at = 0;
  hunks.forEach((hunk, i) => {
    const oldAt = hunk.oldLines ? hunk.oldStart - 1 : hunk.oldStart; // without old lines, the line after which it is inserted
    const newAt = hunk.newLines ? hunk.newStart - 1 : hunk.newStart;
    parts.push(...oldLines.slice(at, oldAt));
    parts.push(...(accepted.has(i) ? newLines.slice(newAt, newAt + hunk.newLines) : oldLines.slice(oldAt, oldAt + hunk.oldLines)));
    at = oldAt + hunk.oldLines;
  });
  return [...parts, ...oldLines.slice(at)].join('');
}
