// The assistants that the server has seen, by its events. Loaded with the page, so that none of them is missed.

import { live } from '../lib/live';
import { Value } from '../lib/value';
import type { Assistant } from './model';

export interface Known {
  assistants: Assistant[];
  pausedAll: boolean;
}

/** All assistants; null until the first event. */
export const known = new Value<Known | null>(null);

live.on('assistantsSeen', ({ assistants, pausedAll }: Known) => {
  const all = new Map((known.get()?.assistants ?? []).map((one) => [one.id, one]));
  for (const one of assistants) all.set(one.id, one);
  known.set({ assistants: [...all.values()], pausedAll });
});
// After a restart of the server its ids begin anew.
live.hello.watch(() => known.set(null));

/** The name that people know a client by: `claude-ai` is Claude Desktop. */
export const knownName = (client: string): string => known.get()?.assistants.find((one) => one.client === client)?.name ?? client;
