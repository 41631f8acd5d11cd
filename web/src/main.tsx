// The page: takes the token from its link, connects, and shows the view that the address names.

import { render } from 'preact';
import { vaultName } from './lib/api';
import { live } from './lib/live';
import { href, navigate, parse, route } from './lib/router';
import { applyTheme } from './lib/theme';
import { returns, unreachable } from './lib/ui';
import { findToken, hasLink, takeToken } from './lib/token';
import { Shell } from './shell';

async function start(): Promise<void> {
  applyTheme();
  const taken = takeToken();
  route.set(parse(location.hash));
  // A view asks the server as soon as it is drawn, and needs the token for that.
  const why = await taken;
  const found = await findToken();
  const root = document.getElementById('app');
  if (!root) return;
  root.replaceChildren();
  if (!found) live.state.set({ word: 'refused', why });
  render(<Shell />, root);
  if (found) live.connect();
}

// A note that the assistant opens is shown, wherever the person is.
live.on('openFile', ({ path, selection }) => {
  navigate(href('note', path, { line: selection ? selection.start.line + 1 : '' }));
  return { done: true };
});

const tryAgain = (): void => returns.set(returns.get() + 1);
live.hello.watch((hello) => hello && tryAgain());

// A request can fail while the connection stays, as when the machine has slept.
const AGAIN_MS = 5000;
setInterval(() => unreachable.get() && live.isUp() && !document.hidden && tryAgain(), AGAIN_MS);

// Another vault needs another connection.
let vault = vaultName();
route.watch(() => {
  if (vaultName() === vault) return;
  vault = vaultName();
  live.reconnect();
});

addEventListener('hashchange', () => hasLink() && location.reload());
void start();
