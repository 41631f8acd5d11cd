// Renders a note: Markdown becomes markup, which is sanitized, and then its marks become links, tasks, embeds and so on.

import { api, ApiError } from '../lib/api';
import { type IconName, ICONS } from '../lib/icons';
import { kindOf, titleOf } from '../lib/paths';
import { href } from '../lib/router';
import type { NoteData, Target } from '../vault/model';
import { MARK, sanitize } from './sanitize';
import { type Env, type Mark, newEnv, renderPieces } from './syntax';

const MAX_EMBED_DEPTH = 4; // notes within notes
const MAX_EMBEDS = 100; // in one text; nobody reads a page with more
const IMAGE_SIZE = /^(\d{1,4})(?:x(\d{1,4}))?$/;

export interface RenderOptions {
  path: string;
  links: Record<string, Target>;
  /** The note's hash, which ticking a task requires; '' if tasks cannot be ticked. */
  hash: string;
  /** The line of the note at which the text begins. */
  offset: number;
  /** How many notes embed this text. */
  depth: number;
  breaks: boolean;
  /** The paths of this note and of those that embed it, so that a note that embeds itself comes to an end. */
  ancestors: string[];
  onTask?: ((path: string, line: number, hash: string) => void) | undefined;
  /** Renders a base into an element of the note. */
  mountBase?: ((element: HTMLElement, path: string, block: number, view: string) => void) | undefined;
}

const PIECE_CHARS = 24_000; // drawn at once: longer than most notes, and still too fast to notice
const TURN_MS = 30; // of drawing, before the browser gets a turn to paint and scroll
const CHARS_PER_LINE = 90; // on a wide screen
const LINE_HEIGHT = 27; // px
const MAX_HEIGHTS = 50; // long notes whose heights are remembered, for Back

/** The heights of the pieces of long notes when they were last shown, by path. */
const lastHeights = new Map<string, number[]>();

/** A text that is being drawn. The beginning of a long one is there at once, and the rest follows. */
export interface Drawing {
  /** Draws everything up to this line at once. */
  drawTo: (line: number) => void;
  stop: () => void;
}

/** Draws a text into `container`. The browser lays out the pieces after the first only when they come close to the visible
 * part: otherwise each piece would make it lay out all the others again. Until then they have their last or estimated height. */
export function render(container: HTMLElement, text: string, options: RenderOptions): Drawing {
  const env = newEnv(options.offset, options.breaks);
  const source = text.replace(/\r\n?/g, '\n');
  const pieces = renderPieces(source, env, PIECE_CHARS);
  const embeds = { left: MAX_EMBEDS };
  const laterPieces: HTMLElement[] = [];
  const heights = (options.depth === 0 && lastHeights.get(options.path)) || [];
  let lines: string[] | null = null;
  let drawnTo = 0; // the line after the last one drawn
  let timer = 0;
  const drawNext = (): void => {
    const { value, done } = pieces.next();
    if (done) return void (drawnTo = Infinity);
    const fragment = sanitize(value.html);
    activate(fragment, env, options, embeds);
    if (drawnTo) {
      const piece = document.createElement('div');
      piece.className = 'md-piece';
      lines ??= source.split('\n');
      const pieceLines = lines.slice(drawnTo - options.offset, value.line - options.offset);
      const estimate = pieceLines.reduce((sum, line) => sum + (line.trim() ? Math.ceil(line.length / CHARS_PER_LINE) : 0.5) * LINE_HEIGHT, 0);
      piece.style.containIntrinsicBlockSize = `auto ${heights[laterPieces.length] ?? Math.round(estimate)}px`;
      piece.append(fragment);
      laterPieces.push(piece);
      container.append(piece);
    } else container.append(fragment);
    drawnTo = value.line;
  };
  const continueDrawing = (): void => {
    const until = performance.now() + TURN_MS;
    while (drawnTo < Infinity && performance.now() < until) drawNext();
    timer = drawnTo < Infinity ? setTimeout(continueDrawing) : 0;
  };
  container.replaceChildren();
  drawNext();
  if (drawnTo < Infinity) timer = setTimeout(continueDrawing);
  return {
    drawTo: (line) => {
      while (drawnTo <= line) drawNext();
    },
    stop: () => {
      clearTimeout(timer);
      if (options.depth || !laterPieces.length) return;
      lastHeights.delete(options.path);
      lastHeights.set(options.path, laterPieces.map((piece) => piece.offsetHeight));
      if (lastHeights.size > MAX_HEIGHTS) lastHeights.delete(lastHeights.keys().next().value ?? '');
    },
  };
}

/** Draws a note without its properties. */
export function renderNote(container: HTMLElement, note: NoteData, options: Pick<RenderOptions, 'depth' | 'ancestors' | 'onTask' | 'mountBase'>): Drawing {
  const lines = note.text.replace(/\r\n?/g, '\n').split('\n');
  const body = lines.slice(note.bodyLine - 1).join('\n');
  const offset = note.bodyLine - 1 + note.firstLine;
  const drawing = render(container, body, { path: note.path, links: note.links, hash: note.readOnly ? '' : note.hash, offset, breaks: note.breaks, ...options });
  // The page shows the title already. The heading stays, hidden, because links may lead to it.
  const first = container.firstElementChild;
  if (!options.depth && first?.tagName === 'H1' && first.textContent?.trim() === titleOf(note.path)) {
    first.classList.add('md-same');
    if (!first.querySelector('a, input')) first.setAttribute('aria-hidden', 'true');
  }
  return drawing;
}

function activate(fragment: DocumentFragment, env: Env, options: RenderOptions, embeds: { left: number }): void {
  for (const node of fragment.querySelectorAll<HTMLElement>('[data-md]')) {
    const mark = env.marks[Number(node.dataset.md?.slice(MARK.length + 1))];
    node.removeAttribute('data-md');
    if (!mark) continue;
    if (mark.kind === 'embed' && embeds.left-- <= 0) node.replaceWith(makeLink({ ...mark, kind: 'link' }, [], options));
    else activateMark(node, mark, options);
  }
  for (const node of fragment.querySelectorAll<HTMLElement>('[data-md-line]')) {
    node.dataset.line = node.dataset.mdLine?.slice(MARK.length + 1) ?? '';
    node.removeAttribute('data-md-line');
  }
  for (const title of fragment.querySelectorAll('.md-callout-title')) title.prepend(makeCalloutIcon(title.parentElement?.className ?? ''));
  // Each block has the direction of its own text, and lists and quotations that of their markers; code is always left to right.
  for (const block of fragment.children) if (!block.matches('.md-code')) block.setAttribute('dir', 'auto');
  for (const table of fragment.querySelectorAll<HTMLElement>('.md-table, .md-code')) table.tabIndex = 0;
  for (const image of fragment.querySelectorAll('img:not([src])')) image.replaceWith(makePlaceholder(image.getAttribute('alt') || 'picture'));
}

function activateMark(node: HTMLElement, mark: Mark, options: RenderOptions): void {
  switch (mark.kind) {
    case 'link':
      return node.replaceWith(makeLink(mark, [...node.childNodes], options));
    case 'tag':
      return node.replaceWith(makeAnchor(href('search', '', { q: `tag:#${mark.name}`, kind: 'exact' }), `#${mark.name}`, 'md-tag'));
    case 'image':
      return node.replaceWith(makeImageLink(mark.address, mark.text));
    case 'task':
      return node.replaceWith(makeCheckbox(mark, options));
    case 'math':
      return drawMath(node, mark.tex, mark.display);
    case 'base':
      return options.mountBase?.(node, options.path, mark.block, '');
    case 'embed':
      return drawEmbed(node, mark, options);
  }
}

const CALLOUT_ICONS: [RegExp, IconName][] = [
  [/-(?:tip|hint|important)\b/, 'tip'], [/-(?:success|check|done)\b/, 'check'], [/-(?:warning|caution|attention)\b/, 'warning'],
  [/-(?:question|help|faq)\b/, 'help'], [/-(?:failure|fail|missing|danger|error|bug)\b/, 'stop'], [/-(?:todo)\b/, 'task'],
  [/-(?:example|abstract|summary|tldr)\b/, 'list'], [/-(?:quote|cite)\b/, 'quote'], [/-note\b/, 'edit'],
];

/** Made with DOM calls, because the sanitizer allows no SVG. */
function makeCalloutIcon(className: string): SVGElement {
  const name = CALLOUT_ICONS.find(([kind]) => kind.test(className))?.[1] ?? 'info';
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

function makeAnchor(address: string, text: string, className: string): HTMLAnchorElement {
  const node = document.createElement('a');
  node.href = address;
  node.className = className;
  node.textContent = text;
  return node;
}

function makePlaceholder(text: string): HTMLElement {
  const node = document.createElement('span');
  node.className = 'md-absent';
  node.textContent = text;
  return node;
}

/** The address within the page to which a link leads. */
export function addressOf(path: string, subpath: string): string {
  return href('note', path, { to: subpath.replace(/^#/, '') });
}

function linkText(mark: { target: string; subpath: string; text: string }): string {
  return mark.text || [mark.target, ...mark.subpath.split('#').filter(Boolean)].filter(Boolean).join(' > ');
}

function makeLink(mark: Mark & { kind: 'link' }, children: Node[], { path, links }: RenderOptions): HTMLElement {
  const target = mark.target ? links[mark.target] : { path };
  const isMissing = target?.path === null;
  const node = makeAnchor(isMissing ? href('note', mark.target) : addressOf(target?.path ?? mark.target, mark.subpath), '', isMissing ? 'md-link md-missing' : 'md-link');
  if (isMissing) node.title = 'This note does not exist yet';
  if (children.length) node.append(...children);
  else node.textContent = linkText(mark);
  return node;
}

/** A picture from the internet is not loaded, because its server would learn when the note is read. */
function makeImageLink(address: string, text: string): HTMLElement {
  if (!/^https?:/i.test(address)) return makePlaceholder(text || address);
  const node = makeAnchor(address, text || address, 'md-outside');
  node.target = '_blank';
  node.rel = 'noopener noreferrer';
  node.title = 'A picture from the internet, not loaded here. Opens in a new tab.';
  return node;
}

function makeCheckbox({ line, status }: Mark & { kind: 'task' }, { path, hash, onTask }: RenderOptions): HTMLElement {
  const node = document.createElement('input');
  node.type = 'checkbox';
  node.checked = status !== ' ';
  node.dataset.task = String(line);
  node.setAttribute('aria-label', status === ' ' ? 'Open task' : 'Completed task');
  node.indeterminate = status !== ' ' && !/[x-]/i.test(status);
  if (hash && onTask) node.addEventListener('change', () => ((node.disabled = true), onTask(path, line, hash)));
  else node.disabled = true;
  return node;
}

function drawMath(node: HTMLElement, tex: string, display: boolean): void {
  node.textContent = tex.trim();
  node.classList.add('md-math');
  void import('./math').then(({ renderMath }) => {
    const formula = renderMath(tex, display);
    if (formula) node.replaceChildren(formula);
    else node.classList.add('md-tex');
  });
}

function drawEmbed(node: HTMLElement, mark: Mark & { kind: 'embed' }, options: RenderOptions): void {
  const target = mark.target ? options.links[mark.target] : { path: options.path };
  const path = target?.path;
  if (!path) return node.replaceWith(makeLink({ ...mark, kind: 'link' }, [], options));
  const kind = kindOf(path);
  const size = IMAGE_SIZE.exec(mark.text.split('|').at(-1) ?? '');
  const name = titleOf(path);
  if (kind === 'image' && target?.media) {
    const image = document.createElement('img');
    image.alt = (size ? mark.text.split('|').slice(0, -1).join('|') : mark.text) || name;
    // The size is set before the image is loaded, so that the text does not jump.
    const [width, height] = [Number(size?.[1] ?? target.width ?? 0), Number(size?.[2] ?? 0)];
    if (width) image.width = width;
    if (height || (width && target.width && target.height)) image.height = height || Math.round((width * (target.height ?? 0)) / (target.width ?? 1));
    image.loading = 'lazy';
    image.src = target.media;
    const anchor = makeAnchor(addressOf(path, ''), '', 'md-picture');
    anchor.append(image);
    return node.replaceWith(anchor);
  }
  if ((kind === 'audio' || kind === 'video') && target?.media) {
    const player = document.createElement(kind);
    player.controls = true;
    player.preload = 'metadata';
    player.src = target.media;
    player.setAttribute('aria-label', name);
    return node.replaceWith(player);
  }
  const isEmbeddable = kind === 'note' || kind === 'base';
  if (!isEmbeddable || options.depth >= MAX_EMBED_DEPTH || options.ancestors.includes(path)) return node.replaceWith(makeLink({ ...mark, kind: 'link' }, [], options));
  node.className = 'md-embed';
  const title = makeAnchor(addressOf(path, mark.subpath), linkText({ ...mark, target: name, text: '' }), 'md-embed-title');
  const body = document.createElement('div');
  body.className = 'md-embed-body';
  node.replaceChildren(title, body);
  if (kind === 'base') options.mountBase?.(body, path, 0, mark.subpath.replace(/^#/, ''));
  else void drawEmbeddedNote(body, path, mark.subpath, options);
}

async function drawEmbeddedNote(body: HTMLElement, path: string, subpath: string, options: RenderOptions): Promise<void> {
  try {
    const note = await api<NoteData>('note', { query: { path, subpath } });
    renderNote(body, note, { depth: options.depth + 1, ancestors: [...options.ancestors, path], onTask: options.onTask, mountBase: options.mountBase });
  } catch (error) {
    body.replaceChildren(makePlaceholder(error instanceof ApiError ? error.message : `${path} cannot be shown.`));
  }
}
