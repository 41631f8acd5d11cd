// Graph.

import type { JSX } from 'preact';
import type { Route } from '../lib/router';
import { Empty, useTitle } from '../lib/ui';

export default function Graph(_: { route: Route }): JSX.Element {
  useTitle('Graph');
  return <Empty icon="graph" title="Graph" />;
}
