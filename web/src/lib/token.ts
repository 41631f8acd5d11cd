// The page's token, stored for this tab only. The link contains it in its fragment, which browsers do not send, or a code
// there that can be exchanged for it once.

const KEY = 'token';
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

/** Moves the token from the link into the tab's memory, so that no history, bookmark or shared link contains it. Returns the
 * reason if that is not possible, or ''. */
export async function takeTokenFromLink(): Promise<string> {
  const [direct, code] = [readLink(KEY), readLink('code')];
  if (direct || code) history.replaceState(null, '', location.pathname);
  if (direct) sessionStorage.setItem(KEY, direct);
  if (!code) return '';
  try {
    const response = await fetch('/page/code', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) });
    const answer = await response.json();
    if (response.ok) sessionStorage.setItem(KEY, answer.token);
    else return response.status === 403 || response.status === 401 ? 'This link has already been used, or has expired.' : String(answer.error?.message ?? '');
  } catch {
    return 'The server cannot be reached at the moment.';
  }
  return '';
}

/** The token, if need be from another tab: one that was opened from a link within the page has none of its own. */
export async function findToken(): Promise<string> {
  if (getToken()) return getToken();
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
