// Review: proposed changes, and a person's decision on each.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { tool } from '../lib/api';
import { live } from '../lib/live';
import type { Route } from '../lib/router';
import { useTitle } from '../lib/ui';
import { button, el } from '../legacy/dom.js';
import { Changes } from '../legacy/review.js';

const LOOK_MS = 2000; // time between two looks at the notes under review while the page is visible

/** Kept while other views are shown, so that an edit that was begun is not lost. */
const page: HTMLElement = el('section', { id: 'changes', 'aria-labelledby': 'changes-title', tabIndex: -1 },
  el('h1', { id: 'changes-title' }, 'Changes to review ', el('span', { id: 'count', class: 'count', hidden: true })),
  button('Side by side', () => undefined, { id: 'layout', 'aria-pressed': 'true', hidden: true }),
  el('p', { id: 'no-changes', class: 'quiet' }, 'Nothing is waiting. When an assistant proposes a change to a note, you decide on it here.'),
  el('div', { id: 'change-list' }));

let changes: any = null;

/** Resolves when the list of waiting changes has been processed; notifications are handled after it. */
let listed: Promise<unknown> = Promise.resolve();

function begin(): void {
  const bridge = {
    ask: (method: string, params: Record<string, unknown>) => live.ask(method, params),
    tool: (name: string, args: Record<string, unknown>) => tool(name, args, live.hello.get()?.vault ?? ''),
  };
  changes = new Changes(bridge);
  const list = () => {
    listed = live.ask<{ diffs: unknown[] }>('diffs').then(({ diffs }) => changes.onlyThese(diffs), () => null);
    return listed;
  };
  live.on('diffOpened', (diff) => void listed.then(() => changes.opened(diff)));
  live.on('diffClosed', (diff) => void listed.then(() => changes.closed(diff)));
  live.hello.watch(list);
  if (live.state.get().word === 'connected') void list();
  setInterval(() => document.hidden || !page.isConnected || live.state.get().word !== 'connected' || changes.look(), LOOK_MS);
}

export default function Review(_: { route: Route }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useTitle('Review');
  useEffect(() => {
    place.current?.append(page);
    if (!changes) begin();
  }, []);
  return <div class="review" ref={place} />;
}
