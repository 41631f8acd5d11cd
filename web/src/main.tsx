// The page: takes the token from its link, connects, and shows the view that the address names.

import { render } from 'preact';
import { live } from './lib/live';
import { parse, route } from './lib/router';
import { findToken, takeToken } from './lib/token';
import { Shell } from './shell';

async function start(): Promise<void> {
  if (takeToken()) route.set(parse(location.hash));
  const root = document.getElementById('app');
  if (!root) return;
  root.replaceChildren();
  render(<Shell />, root);
  if (await findToken()) live.connect();
  else live.state.set({ word: 'refused', why: 'This page needs its token.' });
}

addEventListener('hashchange', () => takeToken() && location.reload());
void start();
