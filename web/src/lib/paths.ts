// Paths of files in the vault, as people see them.

import type { IconName } from './icons';

export type FileKind = 'note' | 'canvas' | 'base' | 'image' | 'audio' | 'video' | 'pdf' | 'text' | 'file';

const SUFFIXES: [FileKind, RegExp][] = [
  ['note', /\.md$/i],
  ['canvas', /\.canvas$/i],
  ['base', /\.base$/i],
  ['image', /\.(?:avif|bmp|gif|jpe?g|png|svg|webp)$/i],
  ['audio', /\.(?:flac|m4a|mp3|ogg|wav|3gp)$/i],
  ['video', /\.(?:mkv|mov|mp4|ogv|webm)$/i],
  ['pdf', /\.pdf$/i],
];

export const kindOf = (path: string): FileKind => SUFFIXES.find(([, suffix]) => suffix.test(path))?.[0] ?? 'file';

export function iconOf(path: string): IconName {
  const kind = kindOf(path);
  return kind === 'video' || kind === 'pdf' || kind === 'text' ? 'file' : kind;
}

/** A file's name as people say it: without its folder, and a note without its suffix. */
export const titleOf = (path: string): string => (path.split('/').at(-1) ?? path).replace(/\.(?:md|canvas|base)$/i, '');

export const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');
