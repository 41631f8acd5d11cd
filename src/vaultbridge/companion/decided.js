// The proposals that were decided.

/** Decided proposals, newest first, with a button to undo what was written. */
class DecidedPanel {
  /** @param {Dom} dom @param {Companion} companion */
  constructor(dom, companion) {
    this.dom = dom;
    this.companion = companion;
    this.element = dom.el('div');
  }

  async load() {
    const { el, quiet } = this.dom;
    try {
      const { proposals } = await this.companion.connection.request('proposals', { status: 'all', limit: MAX_DECIDED });
      const closed = proposals.filter((/** @type {ProposalData} */ { status }) => status !== 'waiting');
      if (closed.length) this.element.replaceChildren(el('ol', { class: 'vaultbridge-list' }, ...closed.map((/** @type {ProposalData} */ proposal) => this.#drawRow(proposal))));
      else this.element.replaceChildren(quiet('No reviewed changes yet.'));
    } catch (error) {
      this.element.replaceChildren(quiet(/** @type {Error} */ (error).message));
    }
  }

  /** @param {ProposalData} proposal */
  #drawRow(proposal) {
    const { el, button, quiet } = this.dom;
    const { decided, status, assistant, label, tool, at, id } = proposal;
    const facts = [`${OUTCOMES[status] ?? status}${decided?.undone ? ', undone' : ''}`, this.companion.assistantNameOf(assistant), label || tool,
      formatTime(decided?.at ?? at), decided?.by && `by ${decided.by}`, decided?.change && `change ${decided.change}`];
    const row = el('li', { 'data-id': id }, el('strong', {}, describeTarget(proposal)), quiet(facts.filter(Boolean).join(' · ')));
    if (decided?.reason) row.append(quiet(`“${decided.reason}”`));
    if (decided?.change && !decided.undone)
      row.append(button('Undo', () => void this.companion.undo('undoProposal', { id }), { 'aria-label': `Undo ${describeTarget(proposal)}` }));
    if (decided?.change) addChangeToggle(this.dom, this.companion, row, decided.change);
    return row;
  }
}
