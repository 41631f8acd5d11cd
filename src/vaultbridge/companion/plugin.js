// The plugin.

class Companion extends obsidian.Plugin {
  /** @type {Map<string, Proposal>} */ proposals = new Map();
  /** @type {Map<string, import('obsidian').Notice>} */ #notices = new Map();
  /** The assistants that the bridge has seen. @type {Map<string, Assistant>} */ known = new Map();
  /** The vault's name at the bridge. */ vault = '';
  /** Which changes wait for a person. @type {{review: string, least: string} | null} */ review = null;
  pausedAll = false;
  shares = true;
  /** The last refusal that was shown to the person. */ #lastRefusal = '';
  /** The proposals that wait at the bridge with which we are connected. @type {Set<string>} */ #confirmed = new Set();
  #unloaded = false;
  connection = new Connection(() => this.#endpoints(), () => this.#greeting(), {
    state: (word, why) => this.#stateChanged(word, why),
    greeted: (hello) => this.#greeted(hello),
    notified: (method, params) => this.#notified(method, params),
    requested: (method, params) => this.#requested(method, params),
  });
  reports = new Reports(this.app, (method, params) => this.connection.tell(method, params));
  /** @type {Settings} */ settings = { automatic: true, address: '', token: '', vault: '', openReview: true };

  async onload() {
    this.settings = { ...this.settings, ...this.app.loadLocalStorage(STORED_AS) };
    this.registerView(VIEW_TYPE, (leaf) => new ReviewView(leaf, this));
    this.addSettingTab(new SettingsTab(this));
    this.#addCommands();
    this.#addStatusBar();
    this.app.workspace.onLayoutReady(() => this.#begin());
  }

  onunload() {
    this.#unloaded = true;
    this.connection.stop();
    this.reports.stop();
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    this.proposals.clear();
  }

  get automatic() {
    return Platform.isDesktop && this.settings.automatic;
  }

  /** Save settings on this device. @param {Partial<Settings>} change */
  keep(change) {
    this.settings = { ...this.settings, ...change };
    this.app.saveLocalStorage(STORED_AS, this.settings);
  }

  /** @returns {Endpoint[]} */
  #endpoints() {
    const { adapter } = this.app.vault;
    if (this.automatic)
      return adapter instanceof obsidian.FileSystemAdapter ? bridgesOnThisMachine(adapter.getBasePath()) : [];
    const { address, token, vault } = this.settings;
    // Always by name: a bridge may serve several vaults, and the first need not be this one.
    return [{ url: editorUrl(address), token, vault: vault || this.app.vault.getName() }];
  }

  #begin() {
    // The app may have been slow, and the person may have disabled the plugin already.
    if (this.#unloaded) return;
    const { workspace, vault } = this.app;
    const soon = () => this.reports.soon();
    this.registerEvent(workspace.on('file-open', soon));
    this.registerEvent(workspace.on('active-leaf-change', soon));
    this.registerEvent(workspace.on('layout-change', soon));
    this.registerEvent(workspace.on('editor-change', (_editor, info) => {
      if (info.file) this.reports.edited(info.file.path);
    }));
    // A note that is saved, renamed or deleted is no longer what was reported.
    this.registerEvent(vault.on('modify', soon));
    this.registerEvent(vault.on('rename', soon));
    this.registerEvent(vault.on('delete', soon));
    this.registerEvent(workspace.on('editor-menu', (menu) => this.#addToMenu(menu, () => this.#mentionActive(), 'Mention to Claude')));
    this.registerEvent(workspace.on('file-menu', (menu, file) => {
      if (file instanceof obsidian.TFile) this.#addToMenu(menu, () => this.#mention({ note: file.path }), 'Mention to Claude');
    }));
    // The app has no event for a moved cursor, but its editors do, in every window.
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.focusChanged) soon();
    }));
    this.registerDomEvent(window, 'online', () => this.connection.hurry());
    this.registerDomEvent(document, 'visibilitychange', () => {
      if (!document.hidden) this.connection.hurry();
    });
    this.connection.connect();
  }

  #addCommands() {
    this.addCommand({
      id: 'mention',
      name: 'Send selection to Claude as mention',
      // No default hotkey: it could collide with one that the person has set.
      checkCallback: (checking) => {
        const possible = this.connection.state === 'connected' && this.app.workspace.getActiveFile() !== null;
        if (possible && !checking) void this.#mentionActive();
        return possible;
      },
    });
    this.addCommand({ id: 'review', name: 'Review proposed changes', callback: () => void this.showReview() });
    this.addCommand({ id: 'activity', name: 'Show what assistants did', callback: () => void this.showReview('activity') });
    this.addCommand({ id: 'status', name: 'Show status', callback: () => new StatusModal(this).open() });
    this.addCommand({ id: 'reconnect', name: 'Reconnect', callback: () => this.connection.connect() });
  }

  #addStatusBar() {
    // The mobile app has no status bar.
    if (Platform.isMobile) return;
    this.statusBar = this.addStatusBarItem();
    this.statusBar.classList.add('mod-clickable');
    this.statusBar.setAttribute('role', 'button');
    this.statusBar.setAttribute('tabindex', '0');
    const act = () => (this.proposals.size ? void this.showReview() : new StatusModal(this).open());
    this.registerDomEvent(this.statusBar, 'click', act);
    this.registerDomEvent(this.statusBar, 'keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') act();
    });
    this.#drawStatusBar();
  }

  #drawStatusBar() {
    if (!this.statusBar) return;
    const [count, state] = [this.proposals.size, this.connection.state];
    const here = [...this.known.values()].filter(({ connected, vaults }) => connected && vaults.includes(this.vault)).length;
    const there = here ? `connected, ${counted(here, 'assistant')}` : 'connected';
    const word = state !== 'connected' ? STATE_WORDS[state] : count ? counted(count, 'change') : there;
    this.statusBar.textContent = `Bridge: ${word}`;
    this.statusBar.setAttribute('aria-label', count ? 'Review the proposed changes' : this.connection.why || 'Show the bridge’s status');
  }

  /** @param {ConnectionState} word @param {string} why */
  #stateChanged(word, why) {
    // Shown once, not with every further attempt.
    if (word === 'refused' && why !== this.#lastRefusal) new obsidian.Notice(`vaultbridge: ${why}`);
    this.#lastRefusal = word === 'refused' ? why : word === 'connected' ? '' : this.#lastRefusal;
    this.#drawStatusBar();
    this.#reviews().forEach((view) => view.connectionChanged());
  }

  /** Everything that waits was announced before this. @param {any} hello */
  #greeted(hello) {
    this.shares = hello.shareSelection;
    this.vault = hello.vault;
    // What was decided or withdrawn while we were disconnected.
    for (const id of [...this.proposals.keys()]) if (!this.#confirmed.has(id)) this.#over(id, 'withdrawn', 'withdrawn, or decided elsewhere');
    this.#drawStatusBar();
    this.reports.resend();
    this.#reviews().forEach((view) => view.connectionChanged());
    void this.connection.ask('review').then((review) => this.#reviewChanged(review), () => null);
  }

  /** The `hello` parameters. The bridge sends its proposals and assistants again afterwards. */
  #greeting() {
    this.#confirmed.clear();
    this.known.clear();
    return { app: 'obsidian', abilities: ABILITIES };
  }

  /** @param {string} method @param {any} params */
  #notified(method, params) {
    if (method === 'proposalOpened' || method === 'proposalChanged') void this.#proposed(params);
    else if (method === 'proposalClosed') this.#over(params.id, params.status, params.text);
    else if (method === 'reviewChanged') this.#reviewChanged(params);
    else if (method === 'sharingChanged') this.shares = params.shareSelection;
    else if (method === 'activityAdded') this.#reviews().forEach((view) => view.activity?.add(params.entries));
    else if (method === 'assistantsSeen') {
      for (const assistant of params.assistants) this.known.set(assistant.id, assistant);
      this.pausedAll = params.pausedAll;
      this.#drawStatusBar();
      this.#reviews().forEach((view) => view.activity?.drawAssistants());
      // A proposal may arrive before the name of its assistant.
      this.proposals.forEach((proposal) => proposal.name !== this.nameOf(proposal.now.assistant) && this.#redraw(proposal));
    }
  }

  /** @param {{review: string, least: string}} review */
  #reviewChanged(review) {
    this.review = review;
  }

  /** @param {string} method @param {any} params */
  async #requested(method, params) {
    if (method === 'openFile') return openNote(this.app, params);
    if (method === 'saveFile') {
      const done = await saveNote(this.app, params.path);
      this.reports.soon();
      return done;
    }
    return false;
  }

  // proposed changes

  /** @returns {ReviewView[]} */
  #reviews() {
    const views = this.app.workspace.getLeavesOfType(VIEW_TYPE).map((leaf) => leaf.view);
    return views.filter((view) => view instanceof ReviewView);
  }

  /** @param {WireProposal} now */
  async #proposed(now) {
    this.#confirmed.add(now.id);
    const known = this.proposals.get(now.id);
    // Another one may have got its number: the bridge's cache folder can be deleted.
    const same = known?.now.at === now.at ? known : undefined;
    if (known && !same) this.#over(now.id, 'withdrawn');
    const proposal = same ?? new Proposal(now);
    this.proposals.set(now.id, proposal);
    if (same) await this.#moved(proposal, now);
    if (!hasTexts(proposal.now)) await this.#fetchTexts(proposal);
    // It may have been closed by now.
    if (this.proposals.get(now.id) !== proposal) return;
    this.#drawStatusBar();
    this.#redraw(proposal);
    if (same) return;
    const text = `${this.nameOf(now.assistant)} proposes a change to ${proposal.subject}.`;
    this.#reviews().forEach((view) => view.say(text));
    if (this.settings.openReview && !this.app.workspace.activeEditor?.editor?.hasFocus()) await this.showReview();
    else this.#notices.set(now.id, this.#tell(text, 'Review', () => void this.showReview(), 0));
  }

  /** The notes of a proposal have changed: the bridge adapts the person's texts to them.
   * @param {Proposal} proposal @param {WireProposal} now */
  async #moved(proposal, now) {
    proposal.update(now);
    while (proposal.isEdited && proposal.seen !== proposal.now.hash) {
      const { id, seen, choices } = proposal;
      const answer = await this.connection.ask('preview', { id, hash: seen, files: choices }).catch(() => null);
      if (answer === null) return;
      // The person may have typed more meanwhile: then their current text is adapted to the notes.
      if (choices.some(({ path, text }) => proposal.texts.get(path) !== text)) continue;
      proposal.seen = answer.proposal.hash;
      if (answer.outcome !== 'fits') proposal.now = answer.proposal;
      else for (const file of answer.proposal.files) if (proposal.texts.has(file.path)) proposal.texts.set(file.path, file.newText);
      await this.#preview(proposal);
      return;
    }
  }

  /** Request texts that were too long for the notification. @param {Proposal} proposal */
  async #fetchTexts(proposal) {
    const answer = await this.connection.ask('proposal', { id: proposal.id }).catch(() => null);
    if (answer !== null) proposal.update(answer.proposal);
  }

  /** Ask the bridge what the person's texts would do. @param {Proposal} proposal */
  async #preview(proposal) {
    const { id, seen, choices } = proposal;
    if (!proposal.isEdited) return;
    const answer = await this.connection.ask('preview', { id, hash: seen, files: choices });
    if (answer.outcome === 'fits') proposal.preview = answer.proposal.files;
    else this.#showAgain(proposal, answer.proposal, 'The note has changed since you looked.');
  }

  /** The bridge would not write what the person saw. @param {Proposal} proposal @param {WireProposal} now
   * @param {string} why */
  #showAgain(proposal, now, why) {
    proposal.update(now);
    proposal.seen = now.hash;
    proposal.preview = null;
    proposal.warning = why;
  }

  /** @param {Proposal} proposal */
  #redraw(proposal) {
    if (this.proposals.get(proposal.id) === proposal) this.#reviews().forEach((view) => view.show(proposal));
  }

  /** A notice with a button. @param {string} text @param {string} label @param {() => void} act @param {number} [ms] */
  #tell(text, label, act, ms) {
    const notice = new obsidian.Notice('', ms);
    const { el, button } = maker(notice.messageEl.ownerDocument);
    notice.messageEl.append(el('p', {}, text), button(label, () => {
      notice.hide();
      act();
    }));
    return notice;
  }

  /** @param {string} id @param {string} status @param {string} text */
  #over(id, status, text = status) {
    const proposal = this.proposals.get(id);
    if (!proposal) {
      // It was closed before, and the assistant has written the note since: now the change has a number.
      this.#reviews().forEach((view) => view.refresh());
      return;
    }
    this.proposals.delete(id);
    this.#notices.get(id)?.hide();
    this.#notices.delete(id);
    if (!proposal.deciding && proposal.isEdited) new obsidian.Notice(`Your edit of ${proposal.subject} was not used: the change was ${text}.`);
    else if (status === 'note-changed') new obsidian.Notice(`The change to ${proposal.subject} was ${text}.`);
    this.#drawStatusBar();
    this.#reviews().forEach((view) => {
      view.drop(id);
      view.say(`The change to ${proposal.subject} was ${text}.`);
    });
  }

  /** @param {PanelName} panel */
  async showReview(panel = 'waiting') {
    const { workspace } = this.app;
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    let leaf = workspace.getLeavesOfType(VIEW_TYPE)[0];
    if (!leaf) {
      leaf = workspace.getLeaf('tab');
      await leaf.setViewState({ type: VIEW_TYPE, active: true });
    }
    await workspace.revealLeaf(leaf);
    if (!(leaf.view instanceof ReviewView)) return;
    leaf.view.showPanel(panel);
    if (panel === 'waiting') leaf.view.focusFirst();
  }

  /** Accepts it; returns whether it was written. `alone`: a notice says so.
   * @param {Proposal} proposal @param {{alone?: boolean}} [how] */
  async accept(proposal, { alone = true } = {}) {
    return this.#decide(proposal, async () => {
      const { id, seen, choices, now } = proposal;
      // The bridge and Claude Code write the file. Text that is not saved yet must be in it first, or one of the two is lost.
      for (const { path, was } of now.files) if (await isUnsaved(this.app, was || path)) await saveNote(this.app, was || path);
      return this.connection.ask('decide', { id, action: 'accept', hash: seen, files: choices });
    }, alone);
  }

  /** Accept every change of one assistant as it is shown; what no longer fits, or was begun to be edited, is left.
   * @param {string} assistant */
  async acceptAll(assistant) {
    const all = [...this.proposals.values()].filter(({ now }) => now.assistant === assistant);
    /** @type {string[]} */
    const written = [];
    for (const proposal of all.filter((candidate) => !candidate.isStuck && !candidate.isEdited && !candidate.isEmpty && hasTexts(candidate.now)))
      if (await this.accept(proposal, { alone: false })) written.push(proposal.id);
    const left = all.filter(({ id }) => this.proposals.has(id)).length;
    const text = `Accepted ${counted(all.length - left, 'change')} of ${this.nameOf(assistant)}.${left ? ` ${left} still to be looked at.` : ''}`;
    if (!written.length) return void new obsidian.Notice(text);
    this.#tell(text, 'Undo all', async () => {
      for (const id of written.reverse()) await this.undo('undoProposal', { id });
    });
  }

  /** @param {Proposal} proposal */
  async reject(proposal) {
    await this.#decide(proposal, () => this.connection.ask('decide', { id: proposal.id, action: 'reject', reason: proposal.reason.trim() }));
  }

  /** @param {Proposal} proposal @param {() => Promise<any>} act */
  async #decide(proposal, act, alone = true) {
    if (proposal.deciding) return false;
    proposal.deciding = true;
    this.#redraw(proposal);
    try {
      const answer = await act();
      if (answer.outcome === 'shown-again') {
        proposal.deciding = false;
        this.#showAgain(proposal, answer.proposal, answer.text);
        this.#reviews().forEach((view) => view.say(answer.text));
        return false;
      }
      const { id, subject } = proposal;
      this.#over(id, answer.outcome, answer.outcome === 'note-changed' ? OUTCOMES['note-changed'] : answer.outcome);
      if (answer.change && alone) this.#tell(`${subject}: ${answer.text}`, 'Undo', () => void this.undo('undoProposal', { id }));
      return answer.change > 0;
    } catch (error) {
      proposal.deciding = false;
      this.#complain(error);
      return false;
    } finally {
      this.#redraw(proposal);
    }
  }

  /** Let the person write the text of a file themselves. @param {Proposal} proposal @param {string} path */
  async beginEditing(proposal, path) {
    try {
      if (!proposal.texts.has(path)) {
        // The bridge leaves out the hunks that the person has left out.
        const { id, seen, choices } = proposal;
        const { proposal: chosen } = await this.connection.ask('preview', { id, hash: seen, files: choices.filter((choice) => choice.hunks) })
          .catch(() => ({ proposal: proposal.now }));
        const file = [...chosen.files, ...proposal.now.files].find((/** @type {ProposedFile} */ candidate) => candidate.path === path);
        proposal.texts.set(path, file?.newText ?? '');
        proposal.left.delete(path);
      }
      proposal.editing = path;
      proposal.preview = null;
    } catch (error) {
      this.#complain(error);
    }
    this.#redraw(proposal);
    this.#reviews().forEach((view) => view.focusPart(proposal.id, 'text'));
  }

  /** Show what the person's text would do. @param {Proposal} proposal */
  async endEditing(proposal) {
    const { editing, now } = proposal;
    const proposed = now.files.find(({ path }) => path === editing);
    if (editing !== null && proposed?.newText === proposal.texts.get(editing) && !now.conflict) proposal.texts.delete(editing);
    proposal.editing = null;
    if (!proposal.isEdited) proposal.backToTheProposal();
    try {
      await this.#preview(proposal);
    } catch (error) {
      this.#complain(error);
    }
    this.#redraw(proposal);
    this.#reviews().forEach((view) => view.focusPart(proposal.id, ''));
  }

  /** @param {'undoProposal' | 'undoChange'} method @param {{id: string} | {change: number}} what */
  async undo(method, what) {
    try {
      const { text } = await this.connection.ask(method, what);
      new obsidian.Notice(text);
      this.#reviews().forEach((view) => view.refresh());
    } catch (error) {
      this.#complain(error);
    }
  }

  // assistants

  /** The name that people know a client by. @param {string} client */
  nameOf(client) {
    return [...this.known.values()].find((assistant) => assistant.client === client)?.name ?? client;
  }

  /** Pause, resume or cut off one assistant, or all of them.
   * @param {'pause' | 'resume' | 'disconnect'} action @param {Assistant} [assistant] */
  async control(action, assistant) {
    try {
      const { assistants, pausedAll } = await this.connection.ask('controlAssistants', { action, assistant: assistant?.id ?? '' });
      for (const known of assistants) this.known.set(known.id, known);
      this.pausedAll = pausedAll;
      this.#reviews().forEach((view) => view.activity?.drawAssistants());
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {unknown} error */
  #complain(error) {
    new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
  }

  // mentions

  /** @param {import('obsidian').Menu} menu @param {() => void} act @param {string} title */
  #addToMenu(menu, act, title) {
    if (this.connection.state === 'connected') menu.addItem((item) => item.setTitle(title).setIcon('at-sign').onClick(act));
  }

  /** The selected lines of the active note, or the whole note. */
  #mentionActive() {
    const info = this.app.workspace.activeEditor;
    const file = info?.file ?? this.app.workspace.getActiveFile();
    if (!file) return;
    const range = info?.editor ? selectionOf(info.editor) : null;
    if (!range?.text) return this.#mention({ note: file.path });
    // A selection that ends before the first character of a line does not include that line.
    const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
    return this.#mention({ note: file.path, lineStart: range.start.line, lineEnd: last });
  }

  /** @param {{note: string, lineStart?: number, lineEnd?: number}} wanted */
  async #mention(wanted) {
    try {
      const { path, assistants } = await this.connection.ask('mention', wanted);
      new obsidian.Notice(assistants ? `${path} was mentioned.` : `No assistant is connected. One that connects within 10 seconds will get the mention of ${path}.`);
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {string | null} review */
  async setReview(review) {
    try {
      this.#reviewChanged(await this.connection.ask('setReview', { review }));
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @param {boolean} share */
  async share(share) {
    try {
      await this.connection.ask('shareSelection', { share });
      this.shares = share;
    } catch (error) {
      this.#complain(error);
    }
  }
}

module.exports = Companion;
/** For the tests of vaultbridge; the app ignores it. */
module.exports.parts = { bridgeFolders, editorUrl, markDifference };
