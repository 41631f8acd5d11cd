// Numbers beside the names of views, such as how many proposals wait. A view's module may not be loaded yet.

import { live } from './lib/live';
import { Value } from './lib/value';

export const badges = new Value<Record<string, number>>({});

const waiting = new Set<string>();

function show(): void {
  badges.set({ ...badges.get(), review: waiting.size });
}

live.on('diffOpened', ({ id }) => (waiting.add(id), show()));
live.on('diffClosed', ({ id }) => (waiting.delete(id), show()));
live.hello.watch(async () => {
  if (live.state.get().word === 'limited') return;
  const { diffs } = await live.ask<{ diffs: { id: string }[] }>('diffs').catch(() => ({ diffs: [] }));
  waiting.clear();
  for (const { id } of diffs) waiting.add(id);
  show();
});
