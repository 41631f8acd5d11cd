// The page's token. It comes in the fragment of the link, which browsers do not send, and is kept for this tab only.

const KEY = 'token';
const TAB_MS = 150; // how long the other tabs have to answer: they are in the same browser
const channel = new BroadcastChannel('vaultbridge');

channel.onmessage = ({ data }) => {
  const token = sessionStorage.getItem(KEY);
  if (data?.ask === KEY && token) channel.postMessage({ [KEY]: token });
};

export const token = (): string => sessionStorage.getItem(KEY) ?? '';

/** Moves the token from the link into the tab's memory, so that it is in no history, bookmark or shared link. */
export function takeToken(): boolean {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!given) return false;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', location.pathname);
  return true;
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

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
}
