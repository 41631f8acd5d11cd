// What the server sends about assistants and their activity (docs/page.md).

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
  summary: string;
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
  text: string;
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
  /** What was lost of a journal, until its owner has confirmed it. */
  notices: string[];
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

/** The calls of one method or tool. */
export interface CallStatistics {
  name: string;
  calls: number;
  failed: number;
  mean: number;
  p50: number;
  p95: number;
  max: number;
  counts: number[];
}

export interface Statistics {
  since: number;
  calls: number;
  failed: number;
  bytesIn: number;
  bytesOut: number;
  connected: number;
  buckets: number[];
  methods: CallStatistics[];
  tools: CallStatistics[];
  minutes: { start: number; calls: number[]; failed: number[]; ms: number[] };
}

/** The kinds of entries that people can filter by. */
export const KIND_FILTERS: { value: string; title: string; kinds: Entry['kind'][] }[] = [
  { value: '', title: 'Everything', kinds: [] },
  { value: 'changes', title: 'Changes', kinds: ['change', 'undo'] },
  { value: 'proposals', title: 'Proposals', kinds: ['propose'] },
  { value: 'reading', title: 'Reading and searching', kinds: ['read', 'search', 'list'] },
  { value: 'connections', title: 'Connections', kinds: ['connect', 'disconnect', 'control'] },
  { value: 'other', title: 'Other calls', kinds: ['call'] },
];

export const TIME_FILTERS: { value: string; title: string; seconds: number }[] = [
  { value: '', title: 'Any time', seconds: 0 },
  { value: 'hour', title: 'Last hour', seconds: 3600 },
  { value: 'day', title: 'Last 24 hours', seconds: 86400 },
  { value: 'week', title: 'Last 7 days', seconds: 604800 },
];
