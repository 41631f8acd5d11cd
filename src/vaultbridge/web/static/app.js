// The page: takes the token from its link, connects, and shows what the bridge sends.

import { Bridge } from './connection.js';
import { $, el, notice } from './dom.js';
import { Notes } from './notes.js';
import { Changes } from './review.js';

const LOOK_MS = 2000; // time between two requests for the status while the page is visible
const MESSAGES = 6; // of each assistant
const LINK = 'Open the link that `vaultbridge serve` printed, or run `vaultbridge page VAULT` to print it again.';

/** Moves the token from the link into this tab's memory, so that it is not in history, bookmarks or shared links. */
function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    sessionStorage.setItem('token', given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token') ?? '';
}

function state(word, why = '') {
  const words = { connected: 'Connected', lost: 'Not connected.', refused: 'Access denied.', starting: 'Connecting…' };
  $('state').textContent = `${words[word]} ${why}`.trim();
  $('state').dataset.state = word;
  $('share').disabled = word !== 'connected';
  if (word === 'refused') notice(`${why} ${LINK}`);
}

/** Resolves when the list of waiting changes has been processed; notifications are handled after it. */
let listed = Promise.resolve();

const handlers = {
  state,
  greeted: async (hello) => {
    $('vault').textContent = hello.vault;
    $('share').checked = hello.shareSelection;
    listed = bridge.ask('diffs').then(({ diffs }) => changes.onlyThese(diffs), () => null);
    await listed;
    notes.again();
    look();
  },
  diffOpened: (diff) => listed.then(() => changes.opened(diff)),
  diffClosed: (diff) => listed.then(() => changes.closed(diff)),
  openFile: async ({ path, selection }) => ({ done: await notes.read(path, selection ? selection.start.line + 1 : 0, { focus: false }) }),
};

async function look() {
  if (document.hidden || $('state').dataset.state !== 'connected') return;
  changes.look();
  const status = await bridge.ask('status').catch(() => null);
  if (!status) return;
  $('share').checked = status.shareSelection;
  const lines = status.selection ? [status.selection.start.line + 1, status.selection.end.line + 1] : [];
  const range = !status.selection?.text ? '' : lines[0] === lines[1] ? `line ${lines[0]}` : `lines ${lines.join('–')}`;
  const where = status.focus ?? (status.shareSelection ? 'No note.' : 'Not shared: assistants do not see what you have open.');
  $('open').replaceChildren(el('p', {}, where), el('p', { class: 'quiet' }, range && `Selected: ${range}`));
  const none = el('p', {}, 'None connected. In Claude Code, type /ide.');
  $('clients').replaceChildren(...(status.clients.length ? status.clients.map(client) : [none]));
}

function client({ name, software, messages }) {
  const time = (at) => new Date(at * 1000).toLocaleTimeString();
  const rows = messages.slice(-MESSAGES).reverse().map((one) => el('li', {}, el('time', {}, time(one.at)), ` ${one.direction} ${one.name}`));
  return el('div', { class: 'client' }, el('h3', {}, software || 'Unknown program'), el('p', { class: 'quiet' }, name), el('ul', {}, ...rows));
}

const bridge = new Bridge(token(), handlers);
const changes = new Changes(bridge);
const notes = new Notes(bridge);

$('share').addEventListener('change', () => {
  bridge.ask('shareSelection', { share: $('share').checked }).then(look, (error) => notice(error.message));
});
addEventListener('hashchange', () => token() && location.reload());
document.addEventListener('visibilitychange', look);
setInterval(look, LOOK_MS);
if (bridge.token) {
  state('starting');
  bridge.connect();
} else state('refused', 'This page needs its token.');
