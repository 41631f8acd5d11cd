// The assistants that the server knows, from its events and answers. Loaded with the page, so that no event is missed.

import { api, type ApiOptions } from '../lib/api';
import { useLoad } from '../lib/hooks';
import { live } from '../lib/live';
import { RequestOrder } from '../lib/request-order';
import { Store, useStore } from '../lib/store';
import type { Assistant } from './model';

interface AssistantList {
  assistants: Assistant[];
  pausedAll: boolean;
}

/** Null until the server has sent it. */
export const assistantList = new Store<AssistantList | null>(null);

const order = new RequestOrder();
const PAUSED_ALL = ''; // the key of `pausedAll` in the order; the key of an assistant is its id

function update({ assistants, pausedAll }: AssistantList, started = order.start()): void {
  const last = assistantList.get();
  const all = new Map((last?.assistants ?? []).map((assistant) => [assistant.id, assistant]));
  for (const assistant of assistants) if (order.accept(assistant.id, started)) all.set(assistant.id, assistant);
  assistantList.set({ assistants: [...all.values()], pausedAll: order.accept(PAUSED_ALL, started) || !last ? pausedAll : last.pausedAll });
}

live.on('assistantsSeen', (list: AssistantList) => update(list));
// After a restart of the server, ids start again.
live.hello.subscribe(() => (order.clear(), assistantList.set(null)));

/** Sends a request that is answered with assistants: with all of them, or with those that it changed. */
export async function requestAssistants(path: string, options: ApiOptions): Promise<void> {
  const [started, hello] = [order.start(), live.hello.get()];
  const answer = await api<AssistantList>(path, options);
  if (live.hello.get() === hello) update(answer, started);
}

/** Loads the list once: events that came before this module was loaded are not repeated. */
export function useAssistants(): { list: AssistantList | null; error: Error | null; reload: () => void } {
  const hello = useStore(live.hello);
  const loaded = useLoad((signal) => requestAssistants('assistants', { signal }), [hello]);
  return { list: useStore(assistantList), error: loaded.state === 'failed' ? loaded.error : null, reload: loaded.reload };
}

/** The name by which people know a client: `claude-ai` is Claude Desktop. */
export const assistantNameOf = (client: string): string => assistantList.get()?.assistants.find((assistant) => assistant.client === client)?.name ?? client;
