// Notices: what has just happened, seen and heard, with at most one button. The shell draws them.

import { Store } from './store';

export interface Notice {
  id: number;
  text: string;
  kind: 'good' | 'bad';
  action?: { label: string; run: () => void } | undefined;
  /** The subject, such as a change: once it is dealt with, the notice goes. */
  about: string;
}

const NOTICE_MS = 8000; // a good one goes by itself; a bad one stays until it is closed
const ACTION_MS = 60_000; // with a button: time to read it, to decide, and to get there by keyboard
const MAX_NOTICES = 4; // at once; the oldest makes room

export const notices = new Store<Notice[]>([]);
let nextId = 1;

export function notify(text: string, kind: Notice['kind'] = 'good', action?: Notice['action'], about = ''): void {
  const notice = { id: nextId++, text, kind, action, about };
  notices.set([...notices.get().filter((other) => other.text !== text), notice].slice(-MAX_NOTICES));
  if (kind === 'good') setTimeout(() => dismissNotice(notice.id), action ? ACTION_MS : NOTICE_MS);
}

export const notifyError = (error: unknown): void => notify(error instanceof Error ? error.message : String(error), 'bad');

export function dismissNotice(id: number): void {
  notices.set(notices.get().filter((notice) => notice.id !== id));
}

/** Dismisses notices whose button has become pointless: what it offers was done, here or elsewhere. */
export const dismissNoticesAbout = (about: string): void => notices.set(notices.get().filter((notice) => notice.about !== about));

/** Copies a text to the clipboard, and confirms it with a notice. */
export function copyText(text: string, confirmation = 'Copied.'): void {
  const handleRefusal = (): void => notify('The browser did not allow copying. Select the text and copy it yourself.', 'bad');
  // A page has a clipboard only on this machine or over https.
  if (!navigator.clipboard) return handleRefusal();
  navigator.clipboard.writeText(text).then(() => notify(confirmation), handleRefusal);
}

/** For screen readers alone. */
export const announcement = new Store('');

/** Tells a screen reader about a change that shows no text on the page. */
export const announce = (text: string): void => announcement.set(text);
