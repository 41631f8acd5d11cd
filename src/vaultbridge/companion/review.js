// The review, where a person decides.

/** Control, direction and zero-width characters: they change what a line means and cannot be seen. */
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

/** The labels of unusual line ends. @type {Record<string, string>} */
const LINE_ENDS = { '': 'no line end', '\r': 'CR', '\r\n': 'CR LF' };

/** Creates elements in one document (the app has one for each window). Text never becomes markup.
 * @param {Document} page */
const maker = (page) => {
  /** @param {string} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children */
  const el = (tag, attributes = {}, ...children) => {
    const node = page.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  /** @param {string} text @param {() => void} act @param {Record<string, string>} [attributes] */
  const button = (text, act, attributes = {}) => {
    const node = /** @type {HTMLButtonElement} */ (el('button', { type: 'button', ...attributes }, text));
    node.addEventListener('click', act);
    return node;
  };
  return { el, button };
};

/** @param {number} count @param {string} word */
const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** The tab where a person decides. It shows the plugin's proposals and stores none itself. */
class ReviewView extends obsidian.ItemView {
  /** @type {Map<string, HTMLElement>} */ #cards = new Map();

  /** @param {import('obsidian').WorkspaceLeaf} leaf @param {Companion} companion */
  constructor(leaf, companion) {
    super(leaf);
    this.companion = companion;
  }

  getViewType() {
    return VIEW_TYPE;
  }

  getDisplayText() {
    return 'Proposed changes';
  }

  getIcon() {
    return 'git-compare';
  }

  async onOpen() {
    this.make = maker(this.contentEl.ownerDocument);
    this.contentEl.classList.add('vaultbridge-review');
    this.said = this.make.el('p', { class: 'vaultbridge-said', role: 'status', 'aria-live': 'polite' });
    this.empty = this.make.el('p', { class: 'vaultbridge-quiet', tabindex: '-1' });
    this.list = this.make.el('div');
    this.contentEl.append(this.said, this.empty, this.list);
    this.companion.proposals.forEach((proposal) => this.show(proposal));
    this.count();
  }

  async onClose() {
    this.contentEl.replaceChildren();
    this.#cards.clear();
  }

  /** Announce something to screen readers. @param {string} text */
  say(text) {
    if (this.said) this.said.textContent = text;
  }

  count() {
    if (!this.empty) return;
    const connected = this.companion.connection.state === 'connected';
    this.empty.textContent = connected ? 'No change is waiting.' : 'No change is waiting. The bridge is not connected.';
    this.empty.hidden = this.companion.proposals.size > 0;
  }

  /** Draw a proposal, for the first time or again. @param {Proposal} proposal */
  show(proposal) {
    const card = this.#card(proposal);
    const known = this.#cards.get(proposal.diff.id);
    const focused = known?.contains(known.ownerDocument.activeElement) ?? false;
    if (known) known.replaceWith(card);
    else this.list?.append(card);
    this.#cards.set(proposal.diff.id, card);
    this.count();
    if (focused) this.#focusOn(card, proposal.draft === null ? 'h3' : 'textarea');
  }

  /** @param {string} id */
  drop(id) {
    const card = this.#cards.get(id);
    if (!card) return;
    const focused = card.contains(card.ownerDocument.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    this.#cards.delete(id);
    this.count();
    if (focused && next) this.#focusOn(next, 'h3');
    else if (focused) this.empty?.focus();
  }

  focusFirst() {
    const first = this.list?.firstElementChild;
    if (first) this.#focusOn(first, 'h3');
    else this.empty?.focus();
  }

  /** @param {Element} card @param {string} tag */
  #focusOn(card, tag) {
    /** @type {HTMLElement | null} */ (card.querySelector(tag))?.focus();
  }

  /** @param {Proposal} proposal */
  #card(proposal) {
    const { el, button } = this.#tools();
    const { diff } = proposal;
    const title = `vaultbridge-title-${diff.id}`;
    const about = { 'aria-describedby': title };
    const accept = button('Accept', () => void this.companion.accept(proposal), { class: 'mod-cta', ...about });
    const label = () => {
      const [taken, all] = [proposal.taken.size, proposal.hunks.length];
      accept.textContent = proposal.draft !== null || taken === all ? 'Accept' : `Accept ${taken} of ${counted(all, 'change')}`;
      accept.disabled = proposal.deciding || (proposal.draft === null && taken === 0);
    };
    label();
    const reject = button('Reject', () => void this.companion.reject(proposal), { class: 'mod-warning', ...about });
    const edit = button(proposal.draft === null ? 'Edit' : 'Show the changes', () => {
      if (proposal.draft === null) proposal.beginEditing();
      else proposal.endEditing();
      this.show(proposal);
      const card = this.#cards.get(diff.id);
      if (card) this.#focusOn(card, proposal.draft === null ? 'h3' : 'textarea');
    }, about);
    const open = button('Open the note', () => void openNote(this.app, { path: diff.path }), about);
    for (const one of [reject, edit]) one.disabled = proposal.deciding;
    const buttons = [accept, reject, edit, ...(diff.oldText || proposal.base ? [open] : [])];
    if (proposal.edited)
      buttons.push(button('Back to the proposal', () => {
        proposal.backToTheProposal();
        this.show(proposal);
      }, about));
    return el('article', { class: 'vaultbridge-change', 'aria-labelledby': title, 'data-id': diff.id },
      el('h3', { id: title, tabindex: '-1' }, diff.path),
      el('p', { class: 'vaultbridge-quiet' }, this.#summary(proposal)),
      ...this.#warning(proposal),
      proposal.draft === null ? this.#changes(proposal, label) : this.#form(proposal),
      el('footer', {}, ...buttons));
  }

  #tools() {
    return this.make ?? maker(this.contentEl.ownerDocument);
  }

  /** @param {Proposal} proposal */
  #summary(proposal) {
    const added = proposal.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
    const removed = proposal.hunks.reduce((sum, hunk) => sum + hunk.gone, 0);
    const words = [proposal.diff.client, proposal.base ? '' : 'a new note', counted(proposal.hunks.length, 'change'),
      `+${added} −${removed}`, proposal.edited ? 'edited by you' : ''];
    return words.filter(Boolean).join(' · ');
  }

  /** @param {Proposal} proposal */
  #warning(proposal) {
    if (!proposal.moved) return [];
    const text = proposal.moved === 'kept'
      ? 'The note has changed since this was proposed. What was written meanwhile is kept: look again before you accept.'
      : 'The note has changed in the same lines since this was proposed. Below you see what accepting would do to the '
        + 'note as it is now: leave out what you want to keep, or edit it.';
    return [this.#tools().el('p', { class: 'vaultbridge-warning', role: 'alert' }, text)];
  }

  /** @param {Proposal} proposal */
  #form(proposal) {
    const area = /** @type {HTMLTextAreaElement} */ (this.#tools().el('textarea', {
      'aria-label': `The text that ${proposal.diff.path} will have`,
      spellcheck: 'false',
      rows: String(Math.min(30, splitLines(proposal.draft ?? '').length + 2)),
    }));
    area.value = proposal.draft ?? '';
    area.addEventListener('input', () => {
      proposal.draft = area.value;
    });
    return area;
  }

  /** @param {Proposal} proposal @param {() => void} chosen */
  #changes(proposal, chosen) {
    const { el, button } = this.#tools();
    if (!proposal.hunks.length) return el('p', { class: 'vaultbridge-quiet' }, 'This leaves the note as it is.');
    const lines = splitLines(proposal.base);
    const body = el('div');
    let room = proposal.linesDrawn;
    for (const [index, hunk] of proposal.hunks.entries()) {
      if (room <= 0) break;
      const before = index ? proposal.hunks[index - 1].at + proposal.hunks[index - 1].gone : 0;
      const after = proposal.hunks[index + 1]?.at ?? lines.length;
      body.append(this.#hunk(proposal, hunk, index, room, [lines.slice(Math.max(before, hunk.at - AROUND), hunk.at),
        lines.slice(hunk.at + hunk.gone, Math.min(after, hunk.at + hunk.gone + AROUND))], chosen));
      room -= hunk.gone + hunk.lines.length;
    }
    if (room < 0)
      body.append(button('Show more', () => {
        proposal.linesDrawn += LINES_DRAWN;
        this.show(proposal);
      }));
    return body;
  }

  /** @param {Proposal} proposal @param {Hunk} hunk @param {number} index @param {number} room
   * @param {[string[], string[]]} around @param {() => void} chosen */
  #hunk(proposal, hunk, index, room, [before, after], chosen) {
    const { el } = this.#tools();
    const lines = splitLines(proposal.base);
    const name = `Change ${index + 1} of ${proposal.hunks.length}`;
    const where = hunk.gone > 1 ? `lines ${hunk.at + 1}–${hunk.at + hunk.gone}` : `line ${hunk.at + 1}`;
    const section = el('section', { class: 'vaultbridge-hunk', 'aria-label': name });
    const box = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox' }));
    const mark = () => section.classList.toggle('vaultbridge-left', !box.checked);
    box.checked = proposal.taken.has(hunk);
    box.addEventListener('change', () => {
      proposal.choose(hunk, box.checked);
      mark();
      chosen();
    });
    mark();
    const rows = el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `${name}, ${where}` });
    const gone = lines.slice(hunk.at, hunk.at + hunk.gone);
    const words = gone.map((line, i) => (i < hunk.lines.length ? compareWords(bare(line), bare(hunk.lines[i])) : null));
    before.forEach((line) => rows.append(this.#row('same', line)));
    gone.slice(0, room).forEach((line, i) => rows.append(this.#row('minus', line, words[i]?.[0])));
    hunk.lines.slice(0, Math.max(0, room - gone.length)).forEach((line, i) => rows.append(this.#row('plus', line, words[i]?.[1])));
    after.forEach((line) => rows.append(this.#row('same', line)));
    section.append(el('label', {}, box, ` ${name}, ${where}`), rows);
    return section;
  }

  /** @param {'same' | 'minus' | 'plus'} kind @param {string} line @param {Piece[]} [pieces] */
  #row(kind, line, pieces) {
    const { el } = this.#tools();
    const sign = { same: ' ', minus: '−', plus: '+' }[kind];
    const heard = { same: '', minus: 'removed: ', plus: 'added: ' }[kind];
    const drawn = pieces ?? [[bare(line), false]];
    const content = drawn.map(([text, changed]) =>
      el(!changed ? 'span' : kind === 'plus' ? 'ins' : 'del', {}, ...this.#visible(text)));
    const end = LINE_ENDS[line.slice(bare(line).length)];
    if (kind !== 'same' && end) content.push(el('span', { class: 'vaultbridge-unseen' }, end));
    return el('div', { class: `vaultbridge-line vaultbridge-${kind}` },
      el('span', { class: 'vaultbridge-sign', 'aria-hidden': 'true' }, sign),
      el('span', { class: 'vaultbridge-text' },
        ...(heard ? [el('span', { class: 'vaultbridge-heard' }, heard)] : []), ...content));
  }

  /** @param {string} text */
  #visible(text) {
    const { el } = this.#tools();
    /** @type {(Node | string)[]} */
    const parts = [];
    let at = 0;
    for (const found of text.matchAll(UNSEEN)) {
      const code = /** @type {number} */ (found[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
      parts.push(text.slice(at, found.index), el('span', { class: 'vaultbridge-unseen' }, `U+${code}`));
      at = found.index + found[0].length;
    }
    return [...parts, text.slice(at)];
  }
}
