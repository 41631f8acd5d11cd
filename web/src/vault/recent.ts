// The notes that were opened in this tab, the most recent first.

import { getVaultName } from '../lib/api';
import { route } from '../lib/router';
import { Store } from '../lib/store';

const KEY = 'recentNotes';
const MAX_NOTES = 30; // of each vault

type PathsByVault = Record<string, string[]>;

function load(): PathsByVault {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
  } catch {
    return {};
  }
}

const loadOwn = (): string[] => load()[getVaultName()] ?? [];

export const recentNotes = new Store<string[]>(loadOwn());

export function addRecentNote(path: string): void {
  const all = load();
  all[getVaultName()] = [path, ...loadOwn().filter((other) => other !== path)].slice(0, MAX_NOTES);
  sessionStorage.setItem(KEY, JSON.stringify(all));
  recentNotes.set(loadOwn());
}

route.subscribe(() => String(loadOwn()) !== String(recentNotes.get()) && recentNotes.set(loadOwn()));
