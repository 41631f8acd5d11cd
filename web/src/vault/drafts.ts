// Texts that a person has begun to edit. They are kept while other views are shown, and until they are saved.

import { Value } from '../lib/value';

export interface Draft {
  path: string;
  vault: string;
  text: string;
  /** The text and hash of the note with which the person began. */
  original: string;
  hash: string;
}

export const drafts = new Value<ReadonlyMap<string, Draft>>(new Map());

const keyOf = (vault: string, path: string): string => `${vault}/${path}`;

export const findDraft = (vault: string, path: string): Draft | undefined => drafts.get().get(keyOf(vault, path));

export function keepDraft(draft: Draft): void {
  const next = new Map(drafts.get());
  if (draft.text === draft.original) next.delete(keyOf(draft.vault, draft.path));
  else next.set(keyOf(draft.vault, draft.path), draft);
  drafts.set(next);
}

export function dropDraft(vault: string, path: string): void {
  const next = new Map(drafts.get());
  next.delete(keyOf(vault, path));
  drafts.set(next);
}

/** The file has another path now: what was begun belongs to it still. */
export function moveDraft(vault: string, from: string, to: string): void {
  const draft = findDraft(vault, from);
  if (!draft || from === to) return;
  dropDraft(vault, from);
  keepDraft({ ...draft, path: to });
}

addEventListener('beforeunload', (event) => drafts.get().size && event.preventDefault());
