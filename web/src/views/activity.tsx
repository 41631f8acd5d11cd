// Activity: who is connected, and what they do. `#/activity`, `#/activity/protocol`, `#/activity/numbers`.

import type { JSX } from 'preact';
import { Assistants } from '../activity/assistants';
import { Numbers } from '../activity/numbers';
import { Protocol } from '../activity/protocol';
import { Timeline } from '../activity/timeline';
import { live } from '../lib/live';
import { href, type Route } from '../lib/router';
import { Icon, OwnersOnly, useTitle } from '../lib/ui';
import { useValue } from '../lib/value';

const PARTS = [
  { path: '', title: 'Timeline' },
  { path: 'protocol', title: 'Protocol' },
  { path: 'numbers', title: 'Numbers' },
];

export default function Activity({ route }: { route: Route }): JSX.Element {
  useTitle('Activity');
  const { word } = useValue(live.state);
  const isLimited = word === 'limited';
  const isAway = word !== 'connected' && !isLimited;
  const part = PARTS.some(({ path }) => path === route.path) ? route.path : '';
  return (
    <div class="activity">
      <header class="activity-head">
        <h1>Activity</h1>
        <nav class="segments" aria-label="Parts of the activity">
          {PARTS.map(({ path, title }) => <a key={path} href={href('activity', path)} aria-current={part === path ? 'page' : undefined}>{title}</a>)}
        </nav>
      </header>
      {isAway && <p class="banner warn" role="status"><Icon name="warning" />The server is away. What you see may be old; it goes on by itself.</p>}
      {isLimited && !part && <p class="banner info" role="status">This token shows only what concerns the files it may see. Only the owner of the vault can pause and undo.</p>}
      {isLimited && part ? <OwnersOnly icon="activity" /> : part === 'protocol' ? <Protocol /> : part === 'numbers' ? <Numbers /> : (
        <div class="activity-body">
          <Timeline route={route} disabled={isAway || isLimited} />
          <Assistants disabled={isAway || isLimited} />
        </div>
      )}
    </div>
  );
}
