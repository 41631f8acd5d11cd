// What a person has open and selected: reported to the server, and mentioned to assistants on request.

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { pluralize } from '../lib/format';
import { live } from '../lib/live';
import { notify, notifyError } from '../lib/notices';
import { useStore } from '../lib/store';
import type { NoteData } from './model';

/** The selected lines of a note, as [first, last] from 1, or null. */
function findSelectedLines(body: HTMLElement | null, lineCount: number): [number, number] | null {
  const selection = getSelection();
  if (!body || !selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (!body.contains(range.commonAncestorContainer)) return null;
  const blocks = [...body.querySelectorAll<HTMLElement>('[data-line]')].filter((node) => !node.closest('.md-embed'));
  const selected = blocks.filter((node) => range.intersectsNode(node) && !node.querySelector('[data-line]'));
  const first = selected[0];
  const last = selected.at(-1);
  if (!first || !last) return null;
  // A block ends where the next one begins.
  const next = blocks.slice(blocks.indexOf(last) + 1)[0];
  return [Number(first.dataset.line), next ? Math.max(Number(last.dataset.line), Number(next.dataset.line) - 1) : lineCount];
}

export function useSharedSelection(note: NoteData, body: RefObject<HTMLElement | null>, isEditing: boolean): { mention: (() => void) | null; label: string } {
  const [lines, setLines] = useState<[number, number] | null>(null);
  const state = useStore(live.state);
  const isShared = note.kind === 'note' || note.kind === 'canvas' || note.kind === 'base';
  const textLines = useRef<string[]>([]);
  textLines.current = (note.text ?? '').split(/\r\n?|\n/);

  useEffect(() => {
    if (isEditing) return undefined;
    const handleSelection = () => {
      let selected = findSelectedLines(body.current, textLines.current.length);
      // Blank lines at the end belong to no block.
      while (selected && selected[1] > selected[0] && !textLines.current[selected[1] - 1]?.trim()) selected = [selected[0], selected[1] - 1];
      // Pressing Mention ends the selection, but is about what was selected.
      setLines((last) => (String(last) === String(selected) || (!selected && document.activeElement?.id === 'mention') ? last : selected));
    };
    document.addEventListener('selectionchange', handleSelection);
    return () => document.removeEventListener('selectionchange', handleSelection);
  }, [isEditing]);

  useEffect(() => {
    if (state.status !== 'connected' || !isShared) return;
    const selected = lines && textLines.current.slice(lines[0] - 1, lines[1]);
    const selection = lines && selected && { start: { line: lines[0] - 1, character: 0 }, end: { line: lines[1] - 1, character: selected.at(-1)?.length ?? 0 }, text: selected.join('\n') };
    live.notify('focus', { path: note.path, selection });
    live.notify('openFiles', { files: [{ path: note.path, lines: textLines.current.length }] });
  }, [state.status, note.path, String(lines)]);
  useEffect(() => () => {
    live.notify('focus', { path: null });
    live.notify('openFiles', { files: [] });
  }, []);

  const mention = async () => {
    try {
      const range = lines ? { lineStart: lines[0] - 1, lineEnd: lines[1] - 1 } : {};
      const { path, assistants } = await live.request<{ path: string; assistants: number }>('mention', { note: note.path, ...range });
      const mentioned = `${path}${lines ? `, lines ${lines.join('–')},` : ''}`;
      if (assistants) notify(`${mentioned} was mentioned to ${pluralize(assistants, 'assistant')}.`);
      else notify(`No assistant is connected. One that connects within ten seconds will get the mention of ${path}.`, 'bad');
    } catch (error) {
      notifyError(error);
    }
  };
  const label = lines ? `Mention line${lines[0] === lines[1] ? '' : 's'} ${[...new Set(lines)].join('–')}` : 'Mention';
  return { mention: isShared && state.status === 'connected' ? () => void mention() : null, label };
}
