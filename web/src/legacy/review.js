// Proposed changes, and a person's decision on each. Every difference is shown, even of invisible characters.

import { bare, compareWords, merge, splitLines } from '../../../src/vaultbridge/companion/diff.js';
import { hashOf, readWhole } from './reading.js';
import { compareLines, withLineEnds } from './sides.js';
import { $, button, el, notice, say } from './dom.js';

const AROUND = 3; // unchanged lines shown around each change
const ROWS = 1500; // rows drawn at once; more on request, so that a huge change does not freeze the page
const STRETCH = 200; // rows of one change drawn together: in one column, the old lines before the new ones
const ROOM = 760; // px that two texts side by side need
const MOVED = {
  kept: 'The note has changed since this was proposed. What was written meanwhile is kept: look again before you accept.',
  clash: 'The note has changed in the same lines since this was proposed. Accepting would remove what is marked as removed: edit first to keep it.',
};
const ENDS = { '\r\n': 'CR LF', '\r': 'CR', '\n': 'LF', '': 'no line end' };
// Control, direction and zero-width characters: they change what a line means and cannot be seen.
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

function visible(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(UNSEEN)) {
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    parts.push(text.slice(at, found.index), el('span', { class: 'unseen' }, `U+${code}`));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

class Changes {
  #cards = new Map();

  constructor(bridge) {
    this.bridge = bridge;
    this.beside = sessionStorage.getItem('layout') !== 'unified';
    $('layout').addEventListener('click', () => {
      this.beside = !this.beside;
      sessionStorage.setItem('layout', this.beside ? 'beside' : 'unified');
      this.#drawAll();
    });
    matchMedia(`(min-width: ${ROOM}px)`).addEventListener('change', () => this.#drawAll());
    this.#count();
  }

  opened(diff) {
    const known = this.#cards.get(diff.id);
    if (known && known.diff.newText === diff.newText && known.diff.oldText === diff.oldText) return;
    if (known) this.#drop(known);
    // `base` is the note as last read, `proposal` the assistant's text for it, `final` that text as the person edited it.
    const card = { diff, base: diff.oldText, proposal: diff.newText, final: diff.newText, moved: '', hash: '', editing: false, rows: ROWS, whole: new Set() };
    card.node = el('article', { class: 'change', 'aria-labelledby': `t-${diff.id}`, 'data-id': diff.id });
    this.#cards.set(diff.id, card);
    this.#draw(card);
    $('change-list').append(card.node);
    this.#count();
    say(`A change to ${diff.path} is waiting.`);
  }

  closed({ id, reason, text = reason }) {
    const card = this.#cards.get(id);
    if (!card) return;
    const where = ['accepted', 'rejected'].includes(reason) ? ' elsewhere' : '';
    if (!card.mine && card.final !== card.proposal)
      notice(`Your edit of ${card.diff.path} was not used: the change was ${text}${where}.`);
    else if (reason === 'note-changed') notice(`The change to ${card.diff.path} was ${text}.`);
    this.#drop(card);
    say(`The change to ${card.diff.path} was ${text}.`);
  }

  /** After a reconnection: close what no longer waits, and keep what the person has begun to edit. */
  onlyThese(diffs) {
    const waiting = new Set(diffs.map((diff) => diff.id));
    for (const [id, card] of this.#cards) if (!waiting.has(id)) this.closed({ id, reason: 'withdrawn' });
    diffs.forEach((diff) => this.opened(diff));
  }

  #drop(card) {
    const next = card.node.nextElementSibling ?? card.node.previousElementSibling;
    const focused = card.focused || card.node.contains(document.activeElement);
    card.node.remove();
    this.#cards.delete(card.diff.id);
    this.#count();
    if (focused) (next?.querySelector('h3') ?? $('changes')).focus();
  }

  #count() {
    const count = this.#cards.size;
    $('count').textContent = String(count);
    $('count').hidden = $('layout').hidden = !count;
    $('no-changes').hidden = count > 0;
    $('layout').setAttribute('aria-pressed', String(this.beside));
  }

  #drawAll() {
    this.#count();
    for (const card of this.#cards.values()) if (!card.editing) this.#draw(card);
  }

  /** Rebase every change onto the current note, except one that is being edited. */
  look() {
    for (const card of this.#cards.values()) if (!card.editing && !card.mine) this.#rebase(card);
  }

  /** If the note has changed since it was last read, show the change to the new text. */
  async #rebase(card) {
    const seen = await this.#current(card);
    // A person who has begun to edit or has decided meanwhile is not disturbed: the next check finds the same.
    if (seen === null || card.editing || card.mine || this.#cards.get(card.diff.id) !== card) return;
    card.hash = seen.hash;
    const now = seen.lines.join('\n');
    if (seen.isCut || now === card.base.replace(/\r\n?/g, '\n')) return;
    const { text, clash } = merge(card.base, now, card.final);
    Object.assign(card, { final: text, proposal: merge(card.base, now, card.proposal).text, base: now, whole: new Set() });
    card.moved = clash || card.moved === 'clash' ? 'clash' : 'kept';
    const focused = card.node.contains(document.activeElement);
    this.#draw(card);
    if (focused) card.node.querySelector('h3').focus();
    say(MOVED[card.moved]);
  }

  /** The current note; null when it has not changed or cannot be read, as for a new note. */
  async #current(card) {
    try {
      const hash = await hashOf(this.bridge, card.diff.path);
      return hash === card.hash ? null : await readWhole(this.bridge, card.diff.path);
    } catch {
      return null;
    }
  }

  #freeze(card, frozen) {
    card.node.querySelectorAll('button').forEach((one) => (one.disabled = frozen));
  }

  async #decide(card, method, params) {
    card.focused ||= card.node.contains(document.activeElement); // a disabled button loses it
    this.#freeze(card, true);
    card.mine = true;
    try {
      await this.bridge.ask(method, { id: card.diff.id, ...params });
    } catch (error) {
      card.mine = false;
      notice(error.message);
      this.#freeze(card, false);
    }
  }

  async #accept(card) {
    card.focused = card.node.contains(document.activeElement);
    this.#keep(card);
    this.#freeze(card, true);
    const { base, editing } = card;
    card.editing = false;
    await this.#rebase(card);
    if (card.base !== base) return card.node.querySelector('h3').focus(); // the person has not seen what it would do now
    card.editing = editing;
    return this.#decide(card, 'acceptDiff', card.final === card.diff.newText ? {} : { text: card.final });
  }

  /** Takes over the text in the form, which turns every line end into \n. */
  #keep(card) {
    const area = card.node.querySelector('textarea');
    if (area && area.value !== card.begun) card.final = withLineEnds(area.value, card.final);
  }

  async #edit(card, editing) {
    if (!editing) this.#keep(card);
    card.editing = editing;
    this.#draw(card);
    if (!editing) await this.#rebase(card);
    if (card.editing !== editing) return;
    card.node.querySelector(editing ? 'textarea' : 'h3').focus();
    card.node.querySelector('textarea')?.setSelectionRange(0, 0);
  }

  #draw(card) {
    const { diff } = card;
    const rows = compareLines(card.base, card.final);
    const added = rows.filter((row) => !row.same && row.new).length;
    const removed = rows.filter((row) => !row.same && row.old).length;
    const edited = card.final !== card.proposal ? el('span', { class: 'tag' }, 'edited by you') : null;
    const restore = edited && !card.editing ? button('Back to the proposal', () => {
      card.final = card.proposal;
      this.#draw(card);
      card.node.querySelector('h3').focus();
    }) : null;
    card.node.replaceChildren(
      el('header', {},
        el('h3', { id: `t-${diff.id}`, tabIndex: -1 }, diff.path),
        el('p', { class: 'quiet' }, `${diff.client}${card.base ? '' : ', a new note'} `,
          el('span', { class: 'plus' }, `+${added}`), ' ', el('span', { class: 'minus' }, `−${removed}`), ' ', edited)),
      card.moved ? el('p', { class: 'moved' }, MOVED[card.moved]) : '',
      card.editing ? this.#form(card) : this.#table(card, rows),
      el('footer', {},
        button('Accept', () => this.#accept(card), { class: 'accept', 'aria-describedby': `t-${diff.id}` }),
        button('Reject', () => this.#decide(card, 'rejectDiff'), { class: 'reject', 'aria-describedby': `t-${diff.id}` }),
        button(card.editing ? 'Show the changes' : 'Edit first', () => this.#edit(card, !card.editing)), restore));
  }

  #form(card) {
    const area = el('textarea', { value: card.final, spellcheck: false, rows: Math.min(30, splitLines(card.final).length + 2),
      'aria-label': `The text that ${card.diff.path} will have` });
    card.begun = area.value;
    return area;
  }

  #table(card, rows) {
    if (rows.every((row) => row.same)) return el('p', { class: 'quiet' }, 'This leaves the note as it is.');
    const beside = this.beside && innerWidth >= ROOM && card.base !== '';
    const usual = splitLines(card.base || card.final)[0];
    const draw = new Drawing(usual.slice(bare(usual).length), beside);
    const body = el('tbody');
    let drawn = 0;
    for (const part of parts(rows, card.whole)) {
      if (drawn >= card.rows) {
        body.append(draw.across(button(`Show ${ROWS} more rows`, () => ((card.rows += ROWS), this.#draw(card)))));
        break;
      }
      if (part.hidden) {
        const show = () => (card.whole.add(part.at), this.#draw(card));
        body.append(draw.across(button(`${part.hidden} unchanged line${part.hidden > 1 ? 's' : ''}`, show)));
      } else body.append(...draw.rows(part.rows));
      drawn += part.rows?.length ?? 1;
    }
    const label = `What changes in ${card.diff.path}`;
    return el('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': label },
      el('table', { class: beside ? 'diff beside' : 'diff' }, draw.columns(), body));
  }
}

/** The parts to draw: changed rows, the lines around them, and how many are hidden in between. */
function* parts(rows, whole) {
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && rows[end].same === rows[at].same) end++;
    const stretch = rows.slice(at, end);
    const [first, last] = [at ? AROUND : 0, end < rows.length ? AROUND : 0];
    const hidden = stretch.length - first - last;
    if (rows[at].same && hidden > 1 && !whole.has(at))
      yield* [{ rows: stretch.slice(0, first) }, { hidden, at }, { rows: stretch.slice(first + hidden) }];
    else for (let i = 0; i < stretch.length; i += STRETCH) yield { rows: stretch.slice(i, i + STRETCH) };
    at = end;
  }
}

class Drawing {
  constructor(usualEnd, beside) {
    Object.assign(this, { usualEnd, beside });
  }

  columns() {
    const widths = this.beside ? ['no', 'text', 'no', 'text'] : ['no', 'no', 'text'];
    return el('colgroup', {}, ...widths.map((width) => el('col', { class: width })));
  }

  across(child) {
    return el('tr', { class: 'gap' }, el('td', { colspan: this.beside ? 4 : 3 }, child));
  }

  rows(rows) {
    const cells = rows.map((row) => {
      if (row.same) return [this.#line(row.old, 'same'), this.#line(row.new, 'same')];
      const words = row.old && row.new ? compareWords(bare(row.old.text), bare(row.new.text)) : [];
      return [this.#line(row.old, 'minus', words[0]), this.#line(row.new, 'plus', words[1])];
    });
    if (this.beside) return cells.map(([left, right]) => el('tr', {}, ...left, ...right));
    if (rows[0]?.same) return cells.map(([left, right]) => el('tr', {}, left[0], ...right));
    const [olds, news] = [0, 1].map((side) => cells.map((pair) => pair[side]).filter((pair) => !pair[1].matches('.none')));
    const empty = () => el('td', { class: 'no' });
    return [...olds.map((old) => el('tr', {}, old[0], empty(), old[1])), ...news.map((one) => el('tr', {}, empty(), ...one))];
  }

  #line(side, kind, words) {
    if (!side) return [el('td', { class: 'no' }), el('td', { class: 'none' })];
    const text = bare(side.text);
    const end = side.text.slice(text.length);
    const mark = kind === 'plus' ? 'ins' : 'del';
    const content = (words ?? [[text, false]]).map(([piece, changed]) => el(changed ? mark : 'span', {}, ...visible(piece)));
    if (kind !== 'same' && end !== this.usualEnd) content.push(el('span', { class: 'unseen' }, ENDS[end]));
    const heard = kind === 'same' ? [] : [el('span', { class: 'hidden-text' }, kind === 'plus' ? 'added: ' : 'removed: ')];
    return [el('td', { class: `no ${kind}`, 'data-no': side.line }), el('td', { class: `text ${kind}` }, ...heard, ...content)];
  }
}

export { Changes };
