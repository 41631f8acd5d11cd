// What a person has changed about proposals before deciding. It is kept while other proposals are shown; texts also survive a
// reload.

import { DraftStore } from '../lib/draft-store';
import { copyText, notify } from '../lib/notices';
import type { FileEdit } from './hunks';
import { closeHandlers, deciding, isLoaded, type Proposal, waitingProposals } from './proposals';

export interface ProposalEdit extends FileEdit {
  /** The hash of the proposal on which the text is based. */
  hash?: string;
  /** The text after the server fitted it to a note that had changed in the meantime. */
  fitted?: string;
  /** Set if it could not, because the same lines had changed. */
  hasConflict?: boolean;
}

/** By the path of the file. */
type ProposalEdits = Map<string, ProposalEdit>;

const MAX_PROPOSALS = 50; // whose edits are kept

const editsById = new Map<string, ProposalEdits>();
const storedTexts = new DraftStore<[string, ProposalEdit][]>('proposal-edits');

export function getEdits(id: string): ProposalEdits {
  const edits = editsById.get(id) ?? new Map<string, ProposalEdit>(storedTexts.get().get(id));
  editsById.set(id, edits);
  if (editsById.size > MAX_PROPOSALS) editsById.delete(editsById.keys().next().value ?? '');
  return edits;
}

/** Stores the texts of a proposal that differ from what was proposed. */
export function storeTexts({ id, files }: Proposal): void {
  const texts = [...getEdits(id)].filter(([path, { text }]) => text !== undefined && text !== files.find((file) => file.path === path)?.newText);
  if (texts.length) storedTexts.put(id, texts);
  else storedTexts.remove(id);
}

/** To be called when the proposal has been decided with these edits. */
export function discardEdits(id: string): void {
  editsById.delete(id);
  storedTexts.remove(id);
}

/** The proposal was closed while it was being edited. Only the person knows whether their text matters, so it is offered to them. */
function offerTexts(id: string): void {
  const texts = (storedTexts.get().get(id) ?? []).map(([, { text = '' }]) => text);
  discardEdits(id);
  if (!texts.length) return;
  const copy = (): void => copyText(texts.join('\n\n'), 'Your text was copied.');
  notify('The proposal that you were editing was reviewed elsewhere or withdrawn. Your text was not used.', 'bad', { label: 'Copy my text', run: copy });
}

closeHandlers.add(({ id }) => deciding.has(id) || offerTexts(id));
isLoaded.subscribe((loaded) => {
  if (!loaded) return;
  for (const id of [...storedTexts.get().keys()]) if (!waitingProposals.get().some((proposal) => proposal.id === id)) offerTexts(id);
});
