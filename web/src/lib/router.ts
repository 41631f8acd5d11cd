// Addresses: `#/VIEW/PATH?QUERY`. Everything that can be looked at has one, Back works, and a reload comes back.
//
// They are in the fragment, which browsers do not send: names of notes reach no log of requests.

import { Value } from './value';

export interface Route {
  view: string;
  /** A path within the vault, an id, or ''. */
  path: string;
  query: URLSearchParams;
}

export const HOME = 'vault';

export function parse(hash: string): Route {
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
  const search = new URLSearchParams();
  const vault = route.get().query.get('vault');
  for (const [name, value] of Object.entries({ vault, ...query }))
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  const tail = search.size ? `?${search}` : '';
  const encoded = path && `/${path.split('/').map(encodeURIComponent).join('/')}`;
  return `#/${view === HOME && !path ? '' : view}${encoded}${tail}`;
}

export const route = new Value<Route>(parse(location.hash));

/** Go to an address. `replace` leaves no step for Back, as for a search that is still being typed. */
export function navigate(to: string, { replace = false } = {}): void {
  if (to === location.hash) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  route.set(parse(to));
}

/** Whether the last step was Back or Forward; then a view returns to the place where the person was. */
export let wentBack = false;

function arrive(): void {
  wentBack = true;
  route.set(parse(location.hash));
  wentBack = false;
}

addEventListener('hashchange', arrive);
addEventListener('popstate', arrive);

// A link within the page is a step like any other; left to the browser it could not be told from Back.
document.addEventListener('click', (event) => {
  const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const to = link.getAttribute('href') ?? '';
  if (!to.startsWith('#/') || link.target) return;
  event.preventDefault();
  navigate(to);
});
