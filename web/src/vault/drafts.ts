// Notes that a person has begun to edit, until they are saved.

import { Kept } from '../lib/kept';

export interface Draft {
  path: string;
  vault: string;
  text: string;
  /** The text and hash of the note with which the person began. */
  original: string;
  hash: string;
}

export const drafts = new Kept<Draft>('drafts');

const keyOf = (vault: string, path: string): string => `${vault}/${path}`;

export const findDraft = (vault: string, path: string): Draft | undefined => drafts.get().get(keyOf(vault, path));

export const keepDraft = (draft: Draft): void => drafts.put(keyOf(draft.vault, draft.path), draft.text === draft.original ? undefined : draft);

export const dropDraft = (vault: string, path: string): void => drafts.put(keyOf(vault, path), undefined);

/** The file has another path now: its draft moves with it. */
export function moveDraft(vault: string, from: string, to: string): void {
  const draft = findDraft(vault, from);
  if (!draft || from === to) return;
  dropDraft(vault, from);
  keepDraft({ ...draft, path: to });
}
