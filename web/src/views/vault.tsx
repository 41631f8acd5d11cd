// Vault.

import type { JSX } from 'preact';
import type { Route } from '../lib/router';
import { Empty, useTitle } from '../lib/ui';

export default function Vault(_: { route: Route }): JSX.Element {
  useTitle('');
  return <Empty icon="vault" title="Vault" />;
}
