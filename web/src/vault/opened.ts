// The notes that were opened in this tab, the last one first.

import { vaultName } from '../lib/api';
import { route } from '../lib/router';
import { Value } from '../lib/value';

const KEY = 'opened';
const KEPT = 30; // of each vault

type All = Record<string, string[]>;

function read(): All {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  } catch {
    return {};
  }
}

const own = (): string[] => read()[vaultName()] ?? [];

export const opened = new Value<string[]>(own());

export function rememberOpened(path: string): void {
  const all = read();
  all[vaultName()] = [path, ...own().filter((known) => known !== path)].slice(0, KEPT);
  sessionStorage.setItem(KEY, JSON.stringify(all));
  opened.set(own());
}

route.watch(() => String(own()) !== String(opened.get()) && opened.set(own()));
