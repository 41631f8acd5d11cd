// Activity: who is connected, and what they do. `#/activity`, `#/activity/protocol`, `#/activity/statistics`.

import type { JSX } from 'preact';
import { Assistants } from '../activity/assistants';
import { Protocol } from '../activity/protocol';
import { Statistics } from '../activity/statistics';
import { Timeline } from '../activity/timeline';
import { useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { live } from '../lib/live';
import { href, type Route } from '../lib/router';
import { OwnerOnly } from '../lib/states';
import { useStore } from '../lib/store';

const PARTS = [
  { path: '', title: 'Timeline' },
  { path: 'protocol', title: 'Protocol' },
  { path: 'statistics', title: 'Statistics' },
];

export default function Activity({ route }: { route: Route }): JSX.Element {
  useTitle('Activity');
  const { status } = useStore(live.state);
  const isLimited = status === 'limited';
  const isOffline = status !== 'connected' && !isLimited;
  const part = PARTS.some(({ path }) => path === route.path) ? route.path : '';
  return (
    <div class="activity">
      <header class="activity-head">
        <h1>Activity</h1>
        <nav class="segments" aria-label="Parts of the activity">
          {PARTS.map(({ path, title }) => <a key={path} href={href('activity', path)} aria-current={part === path ? 'page' : undefined}>{title}</a>)}
        </nav>
      </header>
      {isOffline && <p class="banner warn" role="status"><Icon name="warning" />The server cannot be reached. What you see may be out of date; the page reconnects by itself.</p>}
      {isLimited && !part && <p class="banner info" role="status">With this token you see only what concerns the files it may see. Only the owner of the vault can pause and undo.</p>}
      {isLimited && part ? <OwnerOnly icon="activity" /> : part === 'protocol' ? <Protocol /> : part === 'statistics' ? <Statistics /> : (
        <div class="activity-body">
          <Timeline route={route} disabled={isOffline || isLimited} />
          <Assistants disabled={isOffline || isLimited} />
        </div>
      )}
    </div>
  );
}
