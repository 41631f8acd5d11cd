// The list of all files in the vault, kept up to date. The tree, the search by name and the editor's completions use it.

import { apiIfChanged, getVaultName } from '../lib/api';
import { live } from '../lib/live';
import { titleOf } from '../lib/paths';
import { route } from '../lib/router';
import { Store } from '../lib/store';

export interface Files {
  complete: boolean;
  /** Whether the page may change nothing in the vault. */
  readOnly: boolean;
  paths: string[];
  modified: number[];
}

/** The difference between two lists of files. Positions in `removed` are those of the old list, all others of the new one. */
interface FileChanges {
  complete: boolean;
  readOnly: boolean;
  removed: number[];
  added: [number, string, number][];
  touched: [number, number][];
}

const POLL_MS = 5000; // between two checks for changed files while the page is visible

export const files = new Store<Files | null>(null);
export const filesError = new Store<Error | null>(null);
let etag = '';
let loading: Promise<void> | null = null;
let vault = getVaultName();

export function loadFiles(): Promise<void> {
  if (loading) return loading;
  const requested = vault;
  loading = apiIfChanged<Files | FileChanges>('files', etag, { delta: '1' })
    .then(({ value, etag: newTag }) => {
      // In the meantime another vault was chosen, and this is not its list.
      if (requested !== vault) return;
      const current = files.get();
      if (value && 'paths' in value) files.set(value);
      else if (value && current) files.set(applyChanges(current, value));
      etag = newTag;
      filesError.set(null);
    }, (error) => filesError.set(error))
    .finally(() => {
      loading = null;
      if (requested !== vault) void loadFiles();
    });
  return loading;
}

function applyChanges({ paths, modified }: Files, { complete, readOnly, removed, added, touched }: FileChanges): Files {
  const isRemoved = new Set(removed);
  const next = { complete, readOnly, paths: paths.filter((_, at) => !isRemoved.has(at)), modified: modified.filter((_, at) => !isRemoved.has(at)) };
  for (const [at, path, time] of added) {
    next.paths.splice(at, 0, path);
    next.modified.splice(at, 0, time);
  }
  for (const [at, time] of touched) next.modified[at] = time;
  return next;
}

/** Finds files whose paths contain all words of a query, the best matches first: a name that is the query, or starts with it. */
export function findByName(paths: readonly string[], query: string, limit: number): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const phrase = words.join(' ');
  const found: [number, string][] = [];
  for (const path of paths) {
    const lower = path.toLowerCase();
    if (!words.every((word) => lower.includes(word))) continue;
    const name = titleOf(lower);
    const isInName = words.every((word) => name.includes(word));
    found.push([(name === phrase ? 0 : name.startsWith(phrase) ? 1 : isInName ? 2 : 3) * 1000 + name.length, path]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, limit).map(([, path]) => path);
}

route.subscribe(() => {
  if (vault === getVaultName()) return;
  vault = getVaultName();
  etag = '';
  files.set(null);
  void loadFiles();
});

// Once a view has loaded them.
const poll = (): void => void (document.hidden || !live.isReachable() || !(files.get() || filesError.get()) || loadFiles());
setInterval(poll, POLL_MS);
document.addEventListener('visibilitychange', poll);
