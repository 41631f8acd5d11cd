// The page: takes the token from its link, connects, and shows the view that the address names.

import { render } from 'preact';
import { live } from './lib/live';
import { href, navigate, parse, route } from './lib/router';
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

// A note that the assistant opens is shown, wherever the person is.
live.on('openFile', ({ path, selection }) => {
  navigate(href('note', path, { line: selection ? selection.start.line + 1 : '' }));
  return { done: true };
});

addEventListener('hashchange', () => takeToken() && location.reload());
void start();
