// What the server sends about files (docs/page.md).

import type { FileKind } from '../lib/paths';

/** What a link leads to. */
export interface Target {
  /** Null if no file that this page may see has this name. */
  path: string | null;
  target?: string;
  /** The address of the file, if a browser can show it. */
  media?: string;
  /** Of a picture, if its file contains them. */
  width?: number;
  height?: number;
}

export interface Property {
  name: string;
  type: string;
  value: unknown;
}

export interface NoteData {
  path: string;
  kind: FileKind;
  hash: string;
  modified: number;
  size: number;
  text: string;
  firstLine: number;
  bodyLine: number;
  breaks: boolean;
  /** Why it cannot be changed; '' when it can. */
  readOnly: string;
  properties: Property[];
  aliases: string[];
  tags: string[];
  outline: { level: number; text: string; line: number }[];
  blocks: Record<string, number>;
  links: Record<string, Target>;
  problems: { line: number; message: string }[];
  media?: string;
  /** The address that opens the file in Obsidian; only for the owner of the vault. */
  obsidian?: string;
  unchanged?: true;
}

export interface LinkData {
  backlinks: { path: string; lines: { line: number; text: string }[] }[];
  backlinkNotes: number;
  outgoing: { path: string; line: number }[];
  unresolved: { target: string; line: number }[];
}

export interface Hit {
  path: string;
  modified: number;
  heading: string;
  missing: string[];
  lines: { line: number; parts: [string, boolean][] }[];
}

export interface SearchResults {
  hits: Hit[];
  total: number;
  more: boolean; // whether there are more than `total`
  complete: boolean;
  indexed: number;
  notes: number;
  reason: string; // why a query with operators was read as plain words, or ''
}

/** A file that was added for a note. */
export interface Attached extends Saved {
  embed: string; // what shows it in the note
}

export interface HomeData {
  vault: string;
  vaults: string[];
  owner: boolean;
  readOnly: boolean;
  counts: { notes: number; canvases: number; bases: number; attachments: number };
  index: { complete: boolean; done: number; total: number };
  today: { path: string; exists: boolean } | null;
  recent: { path: string; modified: number }[];
  bookmarks: { path: string; title: string }[];
}

export interface Saved {
  path: string;
  hash: string;
  change: number | null;
  notices: string[];
}

export type Cell =
  | null
  | boolean
  | string
  | { kind: 'text' | 'number' | 'date' | 'error'; text: string }
  | { kind: 'list'; items: Cell[] }
  | { kind: 'url'; url: string; text: string }
  | ({ kind: 'link' | 'image'; text: string } & Target);

export interface BaseData {
  views: { name: string; type: string }[];
  view: string;
  type: string;
  columns: { id: string; name: string }[];
  rows: { path: string; cells: Cell[]; image: Cell }[];
  groups: { value: Cell; rows: number; summaries: Summary[] }[];
  summaries: Summary[];
  shown: number;
  total: number;
  problems: string[];
}

export interface Summary {
  column: string;
  name: string;
  value: Cell;
}

export interface Card {
  id: string;
  type: 'text' | 'file' | 'link' | 'group' | 'other';
  x: number;
  y: number;
  width: number;
  height: number;
  color: string;
  text?: string;
  file?: string;
  subpath?: string;
  media_kind?: string;
  path?: string | null;
  media?: string;
  url?: string;
  label?: string;
  what?: string;
}

export interface Edge {
  id: string;
  from: string;
  to: string;
  fromSide: string;
  toSide: string;
  fromArrow: boolean;
  toArrow: boolean;
  color: string;
  label: string;
}

export interface CanvasData {
  path: string;
  hash: string;
  cards: Card[];
  edges: Edge[];
  links: Record<string, Target>;
  problems: { line: number; message: string }[];
}
