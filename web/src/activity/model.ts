// What the server sends about assistants and what they do (docs/page.md).

export interface Assistant {
  id: string;
  name: string;
  client: string;
  version: string;
  kind: string;
  via: string;
  vaults: string[];
  token: { id: string; name: string } | null;
  process: { pid: number; name: string; parent: { pid: number; name: string } | null } | null;
  address: string;
  userAgent: string;
  connected: boolean;
  since: number;
  last: number | null;
  ended: number | null;
  paused: boolean;
  calls: number;
  failed: number;
  reads: number;
  changes: number;
  proposals: number;
  running: string[];
  did: string;
}

export interface Entry {
  id: string;
  at: number;
  assistant: { id: string | null; name: string };
  kind: 'read' | 'search' | 'list' | 'change' | 'propose' | 'undo' | 'call' | 'connect' | 'disconnect' | 'control';
  tool: string;
  vault: string;
  paths: string[];
  more: number;
  words: string;
  ok: boolean;
  error: string;
  ms: number | null;
  change: number | null;
  undoneBy: number | null;
  undoOf: number | null;
  canUndo: boolean;
  proposal: string | null;
}

export interface ActivityPage {
  entries: Entry[];
  next: string | null;
  newest: string | null;
  remembers: number;
}

export interface ChangeDetail {
  vault: string;
  change: number;
  at: number;
  actor: string;
  label: string;
  canUndo: boolean;
  diff: string;
  files: { path: string; was: string; change: 'created' | 'changed' | 'deleted' | 'moved'; before: string | null; after: string | null; note: string }[];
  more: number;
}

export interface Message {
  n: number;
  at: number;
  assistant: string;
  direction: 'in' | 'out';
  type: 'request' | 'response' | 'error' | 'notification';
  method: string;
  tool: string;
  rpc: string | null;
  ms: number | null;
  bytes: number;
  json: boolean;
}

export interface Row {
  name: string;
  calls: number;
  failed: number;
  mean: number;
  p50: number;
  p95: number;
  max: number;
  counts: number[];
}

export interface Stats {
  since: number;
  calls: number;
  failed: number;
  bytesIn: number;
  bytesOut: number;
  connected: number;
  buckets: number[];
  methods: Row[];
  tools: Row[];
  minutes: { start: number; calls: number[]; failed: number[]; ms: number[] };
}

/** Kinds as people filter by them. */
export const FILTERS: { value: string; title: string; kinds: Entry['kind'][] }[] = [
  { value: '', title: 'Everything', kinds: [] },
  { value: 'changes', title: 'Changes', kinds: ['change', 'undo'] },
  { value: 'proposals', title: 'Proposals', kinds: ['propose'] },
  { value: 'reading', title: 'Reading and searching', kinds: ['read', 'search', 'list'] },
  { value: 'connections', title: 'Connections', kinds: ['connect', 'disconnect', 'control'] },
  { value: 'other', title: 'Other calls', kinds: ['call'] },
];

export const TIMES: { value: string; title: string; seconds: number }[] = [
  { value: '', title: 'Any time', seconds: 0 },
  { value: 'hour', title: 'Last hour', seconds: 3600 },
  { value: 'day', title: 'Last 24 hours', seconds: 86400 },
  { value: 'week', title: 'Last 7 days', seconds: 604800 },
];

export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [count / 1000, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${units[unit]}`;
}

export function ms(time: number | null): string {
  if (time === null) return '';
  return time >= 1000 ? `${(time / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s` : `${time.toLocaleString(undefined, { maximumFractionDigits: time < 10 ? 1 : 0 })} ms`;
}

export const clock = (at: number): string => new Date(at * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export function day(at: number): string {
  const date = new Date(at * 1000);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(date).setHours(0, 0, 0, 0)) / 86400000);
  if (days === 0) return 'Today';
  if (days === 1) return 'Yesterday';
  return date.toLocaleDateString(undefined, { weekday: 'long', day: 'numeric', month: 'long', ...(days > 300 && { year: 'numeric' }) });
}
