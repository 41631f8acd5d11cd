// Obsidian's Markdown on top of markdown-it: links and embeds, tags, highlights, comments, callouts, tasks, footnotes,
// formulas and block ids. Whatever is interactive becomes a mark, `<span data-md="…">`, which `render.ts` replaces.

import MarkdownIt, { type StateBlock, type StateCore, type StateInline, type Token } from 'markdown-it';
import { highlight } from './highlight';
import { MARK } from './sanitize';

export type Mark =
  | { kind: 'link'; target: string; subpath: string; text: string }
  | { kind: 'embed'; target: string; subpath: string; text: string }
  | { kind: 'tag'; name: string }
  | { kind: 'task'; line: number; status: string }
  | { kind: 'math'; tex: string; display: boolean }
  | { kind: 'base'; block: number }
  | { kind: 'image'; address: string; text: string };

/** What one rendering collects. `offset` is added to line numbers: the text may be a part of a note. */
export interface Env {
  offset: number;
  marks: Mark[];
  footnotes: Map<string, string>;
  /** The keys of the footnotes that the text refers to, in their order. */
  citedFootnotes: string[];
  bases: number;
  depth: number;
  /** Whether a line break within a paragraph is shown as one: Obsidian's default. */
  breaks: boolean;
}

const envOf = (env: unknown): Env => env as Env;

export const newEnv = (offset: number, breaks: boolean): Env => ({ offset, breaks, marks: [], footnotes: new Map(), citedFootnotes: [], bases: 0, depth: 0 });

function addMark(env: Env, mark: Mark, tag = 'span', className = ''): string {
  env.marks.push(mark);
  const classAttribute = className && ` class="${className}"`;
  return `<${tag}${classAttribute} data-md="${MARK}:${env.marks.length - 1}"></${tag}>`;
}

const markdown = new MarkdownIt({ html: true, linkify: true, highlight });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
const { escapeHtml } = markdown.utils;

/** Adds a piece of markup to the tokens. */
function pushHtml(state: StateInline | StateBlock, markup: string, block = false): Token {
  const token = state.push(block ? 'html_block' : 'html_inline', '', 0);
  token.content = markup;
  return token;
}

// [[links]] and ![[embeds]]

const MAX_LINK_CHARS = 1000; // longer ones stay text

function parseWikilink(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state;
  const embed = src.startsWith('![[', pos);
  if (!embed && !src.startsWith('[[', pos)) return false;
  const start = pos + (embed ? 3 : 2);
  const end = src.indexOf(']]', start);
  if (end < 0 || end > state.posMax - 2 || end - start > MAX_LINK_CHARS) return false;
  const inner = src.slice(start, end);
  if (!inner.trim() || /[\r\n]|\[\[/.test(inner)) return false;
  if (!silent) {
    const [reference = '', ...rest] = inner.replaceAll('\\|', '|').split('|');
    const hash = reference.indexOf('#');
    const target = (hash < 0 ? reference : reference.slice(0, hash)).trim();
    const subpath = hash < 0 ? '' : reference.slice(hash).trim();
    const text = rest.join('|').trim();
    pushHtml(state, addMark(envOf(state.env), { kind: embed ? 'embed' : 'link', target, subpath, text }));
  }
  state.pos = end + 2;
  return true;
}

// #tags

const TAG = /#[\p{L}\p{M}\p{N}\p{Extended_Pictographic}_\-/]+/uy;

function parseTag(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state;
  if (src[pos] !== '#' || (pos > 0 && !/[\s\p{P}]/u.test(src[pos - 1] ?? '')) || src[pos - 1] === '#') return false;
  TAG.lastIndex = pos;
  const name = TAG.exec(src)?.[0].slice(1).replace(/\/+$/, '') ?? '';
  if (!/[^\d/]/.test(name)) return false;
  if (!silent) pushHtml(state, addMark(envOf(state.env), { kind: 'tag', name }));
  state.pos = pos + 1 + name.length;
  return true;
}

// ==highlights==

function parseHighlight(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (!src.startsWith('==', pos) || src[pos + 2] === '=' || /\s/.test(src[pos + 2] ?? ' ')) return false;
  const end = src.indexOf('==', pos + 3);
  if (end < 0 || end > posMax - 2 || /\s/.test(src[end - 1] ?? ' ')) return false;
  if (!silent) {
    state.push('mark_open', 'mark', 1);
    state.pos = pos + 2;
    state.posMax = end;
    state.md.inline.tokenize(state);
    state.push('mark_close', 'mark', -1);
    state.posMax = posMax;
  }
  state.pos = end + 2;
  return true;
}

// %%comments%%, also over several blocks

function parseInlineComment(state: StateInline): boolean {
  if (!state.src.startsWith('%%', state.pos)) return false;
  const end = state.src.indexOf('%%', state.pos + 2);
  if (end < 0 || end > state.posMax - 2) return false;
  state.pos = end + 2;
  return true;
}

function parseBlockComment(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const begin = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  const first = state.src.slice(begin, state.eMarks[startLine]);
  if (!first.startsWith('%%') || first.indexOf('%%', 2) >= 0) return false;
  if (silent) return true;
  let line = startLine + 1;
  while (line < endLine && !state.src.slice(state.bMarks[line], state.eMarks[line]).includes('%%')) line++;
  state.line = Math.min(line + 1, endLine);
  return true;
}

// $formulas$ and $$formulas$$

function parseInlineMath(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  if (src[pos] !== '$') return false;
  const display = src[pos + 1] === '$';
  const start = pos + (display ? 2 : 1);
  if (!display && /[\s$]/.test(src[start] ?? ' ')) return false;
  let end = start;
  for (;;) {
    end = src.indexOf(display ? '$$' : '$', end);
    if (end < 0 || end > posMax - (display ? 2 : 1)) return false;
    if (src[end - 1] !== '\\') break;
    end++;
  }
  const tex = src.slice(start, end);
  if (!tex.trim() || (!display && (/\s$/.test(tex) || /\d/.test(src[end + 1] ?? '')))) return false;
  if (!silent) pushHtml(state, addMark(envOf(state.env), { kind: 'math', tex, display }));
  state.pos = end + (display ? 2 : 1);
  return true;
}

function parseBlockMath(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const text = (line: number) => state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
  if (!text(startLine).startsWith('$$')) return false;
  const single = text(startLine).trim();
  let tex = '';
  let line = startLine;
  if (single.length > 4 && single.endsWith('$$')) tex = single.slice(2, -2);
  else {
    const lines = [single.slice(2)];
    for (line = startLine + 1; line < endLine && !text(line).trim().endsWith('$$'); line++) lines.push(text(line));
    if (line >= endLine) return false;
    tex = [...lines, text(line).trim().slice(0, -2)].join('\n');
  }
  if (silent) return true;
  state.line = line + 1;
  const token = pushHtml(state, addMark(envOf(state.env), { kind: 'math', tex, display: true }, 'p', 'md-formula'), true);
  token.map = [startLine, state.line];
  return true;
}

// [^1], [^1]: text and ^[text]

function parseFootnote(state: StateInline, silent: boolean): boolean {
  const env = envOf(state.env);
  const { src, pos } = state;
  let key = '';
  let end = -1;
  if (src.startsWith('[^', pos)) {
    end = src.indexOf(']', pos);
    key = src.slice(pos + 2, end);
    if (end < 0 || end >= state.posMax || !key || /\s/.test(key) || !env.footnotes.has(key)) return false;
  } else if (src.startsWith('^[', pos)) {
    for (let open = 0, at = pos + 1; at < state.posMax; at++) {
      if (src[at] === '[') open++;
      else if (src[at] === ']' && !--open) {
        end = at;
        break;
      }
    }
    if (end < 0) return false;
    key = `^${pos}:${src.slice(pos + 2, end)}`;
    if (!silent) env.footnotes.set(key, src.slice(pos + 2, end));
  } else return false;
  if (!silent) {
    if (!env.citedFootnotes.includes(key)) env.citedFootnotes.push(key);
    pushHtml(state, `<sup class="md-note-ref">${env.citedFootnotes.indexOf(key) + 1}</sup>`);
  }
  state.pos = end + 1;
  return true;
}

/** Definitions are collected before anything is rendered, because a reference may come first. */
function parseFootnoteDefinition(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const text = (line: number) => state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
  const found = /^\[\^([^\]\s]+)\]:\s*(.*)$/.exec(text(startLine));
  if (!found) return false;
  if (silent) return true;
  const lines = [found[2] ?? ''];
  let line = startLine + 1;
  for (; line < endLine; line++) {
    const blank = state.isEmpty(line);
    const indented = (state.sCount[line] ?? 0) - state.blkIndent >= 2;
    if (blank && (line + 1 >= endLine || (state.sCount[line + 1] ?? 0) - state.blkIndent < 2)) break;
    if (!blank && !indented && text(line).startsWith('[^')) break;
    lines.push(blank ? '' : text(line));
  }
  envOf(state.env).footnotes.set(found[1] ?? '', lines.join('\n'));
  state.line = line;
  return true;
}

const MAX_FOOTNOTE_DEPTH = 3; // footnotes within footnotes
const MAX_FOOTNOTES = 1000; // which refer to each other

function renderFootnotes(env: Env): string {
  if (!env.citedFootnotes.length || env.depth > MAX_FOOTNOTE_DEPTH) return '';
  let items = '';
  // A footnote may refer to another, which is then added to the list.
  for (let at = 0; at < env.citedFootnotes.length && at < MAX_FOOTNOTES; at++) {
    env.depth++;
    items += `<li>${markdown.render(env.footnotes.get(env.citedFootnotes[at] ?? '') ?? '', env as never)}</li>`;
    env.depth--;
  }
  return `<section class="md-footnotes"><hr><ol>${items}</ol></section>`;
}

// > [!callouts], - [ ] tasks and ^block-ids: found in the tokens, between the parsing of blocks and of text

const CALLOUT = /^\[!([^\]\s]+)\]([+-]?)[ \t]*(.*)(?:\n|$)/;

function markCallouts(state: StateCore): void {
  const tokens: Token[] = [];
  const open: ({ fold: boolean } | null)[] = [];
  for (let at = 0; at < state.tokens.length; at++) {
    const token = state.tokens[at] as Token;
    const inline = state.tokens[at + 2];
    const found = token.type === 'blockquote_open' && state.tokens[at + 1]?.type === 'paragraph_open' ? CALLOUT.exec(inline?.content ?? '') : null;
    if (found && inline) {
      const [whole, kind = '', fold = '', title = ''] = found;
      const type = kind.toLowerCase().replace(/[^a-z0-9-]/g, '');
      token.tag = fold ? 'details' : 'div';
      token.attrJoin('class', `md-callout md-callout-${type}`);
      if (fold === '+') token.attrSet('open', '');
      const [before, heading, after] = [new state.Token('callout_title_open', fold ? 'summary' : 'p', 1), new state.Token('inline', '', 0), new state.Token('callout_title_close', fold ? 'summary' : 'p', -1)];
      before.attrSet('class', 'md-callout-title');
      before.block = after.block = true;
      heading.content = title || kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();
      heading.children = [];
      heading.map = token.map;
      tokens.push(token, before, heading, after);
      open.push({ fold: Boolean(fold) });
      inline.content = inline.content.slice(whole.length);
      if (!inline.content.trim()) at += 3; // the paragraph was the title alone
    } else {
      if (token.type === 'blockquote_open') open.push(null);
      else if (token.type === 'blockquote_close') {
        const ended = open.pop();
        if (ended) token.tag = ended.fold ? 'details' : 'div';
      }
      tokens.push(token);
    }
  }
  state.tokens = tokens;
}

const TASK = /^\[([^\]])\](?:\s|$)/u;

function markTasks(state: StateCore): void {
  const env = envOf(state.env);
  if (env.depth) return;
  state.tokens.forEach((token, at) => {
    const inline = state.tokens[at + 2];
    if (token.type !== 'list_item_open' || inline?.type !== 'inline') return;
    const found = TASK.exec(inline.content);
    if (!found) return;
    inline.content = inline.content.slice(found[0].length);
    const status = found[1] ?? ' ';
    token.attrJoin('class', `md-task${/[x-]/i.test(status) ? ' md-done' : ''}`);
    inline.meta = { box: addMark(env, { kind: 'task', line: (inline.map?.[0] ?? 0) + env.offset, status }) };
  });
}

function finishText(state: StateCore): void {
  const env = envOf(state.env);
  for (const token of state.tokens) {
    // Within footnotes, the numbers of lines are unknown.
    if (!env.depth && token.map && token.nesting >= 0 && token.type !== 'inline') token.attrSet('data-md-line', `${MARK}:${token.map[0] + env.offset}`);
    if (token.type !== 'inline' || !token.children) continue;
    if (token.meta?.box) {
      const box = new state.Token('html_inline', '', 0);
      box.content = String(token.meta.box);
      token.children.unshift(box);
    }
    const last = token.children.at(-1);
    if (last?.type === 'text') last.content = last.content.replace(/(^|\s+)\^[A-Za-z0-9-]+$/, '');
  }
}

markdown.inline.ruler.before('link', 'wikilink', parseWikilink);
markdown.inline.ruler.before('wikilink', 'footnote', parseFootnote);
markdown.inline.ruler.before('emphasis', 'highlight', parseHighlight);
markdown.inline.ruler.before('wikilink', 'comment', parseInlineComment);
markdown.inline.ruler.after('escape', 'math', parseInlineMath);
markdown.inline.ruler.after('math', 'tag', parseTag);
markdown.block.ruler.before('fence', 'comment', parseBlockComment, { alt: ['paragraph', 'reference', 'blockquote', 'list'] });
markdown.block.ruler.before('fence', 'math', parseBlockMath, { alt: ['paragraph', 'reference', 'blockquote', 'list'] });
markdown.block.ruler.before('reference', 'footnote', parseFootnoteDefinition, { alt: ['paragraph'] });
markdown.core.ruler.after('block', 'callouts', markCallouts);
markdown.core.ruler.after('callouts', 'tasks', markTasks);
markdown.core.ruler.push('finish_text', finishText);
// Blocks are parsed in the whole text, because a definition at its end applies everywhere; their inline text is parsed piece
// by piece. This rule does nothing: it marks the border.
const pause = (): void => undefined;
markdown.core.ruler.before('inline', 'pause', pause);

// Text ends at a character that may begin something. markdown-it's own set lacks ours.
const STOPS = /[\n$%&*+\-:<=>@[\]\\^_`{}~#!|"'().,;/?]/g;
markdown.inline.ruler.at('text', (state, silent) => {
  STOPS.lastIndex = state.pos;
  const found = STOPS.exec(state.src);
  const end = Math.min(found?.index ?? state.posMax, state.posMax);
  if (end === state.pos) return false;
  if (!silent) state.pending += state.src.slice(state.pos, end);
  state.pos = end;
  return true;
});

// Markdown's own links: into the vault, or to the internet.

const EXTERNAL = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

function splitAddress(address: string): { target: string; subpath: string } {
  const [path = '', ...rest] = address.split('#');
  const decode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  return { target: decode(path), subpath: rest.length ? `#${decode(rest.join('#'))}` : '' };
}

markdown.renderer.rules.link_open = (tokens, at, options, env, self) => {
  const address = String(tokens[at]?.attrGet('href') ?? '');
  if (EXTERNAL.test(address)) return self.renderToken(tokens, at, options);
  // The text of the link follows; `render.ts` moves it into the link that it makes.
  const { marks } = envOf(env);
  marks.push({ kind: 'link', ...splitAddress(address), text: '' });
  return `<span class="md-inner" data-md="${MARK}:${marks.length - 1}">`;
};
markdown.renderer.rules.link_close = (tokens, at) => {
  let open = 0;
  for (let back = at; back >= 0; back--) {
    const type = tokens[back]?.type;
    if (type === 'link_close') open++;
    if (type === 'link_open' && !--open) return EXTERNAL.test(String(tokens[back]?.attrGet('href') ?? '')) ? '</a>' : '</span>';
  }
  return '</a>';
};
markdown.renderer.rules.image = (tokens, at, _, env) => {
  const token = tokens[at] as Token;
  const address = String(token.attrGet('src') ?? '');
  const text = token.content;
  if (/^data:image\//i.test(address)) return `<img src="${escapeHtml(address)}" alt="${escapeHtml(text)}">`;
  if (EXTERNAL.test(address)) return addMark(envOf(env), { kind: 'image', address, text });
  return addMark(envOf(env), { kind: 'embed', ...splitAddress(address), text });
};
markdown.validateLink = (address) => !/^(?:javascript|vbscript|file|data(?!:image\/(?:png|jpeg|gif|webp|avif);)):/i.test(address.trim());

const fence = markdown.renderer.rules.fence;
markdown.renderer.rules.fence = (tokens, at, options, env, self) => {
  const language = (tokens[at]?.info ?? '').trim().split(/\s+/)[0] ?? '';
  if (language === 'base') return addMark(envOf(env), { kind: 'base', block: ++envOf(env).bases }, 'div', 'md-base');
  const body = fence?.(tokens, at, options, env, self) ?? '';
  return body.replace('<pre>', `<pre class="md-code"${tokens[at]?.attrGet('data-md-line') ? ` data-md-line="${tokens[at]?.attrGet('data-md-line')}"` : ''}>`);
};
markdown.renderer.rules.softbreak = (_, __, ___, env) => (envOf(env).breaks ? '<br>\n' : '\n');
// A column is aligned with a class, because the page's policy forbids inline styles.
for (const cell of ['th_open', 'td_open'])
  markdown.renderer.rules[cell] = (tokens, at, options, _, self) => {
    const token = tokens[at] as Token;
    const side = /text-align:(left|center|right)/.exec(String(token.attrGet('style') ?? ''))?.[1];
    token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style');
    if (side) token.attrJoin('class', `md-${side}`);
    return self.renderToken(tokens, at, options);
  };
markdown.renderer.rules.table_open = (tokens, at, options, _, self) => `<div class="md-table">${self.renderToken(tokens, at, options)}`;
markdown.renderer.rules.table_close = () => '</table></div>';

/** The markup of some blocks, and the line after the last of them. */
export interface Piece {
  html: string;
  line: number;
}

/** Renders a text in pieces of about so many characters. The result is not safe yet: `sanitize` must come next. */
export function* renderPieces(text: string, env: Env, chars: number): Generator<Piece> {
  const state = new markdown.core.State(text, markdown, env as never);
  const rules = markdown.core.ruler.getRules('');
  const middle = rules.indexOf(pause);
  for (const rule of rules.slice(0, middle)) rule(state);
  const { tokens } = state;
  const finish = (from: number, to: number): string => {
    state.tokens = tokens.slice(from, to);
    for (const rule of rules.slice(middle)) rule(state);
    return markdown.renderer.render(state.tokens, markdown.options, env as never);
  };
  let [start, size, depth, line] = [0, 0, 0, 0];
  for (const [at, token] of tokens.entries()) {
    size += token.content.length;
    depth += token.nesting;
    if (token.map) line = Math.max(line, token.map[1]);
    if (depth || size < chars || at === tokens.length - 1) continue;
    yield { html: finish(start, at + 1), line: line + env.offset };
    [start, size] = [at + 1, 0];
  }
  yield { html: finish(start, tokens.length) + renderFootnotes(env), line: Infinity };
}
