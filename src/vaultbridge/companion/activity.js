// What was decided, and what assistants did.

/** The proposals that were decided, newest first, with an undo for what was written. */
class DecidedPanel {
  /** @param {Maker} make @param {Companion} companion */
  constructor(make, companion) {
    this.make = make;
    this.companion = companion;
    this.element = make.el('div');
  }

  async load() {
    const { el, quiet } = this.make;
    try {
      const { proposals } = await this.companion.connection.ask('proposals', { status: 'all', limit: DECIDED });
      const over = proposals.filter((/** @type {WireProposal} */ { status }) => status !== 'waiting');
      if (over.length) this.element.replaceChildren(el('ol', { class: 'vaultbridge-list' }, ...over.map((/** @type {WireProposal} */ proposal) => this.#row(proposal))));
      else this.element.replaceChildren(quiet('Nothing has been decided yet.'));
    } catch (error) {
      this.element.replaceChildren(quiet(/** @type {Error} */ (error).message));
    }
  }

  /** @param {WireProposal} proposal */
  #row(proposal) {
    const { el, button, quiet } = this.make;
    const { decided, status, assistant, label, tool, at, id } = proposal;
    const words = [`${OUTCOMES[status] ?? status}${decided?.undone ? ', undone' : ''}`, this.companion.nameOf(assistant), label || tool,
      clock(decided?.at ?? at), decided?.by && `by ${decided.by}`, decided?.change && `change ${decided.change}`];
    const row = el('li', { 'data-id': id }, el('strong', {}, subjectOf(proposal)), quiet(words.filter(Boolean).join(' · ')));
    if (decided?.reason) row.append(quiet(`“${decided.reason}”`));
    if (decided?.change && !decided.undone)
      row.append(button('Undo', () => void this.companion.undo('undoProposal', { id }), { 'aria-label': `Undo ${subjectOf(proposal)}` }));
    if (decided?.change) addChange(this.make, this.companion, row, decided.change);
    return row;
  }
}

/** A button that shows what a change did to the notes, and hides it again.
 * @param {Maker} make @param {Companion} companion @param {HTMLElement} row @param {number} change */
function addChange(make, companion, row, change) {
  const { el, quiet } = make;
  /** @type {HTMLElement | null} */
  let shown = null;
  const button = make.button('Show', () => void press(), { 'aria-label': `Show change ${change}`, 'aria-expanded': 'false' });
  const press = async () => {
    const isOpen = shown !== null;
    shown?.remove();
    shown = isOpen ? null : el('div', {}, quiet('Reading…'));
    button.textContent = isOpen ? 'Show' : 'Hide';
    button.setAttribute('aria-expanded', String(!isOpen));
    if (!shown) return;
    row.append(shown);
    const place = shown;
    try {
      const { files, moreFiles } = await companion.connection.ask('change', { change });
      place.replaceChildren(...files.map((/** @type {ProposedFile} */ file) => drawFile(make, file)), ...(moreFiles ? [quiet(`And ${counted(moreFiles, 'more file')}.`)] : []));
    } catch (error) {
      place.replaceChildren(quiet(/** @type {Error} */ (error).message));
    }
  };
  row.append(' ', button);
}

/** @param {Maker} make @param {ProposedFile} file */
function drawFile(make, file) {
  const { el, quiet } = make;
  const lines = file.hunks.flatMap((hunk) => {
    const marks = markPairs(hunk.lines);
    return hunk.lines.map((line, index) => drawLine(make, /** @type {' ' | '-' | '+'} */ (line[0]), marks.get(index) ?? [[line.slice(1), false]]));
  });
  const cut = lines.length > LINES_DRAWN ? [quiet('The rest is not shown here.')] : [];
  const empty = file.text ? 'Its text stays the same, or is too long to be shown here.' : 'Not a text.';
  return el('section', { 'aria-label': file.path }, el('h5', {}, `${file.path} (${file.was && file.was !== file.path ? `moved from ${file.was}` : file.change})`),
    ...(lines.length ? [el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `Lines of ${file.path}` }, ...lines.slice(0, LINES_DRAWN))] : [quiet(empty)]), ...cut);
}

/** What the activity can be filtered by. @type {[string, string[]][]} */
const FILTERS = [
  ['Everything', []],
  ['Changes', ['change', 'undo']],
  ['Proposals', ['propose']],
  ['Reading and searching', ['read', 'search', 'list']],
];

/** Who is connected, what they did in words, and buttons that pause or disconnect them. */
class ActivityPanel {
  /** @type {Map<string, Entry>} */ #entries = new Map();
  /** @type {string | null} */ #next = null;
  #filter = 0;
  /** The number of the newest question; an older answer that comes late is not shown. */
  #question = 0;

  /** @param {Maker} make @param {Companion} companion */
  constructor(make, companion) {
    this.make = make;
    this.companion = companion;
    this.assistants = make.el('section', { 'aria-label': 'Assistants' });
    this.list = make.el('ol', { class: 'vaultbridge-list' });
    this.more = make.button('Show more', () => void this.#load(this.#next ?? ''));
    const choice = /** @type {HTMLSelectElement} */ (make.el('select', { 'aria-label': 'Show' },
      ...FILTERS.map(([title], index) => make.el('option', { value: String(index) }, title))));
    choice.addEventListener('change', () => {
      this.#filter = Number(choice.value);
      void this.#load('');
    });
    this.element = make.el('div', {}, this.assistants, make.el('h4', {}, 'What they did'), choice, this.list, this.more);
  }

  async draw() {
    this.drawAssistants();
    await this.#load('');
  }

  /** @param {string} before */
  async #load(before) {
    const round = ++this.#question;
    try {
      const answer = await this.companion.connection.ask('activity', { limit: ENTRIES, before, kinds: FILTERS[this.#filter][1] });
      if (round !== this.#question) return;
      if (!before) this.#entries.clear();
      for (const entry of answer.entries) this.#entries.set(entry.id, entry);
      this.#next = answer.next;
      this.#drawEntries();
    } catch (error) {
      if (round !== this.#question) return;
      this.list.replaceChildren(this.make.quiet(/** @type {Error} */ (error).message));
      this.more.hidden = true;
    }
  }

  /** The bridge has announced new entries. @param {Entry[]} entries */
  add(entries) {
    const [, kinds] = FILTERS[this.#filter];
    for (const entry of entries)
      if (['', this.companion.vault].includes(entry.vault) && (!kinds.length || kinds.includes(entry.kind))) this.#entries.set(entry.id, entry);
    this.#drawEntries();
  }

  #drawEntries() {
    const { quiet } = this.make;
    const newest = [...this.#entries.values()].sort((a, b) => b.at - a.at).slice(0, ENTRIES_KEPT);
    this.#entries = new Map(newest.map((entry) => [entry.id, entry]));
    this.list.replaceChildren(...(newest.length ? newest.map((entry) => this.#row(entry)) : [quiet('Nothing yet.')]));
    this.more.hidden = this.#next === null || newest.length >= ENTRIES_KEPT;
  }

  /** @param {Entry} entry */
  #row(entry) {
    const { el, button } = this.make;
    // A person's rejection is not a failure, and the words already say it.
    const isRejected = entry.kind === 'propose' && entry.error === 'PERMISSION_DENIED';
    const failed = entry.ok || isRejected ? '' : ` (failed: ${entry.error})`;
    const row = el('li', {}, el('strong', {}, entry.assistant.name), ` ${entry.words}${failed} `,
      el('span', { class: 'vaultbridge-quiet' }, clock(entry.at)));
    const { change } = entry;
    if (entry.canUndo && change !== null)
      row.append(' ', button('Undo', () => void this.companion.undo('undoChange', { change }), { 'aria-label': `Undo change ${change}` }));
    if (change !== null && change > 0) addChange(this.make, this.companion, row, change);
    return row;
  }

  drawAssistants() {
    const { el, button, quiet } = this.make;
    const { companion } = this;
    const here = [...companion.known.values()].filter(({ vaults }) => vaults.includes(companion.vault));
    // A disconnected assistant is listed while it is paused: it may reconnect when it is resumed.
    const listed = here.filter(({ connected, paused }) => connected || paused).sort((a, b) => b.since - a.since);
    const gone = here.filter(({ connected, paused }) => !connected && !paused).sort((a, b) => b.since - a.since).slice(0, GONE);
    const all = companion.pausedAll
      ? [button('Resume all', () => void companion.control('resume'))]
      : listed.length ? [button('Pause all', () => void companion.control('pause'))] : [];
    const rows = [...listed, ...gone].map((assistant) => this.#assistant(assistant));
    this.assistants.replaceChildren(el('h4', {}, 'Assistants'),
      ...(companion.pausedAll ? [quiet('All assistants are paused, including those that connect later.')] : []),
      ...(rows.length ? [el('ul', { class: 'vaultbridge-list' }, ...rows)] : [quiet('None is connected.')]), ...all);
  }

  /** @param {Assistant} assistant */
  #assistant(assistant) {
    const { el, button, quiet } = this.make;
    const { companion } = this;
    const state = assistant.paused || companion.pausedAll ? (assistant.connected ? 'paused' : 'cut off') : assistant.connected ? 'connected' : 'gone';
    const row = el('li', { 'data-id': assistant.id }, el('strong', {}, assistant.name), ` ${assistant.did || (assistant.connected ? 'has done nothing yet' : 'did nothing')} `,
      quiet([state, assistant.via, clock(assistant.since)].filter(Boolean).join(' · ')));
    const act = (/** @type {string} */ title, /** @type {'pause' | 'resume' | 'disconnect'} */ action) =>
      row.append(button(title, () => void companion.control(action, assistant), { 'aria-label': `${title} ${assistant.name}` }));
    if (assistant.paused) act('Resume', 'resume');
    else if (assistant.connected && !companion.pausedAll) act('Pause', 'pause');
    if (assistant.connected) act('Cut off', 'disconnect');
    return row;
  }
}
