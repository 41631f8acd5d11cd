// The activity: who is connected, and what assistants did.

/** What the activity can be filtered by: a title, and kinds of entries. @type {[string, string[]][]} */
const FILTERS = [
  ['Everything', []],
  ['Changes', ['change', 'undo']],
  ['Proposals', ['propose']],
  ['Reading and searching', ['read', 'search', 'list']],
];

/** The assistants with buttons to pause or disconnect them, and a list of what they did. */
class ActivityPanel {
  /** @type {Map<string, Entry>} */ #entries = new Map();
  /** @type {string | null} */ #next = null;
  #filter = 0;
  /** The number of the newest request; an older answer that comes late is not shown. */
  #request = 0;

  /** @param {Dom} dom @param {Companion} companion */
  constructor(dom, companion) {
    this.dom = dom;
    this.companion = companion;
    this.assistants = dom.el('section', { 'aria-label': 'Assistants' });
    this.list = dom.el('ol', { class: 'vaultbridge-list' });
    this.more = dom.button('Show more', () => void this.#load(this.#next ?? ''));
    const select = /** @type {HTMLSelectElement} */ (dom.el('select', { 'aria-label': 'Show' },
      ...FILTERS.map(([title], index) => dom.el('option', { value: String(index) }, title))));
    select.addEventListener('change', () => {
      this.#filter = Number(select.value);
      void this.#load('');
    });
    this.element = dom.el('div', {}, this.assistants, dom.el('h4', {}, 'What they did'), select, this.list, this.more);
  }

  async load() {
    this.drawAssistants();
    await this.#load('');
  }

  /** @param {string} before */
  async #load(before) {
    const number = ++this.#request;
    try {
      const answer = await this.companion.connection.request('activity', { limit: PAGE_SIZE, before, kinds: FILTERS[this.#filter][1] });
      if (number !== this.#request) return;
      if (!before) this.#entries.clear();
      for (const entry of answer.entries) this.#entries.set(entry.id, entry);
      this.#next = answer.next;
      this.#drawEntries();
    } catch (error) {
      if (number !== this.#request) return;
      this.list.replaceChildren(this.dom.quiet(/** @type {Error} */ (error).message));
      this.more.hidden = true;
    }
  }

  /** Adds entries that the bridge has announced. @param {Entry[]} entries */
  add(entries) {
    const [, kinds] = FILTERS[this.#filter];
    for (const entry of entries)
      if (['', this.companion.vault].includes(entry.vault) && (!kinds.length || kinds.includes(entry.kind))) this.#entries.set(entry.id, entry);
    this.#drawEntries();
  }

  #drawEntries() {
    const { quiet } = this.dom;
    const newest = [...this.#entries.values()].sort((a, b) => b.at - a.at).slice(0, MAX_ENTRIES);
    this.#entries = new Map(newest.map((entry) => [entry.id, entry]));
    this.list.replaceChildren(...(newest.length ? newest.map((entry) => this.#drawRow(entry)) : [quiet('Nothing yet.')]));
    this.more.hidden = this.#next === null || newest.length >= MAX_ENTRIES;
  }

  /** @param {Entry} entry */
  #drawRow(entry) {
    const { el, button } = this.dom;
    // A person's rejection is not a failure, and the text already says it.
    const isRejected = entry.kind === 'propose' && entry.error === 'PERMISSION_DENIED';
    const failure = entry.ok || isRejected ? '' : ` (failed: ${entry.error})`;
    const row = el('li', {}, el('strong', {}, entry.assistant.name), ` ${entry.text}${failure} `,
      el('span', { class: 'vaultbridge-quiet' }, formatTime(entry.at)));
    const { change } = entry;
    if (entry.canUndo && change !== null)
      row.append(' ', button('Undo', () => void this.companion.undo('undoChange', { change }), { 'aria-label': `Undo change ${change}` }));
    if (change !== null && change > 0) addChangeToggle(this.dom, this.companion, row, change);
    return row;
  }

  drawAssistants() {
    const { el, button, quiet } = this.dom;
    const { companion } = this;
    const ofThisVault = [...companion.assistants.values()].filter(({ vaults }) => vaults.includes(companion.vault));
    // A disconnected assistant stays listed while it is paused, so that it can be resumed.
    const listed = ofThisVault.filter(({ connected, paused }) => connected || paused).sort((a, b) => b.since - a.since);
    const disconnected = ofThisVault.filter(({ connected, paused }) => !connected && !paused).sort((a, b) => b.since - a.since).slice(0, MAX_DISCONNECTED);
    const buttons = companion.pausedAll
      ? [button('Resume all', () => void companion.control('resume'))]
      : listed.length ? [button('Pause all', () => void companion.control('pause'))] : [];
    const rows = [...listed, ...disconnected].map((assistant) => this.#drawAssistant(assistant));
    this.assistants.replaceChildren(el('h4', {}, 'Assistants'),
      ...(companion.pausedAll ? [quiet('All assistants are paused, including those that connect later.')] : []),
      ...(rows.length ? [el('ul', { class: 'vaultbridge-list' }, ...rows)] : [quiet('No assistant is connected.')]), ...buttons);
  }

  /** @param {Assistant} assistant */
  #drawAssistant(assistant) {
    const { el, button, quiet } = this.dom;
    const { companion } = this;
    const state = assistant.paused || companion.pausedAll ? (assistant.connected ? 'paused' : 'disconnected, paused') : assistant.connected ? 'connected' : 'disconnected';
    const row = el('li', { 'data-id': assistant.id }, el('strong', {}, assistant.name), ` ${assistant.summary || (assistant.connected ? 'No activity yet' : 'No activity')} `,
      quiet([state, assistant.via, formatTime(assistant.since)].filter(Boolean).join(' · ')));
    const addButton = (/** @type {string} */ title, /** @type {'pause' | 'resume' | 'disconnect'} */ action) =>
      row.append(button(title, () => void companion.control(action, assistant), { 'aria-label': `${title} ${assistant.name}` }));
    if (assistant.paused) addButton('Resume', 'resume');
    else if (assistant.connected && !companion.pausedAll) addButton('Pause', 'pause');
    if (assistant.connected) addButton('Disconnect', 'disconnect');
    return row;
  }
}
