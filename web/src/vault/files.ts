// All files of the vault, kept current: the tree, names in the search and completions in the editor read them.

import { apiTagged, vaultName } from '../lib/api';
import { live } from '../lib/live';
import { route } from '../lib/router';
import { Value } from '../lib/value';
import { titleOf } from './types';

export interface Files {
  complete: boolean;
  /** Whether nothing in the vault can be changed here. */
  readOnly: boolean;
  paths: string[];
  modified: number[];
}

/** What makes a list of files into the next one. Positions to remove are of the old list, the others of the new one. */
export interface FileChanges {
  complete: boolean;
  readOnly: boolean;
  removed: number[];
  added: [number, string, number][];
  touched: [number, number][];
}

const LOOK_MS = 5000; // between two checks for new files while the page is visible

export const files = new Value<Files | null>(null);
export const filesError = new Value<Error | null>(null);
let tag = '';
let loading: Promise<void> | null = null;
let of = vaultName();

export function loadFiles(): Promise<void> {
  if (loading) return loading;
  const asked = of;
  loading = apiTagged<Files | FileChanges>('files', tag, { delta: '1' })
    .then(({ value, etag }) => {
      // Another vault has been chosen meanwhile: this is not its list.
      if (asked !== of) return;
      const known = files.get();
      if (value && 'paths' in value) files.set(value);
      else if (value && known) files.set(applyChanges(known, value));
      tag = etag;
      filesError.set(null);
    }, (error) => filesError.set(error))
    .finally(() => {
      loading = null;
      if (asked !== of) void loadFiles();
    });
  return loading;
}

export function applyChanges({ paths, modified }: Files, { complete, readOnly, removed, added, touched }: FileChanges): Files {
  const gone = new Set(removed);
  const next = { complete, readOnly, paths: paths.filter((_, at) => !gone.has(at)), modified: modified.filter((_, at) => !gone.has(at)) };
  for (const [at, path, time] of added) {
    next.paths.splice(at, 0, path);
    next.modified.splice(at, 0, time);
  }
  for (const [at, time] of touched) next.modified[at] = time;
  return next;
}

/** The files whose names have all words; those that begin with the text first. */
export function findByName(paths: readonly string[], query: string, most: number): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const whole = words.join(' ');
  const found: [number, string][] = [];
  for (const path of paths) {
    const low = path.toLowerCase();
    if (!words.every((word) => low.includes(word))) continue;
    const name = titleOf(low);
    const inName = words.every((word) => name.includes(word));
    found.push([(name === whole ? 0 : name.startsWith(whole) ? 1 : inName ? 2 : 3) * 1000 + name.length, path]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, most).map(([, path]) => path);
}

route.watch(() => {
  if (of === vaultName()) return;
  of = vaultName();
  tag = '';
  files.set(null);
  void loadFiles();
});

// Once a view has asked for them.
const look = (): void => void (document.hidden || !live.isUp() || !(files.get() || filesError.get()) || loadFiles());
setInterval(look, LOOK_MS);
document.addEventListener('visibilitychange', look);
