// What a view shows when it has no content: it is loading, it is empty, it is not allowed, or it has failed.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icons';
import { Store } from './store';

export function Loading({ children = 'Loading…' }: { children?: ComponentChildren }): JSX.Element {
  return <p class="loading" role="status">{children}</p>;
}

/** `standalone`: the view shows nothing else, so this title is the view's own. */
export function EmptyState({ icon, title, standalone = false, children }: { icon: IconName; title: string; standalone?: boolean; children?: ComponentChildren }): JSX.Element {
  const Title = standalone ? 'h1' : 'h2';
  return (
    <div class="empty">
      <Icon name={icon} />
      <Title>{title}</Title>
      <div class="quiet">{children}</div>
    </div>
  );
}

/** Instead of something that the access token with which the page was opened may not see. */
export function OwnerOnly({ icon }: { icon: IconName }): JSX.Element {
  return (
    <EmptyState icon={icon} title="This is for the owner of the vault">
      <p>The page was opened with an access token. The link that <code>vaultbridge page</code> prints shows everything.</p>
    </EmptyState>
  );
}

/** How often the server has come back. Whatever failed in the meantime is tried again. */
export const reconnectCount = new Store(0);

/** How many failures are on the page because the server could not be reached. */
export const unreachableCount = new Store(0);

/** `manual`: never retried automatically, because retrying reloads the whole page. */
export function Failure({ error, retry, manual = false }: { error: Error; retry?: (() => void) | undefined; manual?: boolean }): JSX.Element {
  const latestRetry = useRef(retry);
  latestRetry.current = manual ? undefined : retry;
  useEffect(() => reconnectCount.subscribe(() => latestRetry.current?.()), []);
  const isRetried = retry && !manual && 'status' in error && error.status === 0;
  useEffect(() => {
    if (!isRetried) return undefined;
    unreachableCount.set(unreachableCount.get() + 1);
    return () => unreachableCount.set(unreachableCount.get() - 1);
  }, [isRetried]);
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <p>{error.message}{isRetried ? ' The page tries again by itself when the server is back.' : ''}</p>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}
