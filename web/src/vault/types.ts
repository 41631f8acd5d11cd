// What the server sends about files (src/vaultbridge/web/api).

import type { IconName } from '../lib/ui';

export interface Target {
  /** Null: no file that this page may see has the name. */
  path: string | null;
  target?: string;
  /** The address of a file that a browser can show. */
  media?: string;
  /** Of a picture whose file says it. */
  width?: number;
  height?: number;
}

export type Kind = 'note' | 'canvas' | 'base' | 'image' | 'audio' | 'video' | 'pdf' | 'text' | 'file';

export interface Property {
  name: string;
  type: string;
  value: unknown;
}

export interface NoteData {
  path: string;
  kind: Kind;
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
  /** Opens the file in the app; only for the owner of the vault. */
  obsidian?: string;
  unchanged?: true;
}

export interface Links {
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

export interface Found {
  hits: Hit[];
  total: number;
  more: boolean; // there are more than total
  complete: boolean;
  indexed: number;
  notes: number;
}

export interface Home {
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

const ENDINGS: [Kind, RegExp][] = [
  ['note', /\.md$/i],
  ['canvas', /\.canvas$/i],
  ['base', /\.base$/i],
  ['image', /\.(?:avif|bmp|gif|jpe?g|png|svg|webp)$/i],
  ['audio', /\.(?:flac|m4a|mp3|ogg|wav|3gp)$/i],
  ['video', /\.(?:mkv|mov|mp4|ogv|webm)$/i],
  ['pdf', /\.pdf$/i],
];

export const kindOf = (path: string): Kind => ENDINGS.find(([, ending]) => ending.test(path))?.[0] ?? 'file';

/** What a file is, as a picture beside its name. */
export const iconOf = (path: string): IconName => {
  const kind = kindOf(path);
  return kind === 'video' ? 'file' : kind === 'pdf' || kind === 'text' ? 'file' : kind;
};

/** A file's name as people say it: a note without its ending. */
export const titleOf = (path: string): string => (path.split('/').at(-1) ?? path).replace(/\.(?:md|canvas|base)$/i, '');

/** A line of Markdown as a person would read it aloud. */
export const plainLine = (text: string): string =>
  text.replace(/!?\[\[([^\]|]*\|)?([^\]]*)\]\]/g, (_, target, shown) => (target ? shown : shown.replace(/#\^?/g, ' > '))).replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/^\s*(?:[-*+>]\s+|#+\s+|\d+\.\s+|\|\s*)+(?:\[.\]\s+)?/, '').replace(/\s*\|\s*$/, '').replace(/\s*\|\s*/g, ' · ').replace(/\*\*|__|==|~~|%%|`/g, '').replace(/(?<!\w)([*_])(?=\S)([^*_]*\S)\1(?!\w)/g, '$2').replace(/\s\^[\w-]+$/, '');

/** The same for a line in parts, some of which match. The marks of a link or of emphasis may be split between two parts. */
export function plainParts(parts: [string, boolean][]): [string, boolean][] {
  const plain = parts.map(([text, found]): [string, boolean] => [text.replace(/!?\[\[|\]\]|\*\*|__|==|~~|%%|`/g, ''), found]);
  const [first, last] = [plain[0], plain.at(-1)];
  if (first) first[0] = first[0].replace(/^\s*(?:[-*+>]\s+|#+\s+|\d+\.\s+|\|\s*)+(?:\[.\]\s+)?/, '');
  if (last) last[0] = last[0].replace(/\s\^[\w-]+$/, '').replace(/\s*\|\s*$/, '');
  return plain;
}

export const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');
