// Finding and reading notes, and mentioning them to an assistant.

import { $, button, el, notice } from './dom.js';
import { render } from './markdown.js';
import { readWhole } from './reading.js';

const PICTURES = 20; // of one note
const PICTURE = /\.(png|jpe?g|gif|webp)$/i;
const ENDING = /^\(notes(?:: | )(?:.*?of )?(\d+|none)/;

class Notes {
  #note = null;
  #asked = 0;

  constructor(bridge) {
    this.bridge = bridge;
    $('search').addEventListener('submit', (event) => (event.preventDefault(), this.search($('query').value)));
    document.addEventListener('selectionchange', () => this.#selected());
  }

  async search(query) {
    $('hits').replaceChildren();
    $('found').textContent = query.trim() ? 'Searching…' : '';
    const asked = ++this.#asked;
    if (!query.trim()) return;
    try {
      const [{ text }] = await this.bridge.tool('search', { query, limit: 40 });
      if (asked === this.#asked) this.#show(text.split('\n'));
    } catch (error) {
      if (asked === this.#asked) $('found').textContent = error.message;
    }
  }

  #show(lines) {
    const end = lines.findLastIndex((line) => ENDING.test(line));
    const total = ENDING.exec(lines[end] ?? '')?.[1] ?? 'none';
    const notes = new Map();
    for (const line of lines.slice(0, end)) {
      const [, path, number, text] = /^(.+?\.\w+):(\d+): (.*)$/.exec(line) ?? [null, line, '', ''];
      notes.set(path, [...(notes.get(path) ?? []), ...(number ? [[Number(number), text]] : [])]);
    }
    const counted = `${total} note${total === '1' ? '' : 's'}${notes.size < Number(total) ? `, the first ${notes.size} shown` : ''}.`;
    $('found').textContent = [total === 'none' ? 'No note matches.' : counted, ...lines.slice(end + 1)].join(' ');
    $('hits').replaceChildren(...[...notes].map(([path, hits]) => el('li', {},
      button(path, () => this.read(path), { class: 'link' }),
      ...hits.map(([line, text]) => button(text.trim(), () => this.read(path, line), { class: 'snippet', 'data-no': line })))));
  }

  /** Report to a newly connected bridge what is open and selected here. */
  again() {
    const { path, lines } = this.#note ?? {};
    if (!path) return;
    this.bridge.tell('focus', { path, selection: this.#selection() });
    this.bridge.tell('openFiles', { files: [{ path, lines: lines.length }] });
  }

  /** Show a note; `line` (from 1) is brought into view. True when it could be read. */
  async read(name, line = 0, { focus = true } = {}) {
    const asked = ++this.#asked;
    try {
      const note = await readWhole(this.bridge, name);
      const links = await this.#links(note.path);
      if (asked !== this.#asked) return true;
      this.#note = { ...note, links, source: this.#note?.source ?? false };
      this.#draw();
      this.again();
      const place = line && [...$('reader').querySelectorAll('[data-line]')].findLast((node) => Number(node.dataset.line) <= line);
      (place || $('reader')).scrollIntoView({ block: place ? 'center' : 'start' });
      if (place) place.classList.add('found');
      if (focus) $('note-title').focus({ preventScroll: true });
      return true;
    } catch (error) {
      notice(error.message);
      return false;
    }
  }

  /** Where each link of the note leads, by the vault's own rules; null for a link to nothing. */
  async #links(path) {
    const found = new Map();
    const [{ text }] = await this.bridge.tool('links', { kind: 'outgoing', name: path, limit: 500 }).catch(() => [{ text: '' }]);
    for (const [, raw, to] of text.matchAll(/^\d+: (.+) -> (.+?)(?: \(ambiguous\))?$/gm)) found.set(raw.replaceAll('\\|', '|'), to === '(nothing)' ? null : to);
    return found;
  }

  #draw() {
    const note = this.#note;
    const close = () => {
      this.#note = null;
      $('reader').hidden = true;
      this.bridge.tell('focus', { path: null });
      this.bridge.tell('openFiles', { files: [] });
      $('query').focus();
    };
    let pictures = 0;
    const link = (raw, target, text) => {
      const to = note.links.has(raw) ? note.links.get(raw) : target.split('#')[0] || note.path;
      if (to === null) return el('span', { class: 'missing', title: 'There is no such note' }, text);
      if (raw.startsWith('!') && PICTURE.test(to) && pictures++ < PICTURES) return this.#picture(to, text);
      return button(text, () => this.read(to), { class: 'link', title: to });
    };
    const body = note.source
      ? el('ol', { class: 'source' }, ...note.lines.map((text, i) => el('li', { 'data-line': i + 1, 'data-end': i + 1 }, text || '\u200b')))
      : el('div', { class: 'rendered' }, ...render(note.lines, { link }));
    const mention = button('Mention to assistant', () => this.#mention(), { id: 'mention', class: 'accept' });
    $('reader').replaceChildren(
      el('header', {}, el('h3', { id: 'note-title', tabIndex: -1 }, note.path), el('div', { class: 'tools' }, mention,
        button('Source', () => ((note.source = !note.source), this.#draw()), { 'aria-pressed': String(note.source) }), button('Close', close))),
      body, note.isCut ? el('p', { class: 'quiet' }, 'The rest of this long note is not shown.') : '');
    $('reader').hidden = false;
  }

  #picture(path, alt) {
    const wide = /^\d+/.test(alt); // Obsidian's ![[picture.png|160]]
    const image = el('img', wide ? { alt: path, width: parseInt(alt, 10) } : { alt });
    this.bridge.tool('attachment', { name: path }).then(([{ data, mimeType }]) => {
      if (/^image\/(png|jpeg|gif|webp)$/.test(mimeType)) image.src = `data:${mimeType};base64,${data}`;
    }).catch((error) => image.replaceWith(el('span', { class: 'missing', title: error.message }, path)));
    return image;
  }

  /** The lines of the note that are selected, as [first, last] from 1, or null. */
  #lines() {
    const selection = getSelection();
    if (!this.#note || selection.isCollapsed || !selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    const body = $('reader').querySelector('.rendered, .source');
    if (!body?.contains(range.commonAncestorContainer)) return null;
    const touched = [...body.querySelectorAll('[data-line]')].filter((node) => range.intersectsNode(node) && !node.querySelector('[data-line]'));
    const lines = touched.flatMap((node) => [Number(node.dataset.line), Number(node.dataset.end)]);
    return lines.length ? [Math.min(...lines), Math.max(...lines)] : null;
  }

  #selected() {
    const lines = this.#lines();
    if (!this.#note || String(lines) === String(this.#note.selected ?? null)) return;
    this.#note.selected = lines;
    if (!lines && document.activeElement?.id === 'mention') return;
    $('mention').textContent = lines ? `Mention line${lines[0] === lines[1] ? '' : 's'} ${[...new Set(lines)].join('–')}` : 'Mention to assistant';
    this.bridge.tell('focus', { path: this.#note.path, selection: this.#selection() });
  }

  /** The selected lines as an editor reports them; null when none are selected. */
  #selection() {
    const { selected, lines } = this.#note;
    if (!selected) return null;
    const [first, last] = selected;
    const text = lines.slice(first - 1, last);
    return { start: { line: first - 1, character: 0 }, end: { line: last - 1, character: text.at(-1).length }, text: text.join('\n') };
  }

  async #mention() {
    const lines = this.#lines();
    try {
      const where = lines ? { lineStart: lines[0] - 1, lineEnd: lines[1] - 1 } : {};
      const { path, assistants } = await this.bridge.ask('mention', { note: this.#note.path, ...where });
      const done = `${path}${lines ? `, lines ${lines.join('–')},` : ''} was mentioned to ${assistants} assistant${assistants === 1 ? '' : 's'}.`;
      notice(assistants ? done : `No assistant is connected. One that connects within ten seconds will get the mention of ${path}.`, 'good');
    } catch (error) {
      notice(error.message);
    }
  }
}

export { Notes };
