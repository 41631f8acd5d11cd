// Starts the page: takes the token from the link, connects, and renders the view that the address names.

import { render } from 'preact';
import { getVaultName } from './lib/api';
import { live } from './lib/live';
import { href, navigate, parseRoute, route } from './lib/router';
import { reconnectCount, unreachableCount } from './lib/states';
import { loadSignedInBrowsers } from './lib/sign-in';
import { applyTheme } from './lib/theme';
import { findToken, hasTokenInLink, takeTokenFromLink } from './lib/token';
import { Shell } from './shell';

async function start(): Promise<void> {
  applyTheme();
  const taking = takeTokenFromLink();
  route.set(parseRoute(location.hash));
  // Before anything is rendered: a view sends its first request at once, and needs the token for it.
  const refusal = await taking;
  const token = await findToken();
  const root = document.getElementById('app');
  if (!root) return;
  root.replaceChildren();
  if (!token) live.state.set({ status: 'refused', reason: '', ...refusal });
  render(<Shell />, root);
  if (token) live.connect();
}

// A note that an assistant opens is shown, whichever view is open.
live.on('openFile', ({ path, selection }) => {
  navigate(href('note', path, { line: selection ? selection.start.line + 1 : '' }));
  return { done: true };
});

const retryFailures = (): void => reconnectCount.set(reconnectCount.get() + 1);
live.hello.subscribe((hello) => hello && retryFailures());

// Only the owner has a full connection, and may stay signed in. What fails here is asked again with the next connection.
live.state.subscribe(({ status }) => status === 'connected' && loadSignedInBrowsers().catch(() => undefined));

// A request can fail although the connection stays, for instance after the machine has slept.
const RETRY_MS = 5000;
setInterval(() => unreachableCount.get() && live.isReachable() && !document.hidden && retryFailures(), RETRY_MS);

// Each vault has its own connection.
let vault = getVaultName();
route.subscribe(() => {
  if (getVaultName() === vault) return;
  vault = getVaultName();
  live.reconnect();
});

addEventListener('hashchange', () => hasTokenInLink() && location.reload());
void start();
