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

addEventListener('hashchange', () => route.set(parse(location.hash)));
addEventListener('popstate', () => route.set(parse(location.hash)));
