// Addresses: `#/VIEW/PATH?QUERY`. Everything that can be viewed has one, so that Back, bookmarks and reloads work.
//
// They are in the fragment, which browsers do not send, so that names of notes reach no request log.

import { Store } from './store';

export interface Route {
  view: string;
  /** A path within the vault, an id, or ''. */
  path: string;
  query: URLSearchParams;
}

export const HOME = 'vault';

export function parseRoute(hash: string): Route {
  const [, view = '', path = '', query = ''] = /^#\/?([^/?]*)\/?([^?]*)(?:\?(.*))?$/s.exec(hash) ?? [];
  return { view: view || HOME, path: path.split('/').map(decode).join('/'), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a hand-written address with a stray %
  }
}

type Query = Record<string, string | number | undefined | null>;

/** An address. The vault stays the one of the current address unless `query` names another. */
export function href(view: string, path = '', query: Query = {}): string {
  const parameters = new URLSearchParams();
  const vault = route.get().query.get('vault');
  for (const [name, value] of Object.entries({ vault, ...query }))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  const tail = parameters.size ? `?${parameters}` : '';
  const encoded = path && `/${path.split('/').map(encodeURIComponent).join('/')}`;
  return `#/${view === HOME && !path ? '' : view}${encoded}${tail}`;
}

export const route = new Store<Route>(parseRoute(location.hash));

/** Goes to an address. `replace` adds no step for Back, for instance while a search is still being typed. */
export function navigate(to: string, { replace = false } = {}): void {
  if (to === location.hash) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  route.set(parseRoute(to));
}

/** Whether the last step was Back or Forward: then a view restores its scroll position. */
export let isHistoryStep = false;

function handleHistoryStep(): void {
  isHistoryStep = true;
  route.set(parseRoute(location.hash));
  isHistoryStep = false;
}

addEventListener('hashchange', handleHistoryStep);
addEventListener('popstate', handleHistoryStep);

// Links within the page go through `navigate`: left to the browser, they would look like Back.
document.addEventListener('click', (event) => {
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const to = link.getAttribute('href') ?? '';
  if (!to.startsWith('#/') || link.target) return;
  event.preventDefault();
  navigate(to);
});
