// The assistants that the server has seen, from its events and answers. Loaded with the page, so that no event is missed.

import { api, type Asked } from '../lib/api';
import { live } from '../lib/live';
import { Order, Value } from '../lib/value';
import type { Assistant } from './model';

export interface Known {
  assistants: Assistant[];
  pausedAll: boolean;
}

/** All assistants; null until the first event. */
export const known = new Value<Known | null>(null);

const order = new Order();
const EVERYONE = ''; // the name of `pausedAll` in the order; an assistant has its id

function put({ assistants, pausedAll }: Known, asked = order.ask()): void {
  const before = known.get();
  const all = new Map((before?.assistants ?? []).map((assistant) => [assistant.id, assistant]));
  for (const assistant of assistants) if (order.take(assistant.id, asked)) all.set(assistant.id, assistant);
  known.set({ assistants: [...all.values()], pausedAll: order.take(EVERYONE, asked) || !before ? pausedAll : before.pausedAll });
}

live.on('assistantsSeen', (seen: Known) => put(seen));
// After a restart of the server its ids start again.
live.hello.watch(() => (order.clear(), known.set(null)));

/** Requests assistants: all, or those that a button concerns. What a later event said is kept. */
export async function askAssistants(path: string, asking: Asked): Promise<void> {
  const [asked, server] = [order.ask(), live.hello.get()];
  const answer = await api<Known>(path, asking);
  if (live.hello.get() === server) put(answer, asked);
}

/** The name that people know a client by: `claude-ai` is Claude Desktop. */
export const knownName = (client: string): string => known.get()?.assistants.find((assistant) => assistant.client === client)?.name ?? client;
