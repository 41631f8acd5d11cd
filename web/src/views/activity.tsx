// Activity.

import type { JSX } from 'preact';
import type { Route } from '../lib/router';
import { Empty, useTitle } from '../lib/ui';

export default function Activity(_: { route: Route }): JSX.Element {
  useTitle('Activity');
  return <Empty icon="activity" title="Activity" />;
}
