// The review, where a person decides.

/** Control, direction and zero-width characters: they change what a line means and cannot be seen. */
const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

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
  /** @param {string} text */
  const quiet = (text) => el('p', { class: 'vaultbridge-quiet' }, text);
  return { el, button, quiet };
};

/** @typedef {ReturnType<typeof maker>} Maker */

/** Draws one proposal. Draws again on request, and knows nothing of other proposals. */
class Card {
  /** @param {Maker} make @param {Companion} companion @param {Proposal} proposal @param {() => void} again */
  constructor(make, companion, proposal, again) {
    this.make = make;
    this.companion = companion;
    this.proposal = proposal;
    this.again = again;
    this.room = proposal.linesDrawn;
  }

  /** May the person decide now? */
  get #isOpen() {
    return !this.proposal.deciding && this.companion.connection.state === 'connected';
  }

  draw() {
    const { el } = this.make;
    const { proposal } = this;
    const title = `vaultbridge-title-${proposal.id}`;
    return el('article', { class: 'vaultbridge-change', 'aria-labelledby': title, 'data-id': proposal.id },
      el('h3', { id: title, tabindex: '-1' }, proposal.subject),
      this.make.quiet(this.#summary()),
      ...this.#warnings(),
      ...(hasTexts(proposal.now) ? this.#files() : [this.make.quiet('The texts are too long to be shown here.')]),
      this.#footer(title));
  }

  #summary() {
    const { proposal } = this;
    const lines = proposal.files.flatMap(({ hunks = [] }) => hunks.flatMap((hunk) => hunk.lines));
    const [plus, minus] = ['+', '-'].map((sign) => lines.filter((line) => line.startsWith(sign)).length);
    const parts = proposal.files.reduce((sum, { hunks = [] }) => sum + hunks.length, 0);
    const { assistant, token, tool, label, at, files } = proposal.now;
    const [first] = files;
    proposal.name = this.companion.nameOf(assistant);
    const words = [proposal.name, token && `token “${token}”`, label && label !== tool ? `${tool}, ${label}` : tool,
      files.length === 1 && first.change !== 'changed' ? (first.change === 'created' ? 'a new note' : VERBS[first.change]) : '',
      counted(parts, 'change'), `+${plus} −${minus}`, clock(at), proposal.isEdited ? 'edited by you' : ''];
    return words.filter(Boolean).join(' · ');
  }

  #warnings() {
    const { el } = this.make;
    const { now, isEdited, warning } = this.proposal;
    const texts = [];
    if (now.conflict) texts.push(`${now.conflict} ${isEdited ? 'Your text replaces what is there.' : 'Edit it to keep what you want, or reject it.'}`);
    else if (now.rebased) texts.push('The note has changed since this was proposed. What was written in the meantime is kept: look again before you accept.');
    else if (warning) texts.push(warning);
    const elsewhere = now.elsewhere.slice(-3).map(({ path, at, by }) => `${path} was changed by ${by}, ${clock(at)}.`);
    return [...texts.map((text) => el('p', { class: 'vaultbridge-warning', role: 'alert' }, text)),
      ...[...elsewhere, ...now.notices].map((text) => this.make.quiet(text))];
  }

  /** @param {string} title */
  #footer(title) {
    const { el, button } = this.make;
    const { proposal, companion } = this;
    const about = (/** @type {string} */ part) => ({ 'aria-describedby': title, 'data-part': part });
    const { taken, all } = proposal.taken;
    const label = proposal.isEdited ? 'Accept your text' : taken < all ? `Accept ${taken} of ${counted(all, 'change')}` : 'Accept';
    const accept = button(label, () => void companion.accept(proposal), { class: 'mod-cta', ...about('accept') });
    accept.disabled = !this.#isOpen || proposal.isEmpty || proposal.isStuck || !hasTexts(proposal.now);
    const reject = button('Reject', () => void companion.reject(proposal), { class: 'mod-warning', ...about('reject') });
    const reason = /** @type {HTMLInputElement} */ (el('input', { type: 'text', 'aria-label': 'Why you reject it', placeholder: 'Why, if you reject it',
      maxlength: String(REASON_CHARS), ...about('reason') }));
    reason.value = proposal.reason;
    reason.addEventListener('input', () => {
      proposal.reason = reason.value;
    });
    for (const control of [reject, reason]) control.disabled = !this.#isOpen;
    const buttons = [accept, reject, reason];
    const editable = proposal.now.files.filter(isEditable);
    if (proposal.editing === null && editable.length === 1 && proposal.now.files.length === 1) buttons.push(this.#editButton(editable[0]));
    if (proposal.editing !== null) buttons.push(button('Show the changes', () => void companion.endEditing(proposal), about('show')));
    if (proposal.isEdited) buttons.push(button('Back to the proposal', () => {
      proposal.backToTheProposal();
      this.again();
    }, about('back')));
    const [first] = proposal.now.files;
    if (first && proposal.now.files.length === 1 && first.change !== 'created')
      buttons.push(button('Open the note', () => void openNote(companion.app, { path: first.was || first.path }), about('open')));
    return el('footer', {}, ...buttons);
  }

  /** @param {ProposedFile} file */
  #editButton(file) {
    const node = this.make.button('Edit', () => void this.companion.beginEditing(this.proposal, file.path), { 'data-part': `edit ${file.path}` });
    node.disabled = !this.#isOpen || !hasTexts(this.proposal.now);
    return node;
  }

  #files() {
    const { el, button } = this.make;
    const { proposal } = this;
    const drawn = proposal.files.map((file) => this.#file(file));
    if (!proposal.files.length) drawn.push(this.make.quiet('This leaves the notes as they are.'));
    if (proposal.now.moreFiles) drawn.push(this.make.quiet(`And ${counted(proposal.now.moreFiles, 'more file')}, not shown.`));
    if (this.room < 0)
      drawn.push(button('Show more', () => {
        proposal.linesDrawn += LINES_DRAWN;
        this.again();
      }, { 'data-part': 'more' }));
    return [el('div', {}, ...drawn)];
  }

  /** @param {ProposedFile} file */
  #file(file) {
    const { el, quiet } = this.make;
    const { proposal } = this;
    const many = proposal.files.length + proposal.now.moreFiles > 1;
    const deed = file.change === 'moved' ? `moved from ${file.was}` : file.change === 'created' ? 'a new file' : file.change;
    const head = many ? [el('h4', {}, `${file.path} (${deed})`), ...(file.conflict ? [quiet(file.conflict)] : [])] : [];
    if (proposal.editing === file.path) return el('section', { class: 'vaultbridge-file' }, ...head, this.#form(file));
    const own = proposal.texts.has(file.path);
    const hunks = file.hunks ?? [];
    const parts = hunks.map((hunk, index) => this.#hunk(file, hunk, index, own || !isEditable(file)));
    if (!file.text) parts.push(quiet(file.change === 'deleted' ? 'This file would be deleted.' : `Not a text: ${counted(file.size, 'byte')}.`));
    else if (!hunks.length) parts.push(quiet(file.change === 'moved' ? 'Its text stays the same.' : 'This leaves the note as it is.'));
    if (many && isEditable(file) && proposal.editing === null) parts.push(this.#editButton(file));
    return el('section', { class: 'vaultbridge-file' }, ...head, ...parts);
  }

  /** @param {ProposedFile} file */
  #form(file) {
    const { proposal } = this;
    const text = proposal.texts.get(file.path) ?? '';
    const area = /** @type {HTMLTextAreaElement} */ (this.make.el('textarea', {
      'aria-label': `The text that ${file.path} will have`,
      'data-part': 'text',
      spellcheck: 'false',
      rows: String(Math.min(30, countLines(text) + 2)),
    }));
    area.value = text;
    area.addEventListener('input', () => {
      proposal.texts.set(file.path, area.value);
      proposal.preview = null;
    });
    return area;
  }

  /** @param {ProposedFile} file @param {Hunk} hunk @param {number} index @param {boolean} isFixed */
  #hunk(file, hunk, index, isFixed) {
    const { el, button } = this.make;
    const { proposal } = this;
    const name = `Change ${index + 1} of ${file.hunks.length}`;
    const first = hunk.oldStart + Math.max(0, hunk.lines.findIndex((line) => !line.startsWith(' ')));
    const where = `line ${Math.max(1, first)}`;
    const section = el('section', { class: 'vaultbridge-hunk', 'aria-label': name });
    const taken = !proposal.left.get(file.path)?.has(index);
    section.classList.toggle('vaultbridge-left', !taken && !isFixed);
    if (!isFixed) {
      const box = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', 'data-part': `take ${index} ${file.path}` }));
      box.checked = taken;
      box.disabled = proposal.deciding;
      box.addEventListener('change', () => {
        proposal.choose(file.path, index, box.checked);
        this.again();
      });
      section.append(el('label', {}, box, ` ${name}, ${where}`));
      if (proposal.taken.all > 1) section.append(button('Only this', () => {
        proposal.chooseOnly(file.path, index);
        this.again();
      }, { 'data-part': `only ${index} ${file.path}`, 'aria-label': `Only this: change ${index + 1}` }));
    }
    const rows = el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `${name}, ${where}` });
    rows.append(...this.#rows(file, hunk));
    section.append(rows);
    return section;
  }

  /** @param {ProposedFile} file @param {Hunk} hunk */
  #rows(file, hunk) {
    const lastOf = (/** @type {string | null} */ text) => (text && !text.endsWith('\n') ? countLines(text) : 0);
    const open = { '-': lastOf(file.oldText), '+': lastOf(file.newText) };
    const at = { '-': hunk.oldStart, '+': hunk.newStart };
    const rows = [];
    const marks = markPairs(hunk.lines);
    for (const [index, line] of hunk.lines.entries()) {
      if (this.room-- <= 0) break;
      const [sign, text] = [line[0], line.slice(1)];
      if (sign === '-' || sign === '+') rows.push(drawLine(this.make, sign, marks.get(index) ?? [[text, false]], at[sign] === open[sign]));
      else rows.push(drawLine(this.make, ' ', [[text, false]]));
      if (sign !== '+') at['-']++;
      if (sign !== '-') at['+']++;
    }
    return rows;
  }
}

/** @param {Maker} make @param {' ' | '-' | '+'} sign @param {Piece[]} pieces @param {boolean} [isOpen] whether the line has no end */
function drawLine(make, sign, pieces, isOpen = false) {
  const { el } = make;
  const [kind, heard, tag] = { ' ': ['same', '', 'span'], '-': ['minus', 'removed: ', 'del'], '+': ['plus', 'added: ', 'ins'] }[sign];
  const content = pieces.map(([text, changed]) => el(changed ? tag : 'span', {}, ...showUnseen(make, text)));
  if (isOpen) content.push(el('span', { class: 'vaultbridge-unseen' }, 'no line end'));
  return el('div', { class: `vaultbridge-line vaultbridge-${kind}` },
    el('span', { class: 'vaultbridge-sign', 'aria-hidden': 'true' }, sign === '-' ? '−' : sign),
    el('span', { class: 'vaultbridge-text' },
      ...(heard ? [el('span', { class: 'vaultbridge-heard' }, heard)] : []), ...content));
}

/** A text with names for what cannot be seen in it. @param {Maker} make @param {string} text */
function showUnseen({ el }, text) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(UNSEEN)) {
    const code = /** @type {number} */ (match[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
    parts.push(text.slice(at, match.index), el('span', { class: 'vaultbridge-unseen' }, `U+${code}`));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

/** What differs within lines, by their place among the hunk's lines: each removed line of a run and the added line at
 * the same place after it. @param {string[]} lines */
function markPairs(lines) {
  /** @type {Map<number, Piece[]>} */
  const marks = new Map();
  for (let start = 0; start < lines.length; ) {
    let [middle, end] = [start, start];
    while (lines[middle]?.startsWith('-')) middle++;
    for (end = middle; lines[end]?.startsWith('+'); ) end++;
    for (let i = 0; start + i < middle && middle + i < end; i++) {
      const [before, after] = markDifference(lines[start + i].slice(1), lines[middle + i].slice(1));
      marks.set(start + i, before).set(middle + i, after);
    }
    start = Math.max(end, start + 1);
  }
  return marks;
}

/** The tab where a person decides, and sees what was decided and done. It stores no proposal itself. */
class ReviewView extends obsidian.ItemView {
  /** @type {Map<string, HTMLElement>} */ #cards = new Map();
  /** @type {PanelName} */ panel = 'waiting';

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
    const make = maker(this.contentEl.ownerDocument);
    this.make = make;
    this.contentEl.classList.add('vaultbridge-review');
    this.said = make.el('p', { class: 'vaultbridge-said', role: 'status', 'aria-live': 'polite' });
    this.tabs = new Map([
      ['waiting', make.button('Waiting', () => this.showPanel('waiting'))],
      ['decided', make.button('Decided', () => this.showPanel('decided'))],
      ['activity', make.button('Activity', () => this.showPanel('activity'))],
    ]);
    this.empty = make.el('p', { class: 'vaultbridge-quiet', tabindex: '-1' });
    this.all = make.el('div', { class: 'vaultbridge-buttons' });
    this.list = make.el('div');
    this.decided = new DecidedPanel(make, this.companion);
    this.activity = new ActivityPanel(make, this.companion);
    this.panels = new Map([
      ['waiting', make.el('div', {}, this.empty, this.all, this.list)],
      ['decided', this.decided.element],
      ['activity', this.activity.element],
    ]);
    this.contentEl.append(this.said, make.el('nav', { class: 'vaultbridge-buttons', 'aria-label': 'Views' }, ...this.tabs.values()),
      ...this.panels.values());
    this.companion.proposals.forEach((proposal) => this.show(proposal));
    this.showPanel(this.panel);
  }

  async onClose() {
    this.contentEl.replaceChildren();
    this.#cards.clear();
    this.panels = undefined;
  }

  /** @param {PanelName} name */
  showPanel(name) {
    this.panel = name;
    this.panels?.forEach((element, panel) => {
      element.hidden = panel !== name;
    });
    this.tabs?.forEach((button, panel) => button.setAttribute('aria-pressed', String(panel === name)));
    this.count();
    this.refresh();
  }

  /** What was decided or done has changed. */
  refresh() {
    if (!this.panels) return;
    if (this.panel === 'decided') void this.decided?.load();
    if (this.panel === 'activity') void this.activity?.draw();
  }

  /** The bridge came or went. */
  connectionChanged() {
    this.companion.proposals.forEach((proposal) => this.show(proposal));
    this.count();
    this.refresh();
  }

  /** Announce something to screen readers. @param {string} text */
  say(text) {
    if (this.said) this.said.textContent = text;
  }

  count() {
    if (!this.empty) return;
    const { size } = this.companion.proposals;
    const connected = this.companion.connection.state === 'connected';
    this.empty.textContent = connected ? 'No change is waiting.' : 'No change is waiting. The bridge is not connected.';
    this.empty.hidden = size > 0;
    const tab = this.tabs?.get('waiting');
    if (tab) tab.textContent = size ? `Waiting (${size})` : 'Waiting';
    this.#drawAll(connected);
  }

  /** For each assistant that proposes several changes, a button that takes all of them after a second press.
   * @param {boolean} connected @param {string} [asked] the assistant whose button was pressed */
  #drawAll(connected, asked = '') {
    if (!this.make || !this.all) return;
    const { button } = this.make;
    const { companion } = this;
    const by = new Map();
    for (const { now } of companion.proposals.values()) by.set(now.assistant, (by.get(now.assistant) ?? 0) + 1);
    const buttons = [...by].filter(([, count]) => count > 1 && connected).flatMap(([assistant, count]) => {
      const name = companion.nameOf(assistant);
      if (assistant !== asked) return [button(`Accept all ${count} of ${name}`, () => this.#drawAll(connected, assistant))];
      return [button(`Accept ${count} without looking at each`, () => void companion.acceptAll(assistant), { class: 'mod-cta' }),
        button('Cancel', () => this.#drawAll(connected))];
    });
    this.all.replaceChildren(...buttons);
    this.all.hidden = !buttons.length;
    if (asked) buttons[0]?.focus();
  }

  /** Draw a proposal, for the first time or again. @param {Proposal} proposal */
  show(proposal) {
    if (!this.make || !this.panels) return;
    const card = new Card(this.make, this.companion, proposal, () => this.show(proposal)).draw();
    const known = this.#cards.get(proposal.id);
    const active = known?.ownerDocument.activeElement;
    const part = active && known?.contains(active) ? (active.getAttribute('data-part') ?? '') : null;
    const { selectionStart, selectionEnd, scrollTop } = /** @type {Partial<HTMLTextAreaElement>} */ (active ?? {});
    if (known) known.replaceWith(card);
    else this.list?.append(card);
    this.#cards.set(proposal.id, card);
    this.count();
    if (part === null) return;
    this.#focusOn(card, part);
    // A person who is typing continues where they were.
    const field = /** @type {HTMLTextAreaElement | null} */ (part === 'text' || part === 'reason' ? card.ownerDocument.activeElement : null);
    if (!field || typeof selectionStart !== 'number') return;
    field.setSelectionRange(selectionStart, selectionEnd ?? selectionStart);
    field.scrollTop = scrollTop ?? 0;
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
    if (focused && next) this.#focusOn(next);
    else if (focused) this.empty?.focus();
    this.refresh();
  }

  /** @param {string} id @param {string} part */
  focusPart(id, part) {
    const card = this.#cards.get(id);
    if (card) this.#focusOn(card, part);
  }

  focusFirst() {
    const first = this.list?.firstElementChild;
    if (first) this.#focusOn(first);
    else this.empty?.focus();
  }

  /** The same control as before, or else the heading. @param {Element} card @param {string} [part] */
  #focusOn(card, part = '') {
    const controls = ['button', 'input', 'textarea'].flatMap((tag) => [...card.querySelectorAll(tag)]);
    const same = part && controls.find((control) => control.getAttribute('data-part') === part && !(/** @type {HTMLButtonElement} */ (control).disabled));
    /** @type {HTMLElement | null} */ (same || card.querySelector('h3'))?.focus();
  }
}
