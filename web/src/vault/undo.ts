// Undo, offered in the notice that confirms a change.

import { api } from '../lib/api';
import { live } from '../lib/live';
import { type Notice, notify, notifyError } from '../lib/notices';

/** A button that undoes a change, or undefined: only the owner of the vault may undo. */
export function makeUndoAction(change: number | null, onUndone: () => unknown): Notice['action'] {
  if (change === null || live.state.get().status !== 'connected') return undefined;
  const undo = async (): Promise<void> => {
    try {
      await api('undo', { body: { vault: live.hello.get()?.vault ?? '', change, force: false } });
      await onUndone();
      notify('The change was undone.');
    } catch (error) {
      notifyError(error);
    }
  };
  return { label: 'Undo', run: () => void undo() };
}
