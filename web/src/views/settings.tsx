// Settings.

import type { JSX } from 'preact';
import type { Route } from '../lib/router';
import { Empty, useTitle } from '../lib/ui';

export default function Settings(_: { route: Route }): JSX.Element {
  useTitle('Settings');
  return <Empty icon="settings" title="Settings" />;
}
