// Hooks that many views use.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Store } from './store';

export type Loaded<T> = { state: 'loading'; value?: T } | { state: 'failed'; error: Error; value?: T } | { state: 'done'; value: T };

/** Loads something whenever `dependencies` change. The previous `value` stays until the new one arrives. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: unknown[]): Loaded<T> & { reload: () => void } {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setLoaded((last) => ({ state: 'loading', ...(last.value !== undefined && { value: last.value }) }));
    load(abort.signal).then(
      (value) => abort.signal.aborted || setLoaded({ state: 'done', value }),
      (error) => abort.signal.aborted || setLoaded((last) => ({ state: 'failed', error, ...(last.value !== undefined && { value: last.value }) })),
    );
    return () => abort.abort();
  }, [...dependencies, attempt]);
  return { ...loaded, reload: () => setAttempt((n) => n + 1) };
}

/** Runs whenever the person returns to the tab: something may have been done elsewhere. */
export function useTabReturn(run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const handleChange = (): void => void (document.hidden || latest.current());
    document.addEventListener('visibilitychange', handleChange);
    return () => document.removeEventListener('visibilitychange', handleChange);
  }, []);
}

/** What the view shows, for the title of the tab. The shell adds the name of the vault. */
export const pageTitle = new Store('');

export function useTitle(title: string): void {
  useEffect(() => pageTitle.set(title), [title]);
}
