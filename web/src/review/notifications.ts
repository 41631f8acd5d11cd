// Desktop notifications of proposals that arrive while this tab is not in front. Permission is requested only on a press.

import { assistantNameOf } from '../activity/assistant-list';
import { notify } from '../lib/notices';
import { href, navigate } from '../lib/router';
import { Store } from '../lib/store';
import { arrivalHandlers, type Proposal } from './proposals';
import { describeTarget } from './wording';

const KEY = 'notifications';

type NotificationState = 'unsupported' | 'blocked' | 'off' | 'on';

function readState(): NotificationState {
  if (!('Notification' in globalThis)) return 'unsupported';
  if (Notification.permission === 'denied') return 'blocked';
  return Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on' ? 'on' : 'off';
}

export const notificationState = new Store<NotificationState>(readState());

export async function enableNotifications(): Promise<void> {
  if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(KEY, 'on');
  notificationState.set(readState());
  if (notificationState.get() === 'on') notify('You will get a desktop notification when a proposal arrives while this tab is not in front.');
  else notify('The browser did not allow notifications. You can allow them in its settings for this site.', 'bad');
}

export function disableNotifications(): void {
  localStorage.removeItem(KEY);
  notificationState.set(readState());
}

arrivalHandlers.add((proposal: Proposal) => {
  if (notificationState.get() !== 'on' || (!document.hidden && document.hasFocus())) return;
  const notification = new Notification(`${assistantNameOf(proposal.assistant)} proposes a change`, { body: describeTarget(proposal), tag: proposal.id, icon: '/page/icon.svg' });
  notification.onclick = () => {
    window.focus();
    navigate(href('review', proposal.id));
    notification.close();
  };
});
