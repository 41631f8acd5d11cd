// Whether this browser stays signed in, so that a bookmark opens the page, and which others do.

import { api } from './api';
import { formatBrowserName } from './format';
import { Store } from './store';
import { readSignIn, type SignIn, storeSignIn } from './token';

const COMMAND_KEY = 'command';
const DECLINED_KEY = 'declinedSignIn';

export interface SignedInBrowser {
  id: string;
  name: string;
  /** When it was last used, in seconds since 1970. */
  used: number;
}

/** The browsers that are signed in; null until they are known, and for a page that was opened with an access token. */
export const signedInBrowsers = new Store<SignedInBrowser[] | null>(null);

/** Whether the person does not want to stay signed in in this browser. */
export const hasDeclined = new Store(localStorage.getItem(DECLINED_KEY) !== null);

/** Which of the browsers this one is, or ''. */
export const getBrowserId = (): string => readSignIn()?.id ?? '';

/** The command that prints a link to this page, as the server told it last, or ''. */
export const getLinkCommand = (): string => localStorage.getItem(COMMAND_KEY) ?? '';

/** Asks the server who is signed in, and keeps its command for the day when this browser needs a link. */
export async function loadSignedInBrowsers(): Promise<void> {
  const { browsers, command } = await api<{ browsers: SignedInBrowser[]; command: string }>('browsers');
  localStorage.setItem(COMMAND_KEY, command);
  signedInBrowsers.set(browsers);
}

export async function staySignedIn(): Promise<void> {
  const { id, key } = await api<SignIn>('browsers', { body: { name: formatBrowserName(navigator.userAgent) } });
  storeSignIn({ id, key });
  await loadSignedInBrowsers();
}

export async function signOut(id: string): Promise<void> {
  await api(`browsers/${id}`, { method: 'DELETE' });
  if (id === getBrowserId()) storeSignIn(null);
  await loadSignedInBrowsers();
}

/** Does not offer it again in this browser. Settings still has it. */
export function declineSignIn(): void {
  localStorage.setItem(DECLINED_KEY, '1');
  hasDeclined.set(true);
}
