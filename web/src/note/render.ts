// A note's text as elements: Markdown to markup, through the sanitizer, and then what is live in it.

import { api, ApiError } from '../lib/api';
import { href } from '../lib/router';
import { ICONS, type IconName } from '../lib/ui';
import { kindOf, type NoteData, type Target, titleOf } from '../vault/types';
import { MARK, sanitize } from './sanitize';
import { type Env, type Mark, newEnv, toPieces } from './syntax';

const EMBED_DEPTH = 4; // notes within notes
const EMBEDS = 100; // of one text; a page with more is no longer read
const SIZE = /^(\d{1,4})(?:x(\d{1,4}))?$/;

export interface Rendering {
  path: string;
  links: Record<string, Target>;
  /** The note's hash, with which tasks are ticked; '' when they cannot be. */
  hash: string;
  offset: number;
  depth: number;
  breaks: boolean;
  /** The paths of the notes around this one, so that a note that embeds itself ends. */
  around: string[];
  tick?: ((path: string, line: number, hash: string) => void) | undefined;
  /** Puts a base into a place of the note. */
  base?: ((place: HTMLElement, path: string, block: number, view: string) => void) | undefined;
}

const PIECE_CHARS = 24_000; // drawn at once: more than most notes have, and no longer than a blink
const TURN_MS = 30; // of drawing, before the browser may show it and a person scroll
const LINE_CHARS = 90; // in one line on a wide screen
const LINE_PX = 27;
const KNOWN_NOTES = 50; // long notes whose heights are remembered: those that Back may lead to

/** How high the pieces of long notes were when they were last shown. */
const known = new Map<string, number[]>();

/** A text that is being drawn: of a long one the beginning is there at once, and the rest follows. */
export interface Drawing {
  /** Draws on at once until this line is there. */
  reach: (line: number) => void;
  end: () => void;
}

/** Draws a text into `place`. All pieces after the first are laid out by the browser when they come near to what is in sight:
 * otherwise each would make it lay out all that are there already. Until then they are as high as they were, or as it seems. */
export function render(place: HTMLElement, text: string, rendering: Rendering): Drawing {
  const env = newEnv(rendering.offset, rendering.breaks);
  const source = text.replace(/\r\n?/g, '\n');
  const pieces = toPieces(source, env, PIECE_CHARS);
  const embeds = { left: EMBEDS };
  const rest: HTMLElement[] = [];
  const heights = (rendering.depth === 0 && known.get(rendering.path)) || [];
  let lines: string[] | null = null;
  let drawn = 0;
  let timer = 0;
  const next = (): void => {
    const { value, done } = pieces.next();
    if (done) return void (drawn = Infinity);
    const fragment = sanitize(value.html);
    enliven(fragment, env, rendering, embeds);
    if (drawn) {
      const piece = document.createElement('div');
      piece.className = 'md-piece';
      lines ??= source.split('\n');
      const own = lines.slice(drawn - rendering.offset, value.line - rendering.offset);
      const guess = own.reduce((sum, line) => sum + (line.trim() ? Math.ceil(line.length / LINE_CHARS) : 0.5) * LINE_PX, 0);
      piece.style.containIntrinsicBlockSize = `auto ${heights[rest.length] ?? Math.round(guess)}px`;
      piece.append(fragment);
      rest.push(piece);
      place.append(piece);
    } else place.append(fragment);
    drawn = value.line;
  };
  const goOn = (): void => {
    const until = performance.now() + TURN_MS;
    while (drawn < Infinity && performance.now() < until) next();
    timer = drawn < Infinity ? setTimeout(goOn) : 0;
  };
  place.replaceChildren();
  next();
  if (drawn < Infinity) timer = setTimeout(goOn);
  return {
    reach: (line) => {
      while (drawn <= line) next();
    },
    end: () => {
      clearTimeout(timer);
      if (rendering.depth || !rest.length) return;
      known.delete(rendering.path);
      known.set(rendering.path, rest.map((piece) => piece.offsetHeight));
      if (known.size > KNOWN_NOTES) known.delete(known.keys().next().value ?? '');
    },
  };
}

/** Draws a note without its properties. */
export function renderNote(place: HTMLElement, note: NoteData, rest: Pick<Rendering, 'depth' | 'around' | 'tick' | 'base'>): Drawing {
  const lines = note.text.replace(/\r\n?/g, '\n').split('\n');
  const body = lines.slice(note.bodyLine - 1).join('\n');
  const offset = note.bodyLine - 1 + note.firstLine;
  const drawing = render(place, body, { path: note.path, links: note.links, hash: note.readOnly ? '' : note.hash, offset, breaks: note.breaks, ...rest });
  // The title is above already. The heading stays as a place that links lead to.
  const first = place.firstElementChild;
  if (!rest.depth && first?.tagName === 'H1' && first.textContent?.trim() === titleOf(note.path)) {
    first.classList.add('md-same');
    if (!first.querySelector('a, input')) first.setAttribute('aria-hidden', 'true');
  }
  return drawing;
}

function enliven(fragment: DocumentFragment, env: Env, rendering: Rendering, embeds: { left: number }): void {
  for (const node of fragment.querySelectorAll<HTMLElement>('[data-md]')) {
    const mark = env.marks[Number(node.dataset.md?.slice(MARK.length + 1))];
    node.removeAttribute('data-md');
    if (!mark) continue;
    if (mark.kind === 'embed' && embeds.left-- <= 0) node.replaceWith(link({ ...mark, kind: 'link' }, [], rendering));
    else enlivenOne(node, mark, rendering);
  }
  for (const node of fragment.querySelectorAll<HTMLElement>('[data-md-line]')) {
    node.dataset.line = node.dataset.mdLine?.slice(MARK.length + 1) ?? '';
    node.removeAttribute('data-md-line');
  }
  for (const title of fragment.querySelectorAll('.md-callout-title')) title.prepend(calloutIcon(title.parentElement?.className ?? ''));
  // Each block is written in the direction of its own text, lists and quotations with their marks; code never turns.
  for (const block of fragment.children) if (!block.matches('.md-code')) block.setAttribute('dir', 'auto');
  for (const table of fragment.querySelectorAll<HTMLElement>('.md-table, .md-code')) table.tabIndex = 0;
  for (const picture of fragment.querySelectorAll('img:not([src])')) picture.replaceWith(quiet(picture.getAttribute('alt') || 'picture'));
}

function enlivenOne(node: HTMLElement, mark: Mark, rendering: Rendering): void {
  switch (mark.kind) {
    case 'link':
      return node.replaceWith(link(mark, [...node.childNodes], rendering));
    case 'tag':
      return node.replaceWith(anchor(href('search', '', { q: `tag:#${mark.name}`, kind: 'exact' }), `#${mark.name}`, 'md-tag'));
    case 'picture':
      return node.replaceWith(worldPicture(mark.address, mark.text));
    case 'task':
      return node.replaceWith(box(mark, rendering));
    case 'math':
      return math(node, mark.tex, mark.display);
    case 'base':
      return rendering.base?.(node, rendering.path, mark.block, '');
    case 'embed':
      return embed(node, mark, rendering);
  }
}

const CALLOUTS: [RegExp, IconName][] = [
  [/-(?:tip|hint|important)\b/, 'tip'], [/-(?:success|check|done)\b/, 'check'], [/-(?:warning|caution|attention)\b/, 'warning'],
  [/-(?:question|help|faq)\b/, 'help'], [/-(?:failure|fail|missing|danger|error|bug)\b/, 'stop'], [/-(?:todo)\b/, 'task'],
  [/-(?:example|abstract|summary|tldr)\b/, 'list'], [/-(?:quote|cite)\b/, 'quote'], [/-note\b/, 'edit'],
];

/** A note's own markup holds no drawing, so it is made here. */
function calloutIcon(className: string): SVGElement {
  const name = CALLOUTS.find(([kind]) => kind.test(className))?.[1] ?? 'info';
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

function anchor(address: string, text: string, className: string): HTMLAnchorElement {
  const node = document.createElement('a');
  node.href = address;
  node.className = className;
  node.textContent = text;
  return node;
}

function quiet(text: string): HTMLElement {
  const node = document.createElement('span');
  node.className = 'md-absent';
  node.textContent = text;
  return node;
}

/** The address within the page of what a link names. */
export function addressOf(path: string, subpath: string): string {
  return href('note', path, { to: subpath.replace(/^#/, '') });
}

function shownText(mark: { target: string; subpath: string; text: string }): string {
  return mark.text || [mark.target, ...mark.subpath.split('#').filter(Boolean)].filter(Boolean).join(' > ');
}

function link(mark: Mark & { kind: 'link' }, children: Node[], { path, links }: Rendering): HTMLElement {
  const found = mark.target ? links[mark.target] : { path };
  const missing = found?.path === null;
  const node = anchor(missing ? href('note', mark.target) : addressOf(found?.path ?? mark.target, mark.subpath), '', missing ? 'md-link md-missing' : 'md-link');
  if (missing) node.title = 'There is no such note yet';
  if (children.length) node.append(...children);
  else node.textContent = shownText(mark);
  return node;
}

/** A picture from elsewhere is not loaded: its server would learn when the note is read. */
function worldPicture(address: string, text: string): HTMLElement {
  if (!/^https?:/i.test(address)) return quiet(text || address);
  const node = anchor(address, text || address, 'md-outside');
  node.target = '_blank';
  node.rel = 'noopener noreferrer';
  node.title = 'A picture from the internet, which is not loaded here. Opens in a new tab.';
  return node;
}

function box({ line, status }: Mark & { kind: 'task' }, { path, hash, tick }: Rendering): HTMLElement {
  const node = document.createElement('input');
  node.type = 'checkbox';
  node.checked = status !== ' ';
  node.dataset.task = String(line);
  node.setAttribute('aria-label', status === ' ' ? 'Open task' : 'Done task');
  node.indeterminate = status !== ' ' && !/[x-]/i.test(status);
  if (hash && tick) node.addEventListener('change', () => ((node.disabled = true), tick(path, line, hash)));
  else node.disabled = true;
  return node;
}

function math(node: HTMLElement, tex: string, display: boolean): void {
  node.textContent = tex.trim();
  node.classList.add('md-math');
  void import('./math').then(({ renderMath }) => {
    const drawn = renderMath(tex, display);
    if (drawn) node.replaceChildren(drawn);
    else node.classList.add('md-tex');
  });
}

function embed(node: HTMLElement, mark: Mark & { kind: 'embed' }, rendering: Rendering): void {
  const found = mark.target ? rendering.links[mark.target] : { path: rendering.path };
  const path = found?.path;
  if (!path) return node.replaceWith(link({ ...mark, kind: 'link' }, [], rendering));
  const kind = kindOf(path);
  const size = SIZE.exec(mark.text.split('|').at(-1) ?? '');
  const name = titleOf(path);
  if (kind === 'image' && found?.media) {
    const picture = document.createElement('img');
    picture.alt = (size ? mark.text.split('|').slice(0, -1).join('|') : mark.text) || name;
    // Room is left for it before it comes, so that the text does not jump.
    const [width, height] = [Number(size?.[1] ?? found.width ?? 0), Number(size?.[2] ?? 0)];
    if (width) picture.width = width;
    if (height || (width && found.width && found.height)) picture.height = height || Math.round((width * (found.height ?? 0)) / (found.width ?? 1));
    picture.loading = 'lazy';
    picture.src = found.media;
    const around = anchor(addressOf(path, ''), '', 'md-picture');
    around.append(picture);
    return node.replaceWith(around);
  }
  if ((kind === 'audio' || kind === 'video') && found?.media) {
    const player = document.createElement(kind);
    player.controls = true;
    player.preload = 'metadata';
    player.src = found.media;
    player.setAttribute('aria-label', name);
    return node.replaceWith(player);
  }
  const shown = kind === 'note' || kind === 'base';
  if (!shown || rendering.depth >= EMBED_DEPTH || rendering.around.includes(path)) return node.replaceWith(link({ ...mark, kind: 'link' }, [], rendering));
  node.className = 'md-embed';
  const title = anchor(addressOf(path, mark.subpath), shownText({ ...mark, target: name, text: '' }), 'md-embed-title');
  const body = document.createElement('div');
  body.className = 'md-embed-body';
  node.replaceChildren(title, body);
  if (kind === 'base') rendering.base?.(body, path, 0, mark.subpath.replace(/^#/, ''));
  else void embedNote(body, path, mark.subpath, rendering);
}

async function embedNote(body: HTMLElement, path: string, subpath: string, rendering: Rendering): Promise<void> {
  try {
    const note = await api<NoteData>('note', { query: { path, subpath } });
    renderNote(body, note, { depth: rendering.depth + 1, around: [...rendering.around, path], tick: rendering.tick, base: rendering.base });
  } catch (error) {
    body.replaceChildren(quiet(error instanceof ApiError ? error.message : `${path} cannot be shown.`));
  }
}
