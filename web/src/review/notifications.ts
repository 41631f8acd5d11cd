// Notifications of the desktop: when a proposal arrives while this tab is not looked at. Asked for only on a press.

import { knownName } from '../activity/known';
import { href, navigate } from '../lib/router';
import { notify } from '../lib/ui';
import { Value } from '../lib/value';
import { arrivals, type Proposal } from './proposals';
import { what } from './words';

const KEY = 'notifications';

type State = 'impossible' | 'refused' | 'off' | 'on';

function read(): State {
  if (!('Notification' in globalThis)) return 'impossible';
  if (Notification.permission === 'denied') return 'refused';
  return Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on' ? 'on' : 'off';
}

export const notifying = new Value<State>(read());

export async function askToNotify(): Promise<void> {
  if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(KEY, 'on');
  notifying.set(read());
  if (notifying.get() === 'on') notify('You will get a desktop notification when a proposal arrives while this tab is not in front.');
  else notify('The browser did not allow notifications. You can allow them in its settings for this site.', 'bad');
}

export function silence(): void {
  localStorage.removeItem(KEY);
  notifying.set(read());
}

arrivals.add((proposal: Proposal) => {
  if (notifying.get() !== 'on' || (!document.hidden && document.hasFocus())) return;
  const shown = new Notification(`${knownName(proposal.assistant)} proposes a change`, { body: what(proposal), tag: proposal.id, icon: '/page/icon.svg' });
  shown.onclick = () => {
    window.focus();
    navigate(href('review', proposal.id));
    shown.close();
  };
});
