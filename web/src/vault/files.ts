// All files of the vault, kept current: the tree, names in the search and completions in the editor read them.

import { apiTagged, vaultName } from '../lib/api';
import { live } from '../lib/live';
import { route } from '../lib/router';
import { Value } from '../lib/value';

export interface Files {
  complete: boolean;
  paths: string[];
  modified: number[];
}

const LOOK_MS = 5000; // between two looks for new files while the page is visible

export const files = new Value<Files | null>(null);
export const filesError = new Value<Error | null>(null);
let tag = '';
let loading: Promise<void> | null = null;
let of = vaultName();

export function loadFiles(): Promise<void> {
  loading ??= apiTagged<Files>('files', tag)
    .then(({ value, etag }) => {
      tag = etag;
      if (value) files.set(value);
      filesError.set(null);
    }, (error) => filesError.set(error))
    .finally(() => (loading = null));
  return loading;
}

route.watch(() => {
  if (of === vaultName()) return;
  of = vaultName();
  tag = '';
  files.set(null);
  void loadFiles();
});

setInterval(() => document.hidden || !live.isUp() || void loadFiles(), LOOK_MS);
document.addEventListener('visibilitychange', () => document.hidden || void loadFiles());
