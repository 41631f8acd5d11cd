// Notes that a person has started to edit, until they are saved.

import { DraftStore } from '../lib/draft-store';
import { useStore } from '../lib/store';

export interface Draft {
  path: string;
  vault: string;
  text: string;
  /** The text and hash of the note on which the draft is based. */
  original: string;
  hash: string;
}

const drafts = new DraftStore<Draft>('drafts');

const keyOf = (vault: string, path: string): string => `${vault}/${path}`;

export const findDraft = (vault: string, path: string): Draft | undefined => drafts.get().get(keyOf(vault, path));

/** The draft of a note; the component is rendered again when it changes. */
export const useDraft = (vault: string, path: string): Draft | undefined => useStore(drafts).get(keyOf(vault, path));

/** Stores a draft. One that does not differ from the note is discarded. */
export function saveDraft(draft: Draft): void {
  if (draft.text === draft.original) discardDraft(draft.vault, draft.path);
  else drafts.put(keyOf(draft.vault, draft.path), draft);
}

export const discardDraft = (vault: string, path: string): void => drafts.remove(keyOf(vault, path));

/** Moves the draft of a file that was renamed. */
export function moveDraft(vault: string, from: string, to: string): void {
  const draft = findDraft(vault, from);
  if (!draft || from === to) return;
  discardDraft(vault, from);
  saveDraft({ ...draft, path: to });
}
