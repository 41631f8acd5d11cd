// What the server sends about its settings (docs/page.md).

export interface Settings {
  version: string;
  server: { url: string; port: number; pid: number; since: number; tls: boolean; tokensRequired: boolean; host: string };
  configFile: string;
  configExists: boolean;
  vaults: VaultInfo[];
  scope: { readOnly: boolean; allow: string[]; deny: string[] };
  tools: { profile: string; count: number };
  ide: { enabled: boolean; announced: boolean };
  shareSelection: boolean;
  advice: { scope: string; vaults: string };
}

export interface VaultInfo {
  name: string;
  folder: string;
  readOnly: boolean;
  allow: string[];
  deny: string[];
  outsideLinks: boolean;
  counts: { notes: number; canvases: number; bases: number; attachments: number };
  index: { complete: boolean; done: number; total: number };
  advice: string;
}

export interface Companion {
  installed: boolean;
  version: string;
  available: string;
  current: boolean;
  enabled: boolean;
  connected: boolean;
  advice: string;
  /** The command that follows the advice, or ''. */
  command: string;
}

export interface Token {
  id: string;
  name: string;
  created: number;
  expires: number | null;
  expired: boolean;
  readOnly: boolean;
  allow: string[];
  deny: string[];
  vaults: string[];
  review: string;
  inUse: number;
}

export interface Connection {
  name: string;
  title: string;
  state: 'connected' | 'not connected' | 'not installed' | 'unreadable';
  detail: string;
  servers: { name: string; vault: string; command: string }[];
  command: string;
  then: string;
}

export interface Check {
  area: string;
  name: string;
  status: 'good' | 'warning' | 'bad' | 'unknown';
  found: string;
  advice: string;
}
