// The review: where a person decides.

/** Draws a proposal. */
class ProposalCard {
  /** @param {Dom} dom @param {Companion} companion @param {Proposal} proposal @param {() => void} redraw */
  constructor(dom, companion, proposal, redraw) {
    this.dom = dom;
    this.companion = companion;
    this.proposal = proposal;
    this.redraw = redraw;
    this.linesLeft = proposal.lineLimit;
  }

  get #canDecide() {
    return !this.proposal.isDeciding && this.companion.connection.state === 'connected';
  }

  draw() {
    const { el } = this.dom;
    const { proposal } = this;
    const title = `vaultbridge-title-${proposal.id}`;
    return el('article', { class: 'vaultbridge-change', 'aria-labelledby': title, 'data-id': proposal.id },
      el('h3', { id: title, tabindex: '-1' }, proposal.subject),
      this.dom.quiet(this.#describe()),
      ...this.#drawWarnings(),
      ...(hasTexts(proposal.data) ? this.#drawFiles() : [this.dom.quiet('The texts are too long to show here.')]),
      this.#drawFooter(title));
  }

  #describe() {
    const { proposal } = this;
    const lines = proposal.files.flatMap(({ hunks = [] }) => hunks.flatMap((hunk) => hunk.lines));
    const [plus, minus] = ['+', '-'].map((sign) => lines.filter((line) => line.startsWith(sign)).length);
    const hunkCount = proposal.files.reduce((sum, { hunks = [] }) => sum + hunks.length, 0);
    const { assistant, token, tool, label, at, files } = proposal.data;
    const [first] = files;
    proposal.shownName = this.companion.assistantNameOf(assistant);
    const facts = [proposal.shownName, token && `token “${token}”`, label && label !== tool ? `${tool}, ${label}` : tool,
      files.length === 1 && first.change !== 'changed' ? (first.change === 'created' ? 'a new note' : VERBS[first.change]) : '',
      pluralize(hunkCount, 'change'), `+${plus} −${minus}`, formatTime(at), proposal.isEdited ? 'edited by you' : ''];
    return facts.filter(Boolean).join(' · ');
  }

  #drawWarnings() {
    const { el } = this.dom;
    const { data, isEdited, warning } = this.proposal;
    const texts = [];
    if (data.conflict) texts.push(`${data.conflict} ${isEdited ? 'Your text replaces what is there.' : 'Edit it to keep what you want, or reject it.'}`);
    else if (data.rebased) texts.push('The note has changed since this was proposed. What was written in the meantime is kept: look again before you accept.');
    else if (warning) texts.push(warning);
    const elsewhere = data.elsewhere.slice(-3).map(({ path, at, by }) => `${path} was changed by ${by}, ${formatTime(at)}.`);
    return [...texts.map((text) => el('p', { class: 'vaultbridge-warning', role: 'alert' }, text)),
      ...[...elsewhere, ...data.notices].map((text) => this.dom.quiet(text))];
  }

  /** @param {string} title */
  #drawFooter(title) {
    const { el, button } = this.dom;
    const { proposal, companion } = this;
    const attributesOf = (/** @type {string} */ part) => ({ 'aria-describedby': title, 'data-part': part });
    const { accepted, all } = proposal.hunkCounts;
    const label = proposal.isEdited ? 'Accept my version' : accepted < all ? `Accept ${accepted} of ${pluralize(all, 'change')}` : 'Accept';
    const accept = button(label, () => void companion.accept(proposal), { class: 'mod-cta', ...attributesOf('accept') });
    accept.disabled = !this.#canDecide || proposal.isEmpty || proposal.hasConflict || !hasTexts(proposal.data);
    const reject = button('Reject', () => void companion.reject(proposal), { class: 'mod-warning', ...attributesOf('reject') });
    const reason = /** @type {HTMLInputElement} */ (el('input', { type: 'text', 'aria-label': 'Reason for rejecting it', placeholder: 'Reason for rejecting it (optional)',
      maxlength: String(MAX_REASON_CHARS), ...attributesOf('reason') }));
    reason.value = proposal.reason;
    reason.addEventListener('input', () => {
      proposal.reason = reason.value;
    });
    for (const control of [reject, reason]) control.disabled = !this.#canDecide;
    const buttons = [accept, reject, reason];
    const editable = proposal.data.files.filter(isEditable);
    if (proposal.editedPath === null && editable.length === 1 && proposal.data.files.length === 1) buttons.push(this.#makeEditButton(editable[0]));
    if (proposal.editedPath !== null) buttons.push(button('Show the changes', () => void companion.finishEditing(proposal), attributesOf('show')));
    if (proposal.isEdited) buttons.push(button('Discard my edit', () => {
      proposal.discardEdits();
      this.redraw();
    }, attributesOf('discard')));
    const [first] = proposal.data.files;
    if (first && proposal.data.files.length === 1 && first.change !== 'created')
      buttons.push(button('Open the note', () => void openNote(companion.app, { path: first.was || first.path }), attributesOf('open')));
    return el('footer', {}, ...buttons);
  }

  /** @param {ProposedFile} file */
  #makeEditButton(file) {
    const node = this.dom.button('Edit', () => void this.companion.startEditing(this.proposal, file.path), { 'data-part': `edit ${file.path}` });
    node.disabled = !this.#canDecide || !hasTexts(this.proposal.data);
    return node;
  }

  #drawFiles() {
    const { el, button } = this.dom;
    const { proposal } = this;
    const sections = proposal.files.map((file) => this.#drawFile(file));
    if (!proposal.files.length) sections.push(this.dom.quiet('This would change nothing.'));
    if (proposal.data.moreFiles) sections.push(this.dom.quiet(`And ${pluralize(proposal.data.moreFiles, 'more file')}, not shown.`));
    if (this.linesLeft < 0)
      sections.push(button('Show more', () => {
        proposal.lineLimit += MAX_LINES;
        this.redraw();
      }, { 'data-part': 'more' }));
    return [el('div', {}, ...sections)];
  }

  /** @param {ProposedFile} file */
  #drawFile(file) {
    const { el, quiet } = this.dom;
    const { proposal } = this;
    const many = proposal.files.length + proposal.data.moreFiles > 1;
    const label = file.change === 'moved' ? `moved from ${file.was}` : file.change === 'created' ? 'a new file' : file.change;
    const head = many ? [el('h4', {}, `${file.path} (${label})`), ...(file.conflict ? [quiet(file.conflict)] : [])] : [];
    if (proposal.editedPath === file.path) return el('section', { class: 'vaultbridge-file' }, ...head, this.#drawEditor(file));
    const isOwnText = proposal.texts.has(file.path);
    const hunks = file.hunks ?? [];
    const parts = hunks.map((hunk, index) => this.#drawHunk(file, hunk, index, isOwnText || !isEditable(file)));
    if (!file.text) parts.push(quiet(file.change === 'deleted' ? 'This file would be deleted.' : file.change === 'moved' ? 'Its content stays the same.' : `Not a text file: ${pluralize(file.size, 'byte')}.`));
    else if (!hunks.length) parts.push(quiet(file.change === 'moved' ? 'Its text stays the same.' : 'This would not change the note.'));
    if (many && isEditable(file) && proposal.editedPath === null) parts.push(this.#makeEditButton(file));
    return el('section', { class: 'vaultbridge-file' }, ...head, ...parts);
  }

  /** @param {ProposedFile} file */
  #drawEditor(file) {
    const { proposal } = this;
    const text = proposal.texts.get(file.path) ?? '';
    const area = /** @type {HTMLTextAreaElement} */ (this.dom.el('textarea', {
      'aria-label': `The new text of ${file.path}`,
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
  #drawHunk(file, hunk, index, isFixed) {
    const { el, button } = this.dom;
    const { proposal } = this;
    const name = `Change ${index + 1} of ${file.hunks.length}`;
    const first = hunk.oldStart + Math.max(0, hunk.lines.findIndex((line) => !line.startsWith(' ')));
    const position = `line ${Math.max(1, first)}`;
    const section = el('section', { class: 'vaultbridge-hunk', 'aria-label': name });
    const isAccepted = !proposal.leftOut.get(file.path)?.has(index);
    section.classList.toggle('vaultbridge-leftout', !isAccepted && !isFixed);
    if (!isFixed) {
      const checkbox = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', 'data-part': `take ${index} ${file.path}` }));
      checkbox.checked = isAccepted;
      checkbox.disabled = proposal.isDeciding;
      checkbox.addEventListener('change', () => {
        proposal.setHunk(file.path, index, checkbox.checked);
        this.redraw();
      });
      section.append(el('label', {}, checkbox, ` ${name}, ${position}`));
      if (proposal.hunkCounts.all > 1) section.append(button('Only this', () => {
        proposal.acceptOnly(file.path, index);
        this.redraw();
      }, { 'data-part': `only ${index} ${file.path}`, 'aria-label': `Only this: change ${index + 1}` }));
    }
    const rows = el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `${name}, ${position}` });
    rows.append(...this.#drawLines(file, hunk));
    section.append(rows);
    return section;
  }

  /** @param {ProposedFile} file @param {Hunk} hunk */
  #drawLines(file, hunk) {
    const lastOf = (/** @type {string | null} */ text) => (text && !text.endsWith('\n') ? countLines(text) : 0);
    const unended = { '-': lastOf(file.oldText), '+': lastOf(file.newText) };
    const at = { '-': hunk.oldStart, '+': hunk.newStart };
    const rows = [];
    const compared = compareHunkLines(hunk.lines);
    for (const [index, line] of hunk.lines.entries()) {
      if (this.linesLeft-- <= 0) break;
      const [sign, text] = [line[0], line.slice(1)];
      if (sign === '-' || sign === '+') rows.push(drawLine(this.dom, sign, compared.get(index) ?? [[text, false]], at[sign] === unended[sign]));
      else rows.push(drawLine(this.dom, ' ', [[text, false]]));
      if (sign !== '+') at['-']++;
      if (sign !== '-') at['+']++;
    }
    return rows;
  }
}

/** The tab where a person decides on proposals, and sees what was decided and done. The companion stores the proposals. */
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
    const dom = createDom(this.contentEl.ownerDocument);
    this.dom = dom;
    this.contentEl.classList.add('vaultbridge-review');
    this.announcement = dom.el('p', { class: 'vaultbridge-announcement', role: 'status', 'aria-live': 'polite' });
    this.tabs = new Map([
      ['waiting', dom.button('Waiting', () => this.showPanel('waiting'))],
      ['decided', dom.button('Reviewed', () => this.showPanel('decided'))],
      ['activity', dom.button('Activity', () => this.showPanel('activity'))],
    ]);
    this.empty = dom.el('p', { class: 'vaultbridge-quiet', tabindex: '-1' });
    this.acceptAll = dom.el('div', { class: 'vaultbridge-buttons' });
    this.list = dom.el('div');
    this.decided = new DecidedPanel(dom, this.companion);
    this.activity = new ActivityPanel(dom, this.companion);
    this.panels = new Map([
      ['waiting', dom.el('div', {}, this.empty, this.acceptAll, this.list)],
      ['decided', this.decided.element],
      ['activity', this.activity.element],
    ]);
    this.contentEl.append(this.announcement, dom.el('nav', { class: 'vaultbridge-buttons', 'aria-label': 'Views' }, ...this.tabs.values()),
      ...this.panels.values());
    this.companion.proposals.forEach((proposal) => this.showProposal(proposal));
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
    this.updateCount();
    this.refresh();
  }

  /** Loads the open panel again. */
  refresh() {
    if (!this.panels) return;
    if (this.panel === 'decided') void this.decided?.load();
    if (this.panel === 'activity') void this.activity?.load();
  }

  /** To be called when the state of the connection has changed. */
  handleConnection() {
    this.companion.proposals.forEach((proposal) => this.showProposal(proposal));
    this.updateCount();
    this.refresh();
  }

  /** Tells screen readers something. @param {string} text */
  announce(text) {
    if (this.announcement) this.announcement.textContent = text;
  }

  updateCount() {
    if (!this.empty) return;
    const { size } = this.companion.proposals;
    const isConnected = this.companion.connection.state === 'connected';
    this.empty.textContent = isConnected ? 'No changes to review.' : 'No changes to review. The bridge is not connected.';
    this.empty.hidden = size > 0;
    const tab = this.tabs?.get('waiting');
    if (tab) tab.textContent = size ? `Waiting (${size})` : 'Waiting';
    this.#drawAcceptAll(isConnected);
  }

  /** For each assistant with several proposals, draws a button that accepts all of them after a second press.
   * @param {boolean} isConnected @param {string} [confirming] the assistant whose button was pressed */
  #drawAcceptAll(isConnected, confirming = '') {
    if (!this.dom || !this.acceptAll) return;
    const { button } = this.dom;
    const { companion } = this;
    const counts = new Map();
    for (const { data } of companion.proposals.values()) counts.set(data.assistant, (counts.get(data.assistant) ?? 0) + 1);
    const buttons = [...counts].filter(([, count]) => count > 1 && isConnected).flatMap(([assistant, count]) => {
      const name = companion.assistantNameOf(assistant);
      if (assistant !== confirming) return [button(`Accept all ${count} by ${name}`, () => this.#drawAcceptAll(isConnected, assistant))];
      return [button(`Accept ${count} without looking at each`, () => void companion.acceptAll(assistant), { class: 'mod-cta' }),
        button('Cancel', () => this.#drawAcceptAll(isConnected))];
    });
    this.acceptAll.replaceChildren(...buttons);
    this.acceptAll.hidden = !buttons.length;
    if (confirming) buttons[0]?.focus();
  }

  /** Draws a proposal, for the first time or again. @param {Proposal} proposal */
  showProposal(proposal) {
    if (!this.dom || !this.panels) return;
    const card = new ProposalCard(this.dom, this.companion, proposal, () => this.showProposal(proposal)).draw();
    const last = this.#cards.get(proposal.id);
    const active = last?.ownerDocument.activeElement;
    const part = active && last?.contains(active) ? (active.getAttribute('data-part') ?? '') : null;
    const { selectionStart, selectionEnd, scrollTop } = /** @type {Partial<HTMLTextAreaElement>} */ (active ?? {});
    if (last) last.replaceWith(card);
    else this.list?.append(card);
    this.#cards.set(proposal.id, card);
    this.updateCount();
    if (part === null) return;
    this.#focusOn(card, part);
    // So that a person who is typing can continue.
    const field = /** @type {HTMLTextAreaElement | null} */ (part === 'text' || part === 'reason' ? card.ownerDocument.activeElement : null);
    if (!field || typeof selectionStart !== 'number') return;
    field.setSelectionRange(selectionStart, selectionEnd ?? selectionStart);
    field.scrollTop = scrollTop ?? 0;
  }

  /** @param {string} id */
  removeProposal(id) {
    const card = this.#cards.get(id);
    if (!card) return;
    const hadFocus = card.contains(card.ownerDocument.activeElement);
    const next = card.nextElementSibling ?? card.previousElementSibling;
    card.remove();
    this.#cards.delete(id);
    this.updateCount();
    if (hadFocus && next) this.#focusOn(next);
    else if (hadFocus) this.empty?.focus();
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

  /** Focuses the control with this `data-part`, or else the heading. @param {Element} card @param {string} [part] */
  #focusOn(card, part = '') {
    const controls = ['button', 'input', 'textarea'].flatMap((tag) => [...card.querySelectorAll(tag)]);
    const same = part && controls.find((control) => control.getAttribute('data-part') === part && !(/** @type {HTMLButtonElement} */ (control).disabled));
    /** @type {HTMLElement | null} */ (same || card.querySelector('h3'))?.focus();
  }
}
