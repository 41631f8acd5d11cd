// The page's token, kept for this tab only. The link holds it, or a code that is exchanged for it once, in its fragment,
// which browsers do not send.

const KEY = 'token';
const TAB_MS = 1000; // how long the other tabs have to answer: one in the background takes its time
const channel = new BroadcastChannel('vaultbridge');

channel.onmessage = ({ data }) => {
  const token = sessionStorage.getItem(KEY);
  if (data?.ask === KEY && token) channel.postMessage({ [KEY]: token });
};

export const token = (): string => sessionStorage.getItem(KEY) ?? '';

/** What the link of the page holds. */
const given = (name: string): string => (location.hash.startsWith('#/') ? '' : (new URLSearchParams(location.hash.slice(1)).get(name) ?? ''));

export const hasLink = (): boolean => Boolean(given(KEY) || given('code'));

/** Moves the token from the link into the tab's memory, so that it is in no history, bookmark or shared link. Returns why
 * that is not possible, or ''. */
export async function takeToken(): Promise<string> {
  const [direct, code] = [given(KEY), given('code')];
  if (direct || code) history.replaceState(null, '', location.pathname);
  if (direct) sessionStorage.setItem(KEY, direct);
  if (!code) return '';
  try {
    const response = await fetch('/page/code', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) });
    const answer = await response.json();
    if (response.ok) sessionStorage.setItem(KEY, answer.token);
    else return response.status === 403 || response.status === 401 ? 'This link was used already, or is too old.' : String(answer.error?.message ?? '');
  } catch {
    return 'The server cannot be reached at the moment.';
  }
  return '';
}

/** The token, if need be from another tab of the same address: a link that is opened in a new tab has none of its own. */
export async function findToken(): Promise<string> {
  if (token()) return token();
  return new Promise((done) => {
    const end = () => done(token());
    const late = setTimeout(end, TAB_MS);
    channel.addEventListener('message', ({ data }) => {
      if (typeof data?.token !== 'string' || token()) return;
      sessionStorage.setItem(KEY, data.token);
      clearTimeout(late);
      end();
    });
    channel.postMessage({ ask: KEY });
  });
}
