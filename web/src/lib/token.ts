// The page's token, stored for this tab only. The link contains it in its fragment, which browsers do not send, or a code
// there that can be exchanged for it once. A browser that stays signed in needs no link.

const KEY = 'token';
const KEPT_KEY = 'signedIn';
const TAB_MS = 1000; // how long to wait for the other tabs: one in the background is slow
const channel = new BroadcastChannel('vaultbridge');

channel.onmessage = ({ data }) => {
  const token = sessionStorage.getItem(KEY);
  if (data?.ask === KEY && token) channel.postMessage({ [KEY]: token });
};

export const getToken = (): string => sessionStorage.getItem(KEY) ?? '';

/** A parameter of the link with which the page was opened, or ''. */
const readLink = (name: string): string => (location.hash.startsWith('#/') ? '' : (new URLSearchParams(location.hash.slice(1)).get(name) ?? ''));

export const hasTokenInLink = (): boolean => Boolean(readLink(KEY) || readLink('code'));

/** Why the page has no token: a sentence, and the command that prints a new link if the server told it. */
export interface Refusal {
  reason: string;
  command: string;
}

/** Moves the token from the link into the tab's memory, so that no history, bookmark or shared link contains it. Returns the
 * reason if that is not possible, or null. */
export async function takeTokenFromLink(): Promise<Refusal | null> {
  const [direct, code] = [readLink(KEY), readLink('code')];
  if (direct || code) history.replaceState(null, '', location.pathname);
  if (direct) sessionStorage.setItem(KEY, direct);
  if (!code) return null;
  try {
    const response = await fetch('/page/code', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) });
    const answer = await response.json();
    if (response.ok) sessionStorage.setItem(KEY, answer.token);
    else if (response.status === 403) return { reason: 'This link has already been used, or has expired.', command: answer.error?.command ?? '' };
    else return { reason: String(answer.error?.message ?? ''), command: '' };
  } catch {
    return { reason: 'The server cannot be reached at the moment.', command: '' };
  }
  return null;
}

/** The token, if need be from another tab: one that was opened from a link within the page has none of its own. A browser that
 * is signed in asks the server. */
export async function findToken(): Promise<string> {
  if (getToken()) return getToken();
  const token = await findSignIn();
  if (token) sessionStorage.setItem(KEY, token);
  return token || askOtherTabs();
}

/** This browser's half of the secret with which it stays signed in; the other is a cookie that only the server can read. */
export interface SignIn {
  id: string;
  key: string;
}

export function readSignIn(): SignIn | null {
  try {
    return JSON.parse(localStorage.getItem(KEPT_KEY) ?? 'null');
  } catch {
    return null;
  }
}

export function storeSignIn(signIn: SignIn | null): void {
  if (signIn) localStorage.setItem(KEPT_KEY, JSON.stringify(signIn));
  else localStorage.removeItem(KEPT_KEY);
}

/** The token, if this browser is signed in; otherwise ''. */
async function findSignIn(): Promise<string> {
  const signIn = readSignIn();
  if (!signIn) return '';
  try {
    const response = await fetch('/page/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(signIn) });
    if (response.ok) return (await response.json()).token;
    // Signed out from another browser, or not used for too long.
    if (response.status === 403) storeSignIn(null);
  } catch {
    // The server is away; it may come back.
  }
  return '';
}

function askOtherTabs(): Promise<string> {
  return new Promise((resolve) => {
    const finish = () => resolve(getToken());
    const timer = setTimeout(finish, TAB_MS);
    channel.addEventListener('message', ({ data }) => {
      if (typeof data?.token !== 'string' || getToken()) return;
      sessionStorage.setItem(KEY, data.token);
      clearTimeout(timer);
      finish();
    });
    channel.postMessage({ ask: KEY });
  });
}
