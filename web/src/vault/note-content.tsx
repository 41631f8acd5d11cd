// The content of a file, for reading: a rendered note, a base, a canvas, or an attachment.

import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { api } from '../lib/api';
import { formatBytes } from '../lib/format';
import { Icon } from '../lib/icons';
import { notify, notifyError } from '../lib/notices';
import { titleOf } from '../lib/paths';
import { href, navigate, type Route } from '../lib/router';
import { EmptyState } from '../lib/states';
import { type Drawing, renderNote } from '../note/render';
import { Base, mountBase } from './base';
import { Canvas } from './canvas';
import type { NoteData, Saved } from './model';
import { Properties } from './properties';
import { makeUndoAction } from './undo';

interface NoteContentProps {
  note: NoteData;
  route: Route;
  /** The element with the text of a note. */
  body: { current: HTMLDivElement | null };
  /** Requests the current state of the note. */
  reload: () => Promise<unknown>;
}

export function NoteContent({ note, route, body, reload }: NoteContentProps): JSX.Element {
  const { path } = note;
  switch (note.kind) {
    case 'note':
      return (
        <>
          <Properties note={note} />
          {note.problems.map((problem) => <p key={`${problem.line}${problem.message}`} class="note-problem"><Icon name="warning" /><span>{problem.message.startsWith('Line ') ? '' : `Line ${problem.line}: `}{problem.message}</span></p>)}
          <NoteBody note={note} route={route} body={body} reload={reload} />
        </>
      );
    case 'base':
      return <Base path={path} block={0} view={route.query.get('view') ?? ''} onView={(view) => navigate(href('note', path, { view }))} />;
    case 'canvas':
      return <Canvas key={note.hash} path={path} />;
    case 'image':
      return <figure class="attachment"><img src={note.media ?? ''} alt={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'audio':
      return <figure class="attachment"><audio controls src={note.media ?? ''} aria-label={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'video':
      return <figure class="attachment"><video controls src={note.media ?? ''} aria-label={titleOf(path)} /><figcaption><Download note={note} /></figcaption></figure>;
    case 'pdf':
      return <div class="attachment pdf"><iframe src={note.media ?? ''} title={titleOf(path)} /><Download note={note} /></div>;
    case 'text':
      return <div class="attachment"><pre class="md-code" tabIndex={0}>{note.text}</pre><Download note={note} /></div>;
    default:
      return <EmptyState icon="file" title="This file cannot be shown here"><Download note={note} /></EmptyState>;
  }
}

function Download({ note }: { note: NoteData }): JSX.Element {
  return <p class="quiet"><a href={note.media ?? ''} download={note.path.split('/').at(-1) ?? ''}>Save a copy</a> · {formatBytes(note.size)}</p>;
}

function NoteBody({ note, route, body, reload }: NoteContentProps): JSX.Element {
  const toggleTask = async (path: string, line: number, hash: string) => {
    try {
      const saved = await api<Saved>('task', { body: { path, line, expected: hash } });
      notify('The task was updated.', 'good', makeUndoAction(saved.change, reload));
    } catch (error) {
      notifyError(error);
    }
    // Also after a refusal, so that the page shows what the note says.
    await reload().catch(() => undefined);
  };
  const drawing = useRef<Drawing | null>(null);
  const linkTargets = Object.entries(note.links).map(([target, { path }]) => `${target}>${path}`).join('|');
  useLayoutEffect(() => {
    const element = body.current;
    if (!element) return undefined;
    const unmounts: (() => void)[] = [];
    const focusedTask = element.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.task : undefined;
    const lastLine = findLastVisibleLine(element);
    drawing.current = renderNote(element, note, {
      depth: 0,
      ancestors: [note.path],
      onTask: (path, line, hash) => void toggleTask(path, line, hash),
      mountBase: (place, path, block, view) => unmounts.push(mountBase(place, path, block, view, note.path)),
    });
    // What was visible is back before the page is laid out, so that it does not jump.
    drawing.current.drawTo(Math.max(lastLine, Number(focusedTask ?? 0)));
    if (focusedTask) element.querySelector<HTMLElement>(`[data-task="${CSS.escape(focusedTask)}"]`)?.focus();
    return () => (drawing.current?.stop(), unmounts.forEach((unmount) => unmount()));
  }, [note.text, note.hash, note.path, linkTargets]);

  const [to, line] = [route.query.get('to'), route.query.get('line')];
  useLayoutEffect(() => {
    const wanted = line ? Number(line) : to ? findLine(note, to) : 0;
    if (!wanted) return;
    drawing.current?.drawTo(wanted);
    const blocks = [...(body.current?.querySelectorAll<HTMLElement>('[data-line]') ?? [])].filter((element) => !element.closest('.md-embed'));
    const block = blocks.findLast((element) => Number(element.dataset.line) <= wanted) ?? blocks[0];
    const scroll = (): void => block?.scrollIntoView({ block: line ? 'center' : 'start' });
    scroll();
    block?.classList.add('md-found');
    document.getElementById('note-title')?.focus({ preventScroll: true });
    // Again, because the blocks of a long note get their real heights only when they come into view.
    const frame = requestAnimationFrame(scroll);
    return () => (cancelAnimationFrame(frame), block?.classList.remove('md-found'));
  }, [to, line, note.path]);
  const isEmpty = !note.text.replace(/\r\n?/g, '\n').split('\n').slice(note.bodyLine - 1).join('').trim();
  return (
    <>
      <div class="note-body" ref={body} />
      {isEmpty && <p class="quiet">This note has no text yet. {!note.readOnly && <a href={href('note', note.path, { edit: 1 })}>Write something</a>}</p>}
    </>
  );
}

/** The line of the first block below what is visible, or of the last block; 0 if nothing is drawn yet. */
function findLastVisibleLine({ children }: HTMLElement): number {
  let [low, high] = [0, children.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((children[middle]?.getBoundingClientRect().top ?? 0) < innerHeight) low = middle + 1;
    else high = middle;
  }
  const lineOf = (block: Element | undefined): number => Number(block?.closest<HTMLElement>('[data-line]')?.dataset.line ?? block?.querySelector<HTMLElement>('[data-line]')?.dataset.line ?? 0);
  // Some blocks have no line, such as footnotes.
  let at = Math.min(low, children.length - 1);
  while (at > 0 && !lineOf(children[at])) at--;
  return lineOf(children[at]);
}

/** A heading as links refer to it: without markup and the characters that a link cannot contain. */
const normalizeHeading = (text: string): string => text.replace(/[#*_`[\]|^:%\\]/g, ' ').replace(/\s+/g, ' ').trim().toLowerCase();

/** The line of the heading or block that a link names; 0 if there is none. */
function findLine(note: NoteData, subpath: string): number {
  if (subpath.startsWith('^')) return note.blocks[subpath.slice(1)] ?? 0;
  const headings = subpath.split('#').map(normalizeHeading);
  let at = 0;
  let line = 0;
  for (const heading of note.outline) {
    if (normalizeHeading(heading.text) !== headings[at]) continue;
    line = heading.line;
    if (++at === headings.length) return line;
  }
  return line;
}
