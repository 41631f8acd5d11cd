// What a person has open and selected, reported to the server, and handed to the assistant when they ask for it.

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { live } from '../lib/live';
import { complain, notify } from '../lib/ui';
import { useValue } from '../lib/value';
import type { NoteData } from './types';

interface Mentioned { path: string; assistants: number }

/** The lines of the note that are selected, as [first, last] from 1, or null. */
function selectedLines(body: HTMLElement | null, last: number): [number, number] | null {
  const selection = getSelection();
  if (!body || !selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (!body.contains(range.commonAncestorContainer)) return null;
  const places = [...body.querySelectorAll<HTMLElement>('[data-line]')].filter((node) => !node.closest('.md-embed'));
  const touched = places.filter((node) => range.intersectsNode(node) && !node.querySelector('[data-line]'));
  const first = touched[0];
  const end = touched.at(-1);
  if (!first || !end) return null;
  // A block ends where the next one that is not within it begins.
  const next = places.slice(places.indexOf(end) + 1)[0];
  return [Number(first.dataset.line), next ? Math.max(Number(end.dataset.line), Number(next.dataset.line) - 1) : last];
}

export function useSharedSelection(note: NoteData, body: RefObject<HTMLElement | null>, edit: boolean): { mention: (() => void) | null; label: string } {
  const [lines, setLines] = useState<[number, number] | null>(null);
  const state = useValue(live.state);
  const shared = note.kind === 'note' || note.kind === 'canvas' || note.kind === 'base';
  const text = useRef<string[]>([]);
  text.current = (note.text ?? '').split(/\r\n?|\n/);

  useEffect(() => {
    if (edit) return undefined;
    const look = () => {
      let found = selectedLines(body.current, text.current.length);
      // Blank lines at the end belong to no block.
      while (found && found[1] > found[0] && !text.current[found[1] - 1]?.trim()) found = [found[0], found[1] - 1];
      setLines((now) => (String(now) === String(found) || (!found && document.activeElement?.id === 'mention') ? now : found));
    };
    document.addEventListener('selectionchange', look);
    return () => document.removeEventListener('selectionchange', look);
  }, [edit]);

  useEffect(() => {
    if (state.word !== 'connected' || !shared) return;
    const chosen = lines && text.current.slice(lines[0] - 1, lines[1]);
    const selection = lines && chosen && { start: { line: lines[0] - 1, character: 0 }, end: { line: lines[1] - 1, character: chosen.at(-1)?.length ?? 0 }, text: chosen.join('\n') };
    live.tell('focus', { path: note.path, selection });
    live.tell('openFiles', { files: [{ path: note.path, lines: text.current.length }] });
  }, [state.word, note.path, String(lines)]);
  useEffect(() => () => {
    live.tell('focus', { path: null });
    live.tell('openFiles', { files: [] });
  }, []);

  const mention = async () => {
    try {
      const where = lines ? { lineStart: lines[0] - 1, lineEnd: lines[1] - 1 } : {};
      const { path, assistants } = await live.ask<Mentioned>('mention', { note: note.path, ...where });
      const what = `${path}${lines ? `, lines ${lines.join('–')},` : ''}`;
      if (assistants) notify(`${what} was mentioned to ${assistants} assistant${assistants === 1 ? '' : 's'}.`);
      else notify(`No assistant is connected. One that connects within ten seconds will get the mention of ${path}.`, 'bad');
    } catch (error) {
      complain(error);
    }
  };
  const label = lines ? `Mention line${lines[0] === lines[1] ? '' : 's'} ${[...new Set(lines)].join('–')}` : 'Mention';
  return { mention: shared && state.word === 'connected' ? () => void mention() : null, label };
}
