// The plugin.

class Companion extends obsidian.Plugin {
  /** @type {Map<string, Proposal>} */ proposals = new Map();
  /** @type {Map<string, import('obsidian').Notice>} */ #notices = new Map();
  /** The assistants that the bridge knows, by id. @type {Map<string, Assistant>} */ assistants = new Map();
  /** The vault's name on the bridge. */ vault = '';
  /** Which changes wait for a person. @type {{review: string, least: string} | null} */ reviewState = null;
  pausedAll = false;
  sharesSelection = true;
  /** The last refusal that was shown to the person. */ #lastRefusal = '';
  /** The proposals that the bridge has announced since the connection was opened. @type {Set<string>} */ #announcedIds = new Set();
  #isUnloaded = false;
  connection = new Connection(() => this.#findEndpoints(), () => this.#makeHello(), {
    onState: (state, reason) => this.#handleState(state, reason),
    onHello: (hello) => this.#handleHello(hello),
    onNotification: (method, params) => this.#handleNotification(method, params),
    onRequest: (method, params) => this.#handleRequest(method, params),
  });
  reports = new Reports(this.app, (method, params) => this.connection.notify(method, params));
  /** @type {Settings} */ settings = { automatic: true, address: '', token: '', vault: '', openReview: true };

  async onload() {
    this.settings = { ...this.settings, ...this.app.loadLocalStorage(SETTINGS_KEY) };
    this.registerView(VIEW_TYPE, (leaf) => new ReviewView(leaf, this));
    this.addSettingTab(new SettingsTab(this));
    this.#addCommands();
    this.#addStatusBar();
    this.app.workspace.onLayoutReady(() => this.#start());
  }

  onunload() {
    this.#isUnloaded = true;
    this.connection.stop();
    this.reports.stop();
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    this.proposals.clear();
  }

  get isAutomatic() {
    return Platform.isDesktop && this.settings.automatic;
  }

  /** Saves settings on this device. @param {Partial<Settings>} change */
  saveSettings(change) {
    this.settings = { ...this.settings, ...change };
    this.app.saveLocalStorage(SETTINGS_KEY, this.settings);
  }

  /** @returns {Endpoint[]} */
  #findEndpoints() {
    const { adapter } = this.app.vault;
    if (this.isAutomatic)
      return adapter instanceof obsidian.FileSystemAdapter ? findLocalBridges(adapter.getBasePath()) : [];
    const { address, token, vault } = this.settings;
    // Always by name: a bridge may serve several vaults, and the first may be another one.
    return [{ url: makeEditorUrl(address), token, vault: vault || this.app.vault.getName() }];
  }

  #start() {
    // The app may have been slow, and the plugin may already be disabled.
    if (this.#isUnloaded) return;
    const { workspace, vault } = this.app;
    const report = () => this.reports.schedule();
    this.registerEvent(workspace.on('file-open', report));
    this.registerEvent(workspace.on('active-leaf-change', report));
    this.registerEvent(workspace.on('layout-change', report));
    this.registerEvent(workspace.on('editor-change', (_editor, info) => {
      if (info.file) this.reports.markEdited(info.file.path);
    }));
    // A note that was saved, renamed or deleted is no longer what was reported.
    this.registerEvent(vault.on('modify', report));
    this.registerEvent(vault.on('rename', report));
    this.registerEvent(vault.on('delete', report));
    this.registerEvent(workspace.on('editor-menu', (menu) => this.#addToMenu(menu, () => this.#mentionActive(), 'Mention to Claude')));
    this.registerEvent(workspace.on('file-menu', (menu, file) => {
      if (file instanceof obsidian.TFile) this.#addToMenu(menu, () => this.#mention({ note: file.path }), 'Mention to Claude');
    }));
    // The app has no event for a moved cursor, but its editors have, in every window.
    this.registerEditorExtension(EditorView.updateListener.of((update) => {
      if (update.selectionSet || update.focusChanged) report();
    }));
    this.registerDomEvent(window, 'online', () => this.connection.retryNow());
    this.registerDomEvent(document, 'visibilitychange', () => {
      if (!document.hidden) this.connection.retryNow();
    });
    this.connection.connect();
  }

  #addCommands() {
    this.addCommand({
      id: 'mention',
      name: 'Send selection to Claude as mention',
      // Without a default hotkey, which could collide with one that the person has set.
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
    const handlePress = () => (this.proposals.size ? void this.showReview() : new StatusModal(this).open());
    this.registerDomEvent(this.statusBar, 'click', handlePress);
    this.registerDomEvent(this.statusBar, 'keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') handlePress();
    });
    this.#drawStatusBar();
  }

  #drawStatusBar() {
    if (!this.statusBar) return;
    const [count, state] = [this.proposals.size, this.connection.state];
    const connectedHere = [...this.assistants.values()].filter(({ connected, vaults }) => connected && vaults.includes(this.vault)).length;
    const idle = connectedHere ? `connected, ${pluralize(connectedHere, 'assistant')}` : 'connected';
    const label = state !== 'connected' ? STATE_LABELS[state] : count ? pluralize(count, 'change') : idle;
    this.statusBar.textContent = `Bridge: ${label}`;
    this.statusBar.setAttribute('aria-label', count ? 'Review the proposed changes' : this.connection.reason || 'Show the bridge’s status');
  }

  /** @param {ConnectionState} state @param {string} reason */
  #handleState(state, reason) {
    // Once, not after every further attempt.
    if (state === 'refused' && reason !== this.#lastRefusal) new obsidian.Notice(`vaultbridge: ${reason}`);
    this.#lastRefusal = state === 'refused' ? reason : state === 'connected' ? '' : this.#lastRefusal;
    this.#drawStatusBar();
    this.#findReviewViews().forEach((view) => view.handleConnection());
  }

  /** The bridge announces all waiting proposals before its answer. @param {any} hello */
  #handleHello(hello) {
    this.sharesSelection = hello.shareSelection;
    this.vault = hello.vault;
    // The others were decided or withdrawn while we were disconnected.
    for (const id of [...this.proposals.keys()]) if (!this.#announcedIds.has(id)) this.#close(id, 'withdrawn', 'withdrawn, or decided elsewhere');
    this.#drawStatusBar();
    this.reports.resend();
    this.#findReviewViews().forEach((view) => view.handleConnection());
    void this.connection.request('review').then((state) => this.#setReviewState(state), () => null);
  }

  /** The parameters of `hello`, after which the bridge sends all proposals and assistants again. */
  #makeHello() {
    this.#announcedIds.clear();
    this.assistants.clear();
    return { app: 'obsidian', abilities: ABILITIES };
  }

  /** @param {string} method @param {any} params */
  #handleNotification(method, params) {
    if (method === 'proposalOpened' || method === 'proposalChanged') void this.#handleProposal(params);
    else if (method === 'proposalClosed') this.#close(params.id, params.status, params.text);
    else if (method === 'reviewChanged') this.#setReviewState(params);
    else if (method === 'sharingChanged') this.sharesSelection = params.shareSelection;
    else if (method === 'activityAdded') this.#findReviewViews().forEach((view) => view.activity?.add(params.entries));
    else if (method === 'assistantsSeen') {
      for (const assistant of params.assistants) this.assistants.set(assistant.id, assistant);
      this.pausedAll = params.pausedAll;
      this.#drawStatusBar();
      this.#findReviewViews().forEach((view) => view.activity?.drawAssistants());
      // A proposal may have arrived before the name of its assistant.
      this.proposals.forEach((proposal) => proposal.shownName !== this.assistantNameOf(proposal.data.assistant) && this.#redraw(proposal));
    }
  }

  /** @param {{review: string, least: string}} state */
  #setReviewState(state) {
    this.reviewState = state;
  }

  /** @param {string} method @param {any} params */
  async #handleRequest(method, params) {
    if (method === 'openFile') return openNote(this.app, params);
    if (method === 'saveFile') {
      const done = await saveNote(this.app, params.path);
      this.reports.schedule();
      return done;
    }
    return false;
  }

  // proposed changes

  /** @returns {ReviewView[]} */
  #findReviewViews() {
    const views = this.app.workspace.getLeavesOfType(VIEW_TYPE).map((leaf) => leaf.view);
    return views.filter((view) => view instanceof ReviewView);
  }

  /** @param {ProposalData} data */
  async #handleProposal(data) {
    this.#announcedIds.add(data.id);
    const last = this.proposals.get(data.id);
    // If the bridge's cache folder was deleted, another proposal may have got the same id.
    const same = last?.data.at === data.at ? last : undefined;
    if (last && !same) this.#close(data.id, 'withdrawn');
    const proposal = same ?? new Proposal(data);
    this.proposals.set(data.id, proposal);
    if (same) await this.#adaptTexts(proposal, data);
    if (!hasTexts(proposal.data)) await this.#loadTexts(proposal);
    // It may have been closed by now.
    if (this.proposals.get(data.id) !== proposal) return;
    this.#drawStatusBar();
    this.#redraw(proposal);
    if (same) return;
    const text = `${this.assistantNameOf(data.assistant)} proposes a change to ${proposal.subject}.`;
    this.#findReviewViews().forEach((view) => view.announce(text));
    if (this.settings.openReview && !this.app.workspace.activeEditor?.editor?.hasFocus()) await this.showReview();
    else this.#notices.set(data.id, this.#showNotice(text, 'Review', () => void this.showReview(), 0));
  }

  /** The notes of a proposal have changed: the bridge adapts the person's texts to them.
   * @param {Proposal} proposal @param {ProposalData} data */
  async #adaptTexts(proposal, data) {
    proposal.update(data);
    while (proposal.isEdited && proposal.baseHash !== proposal.data.hash) {
      const { id, baseHash, decisions } = proposal;
      const answer = await this.connection.request('preview', { id, hash: baseHash, files: decisions }).catch(() => null);
      if (answer === null) return;
      // The person may have typed more in the meantime: then the current text is adapted.
      if (decisions.some(({ path, text }) => proposal.texts.get(path) !== text)) continue;
      proposal.baseHash = answer.proposal.hash;
      if (answer.outcome !== 'fits') proposal.data = answer.proposal;
      else for (const file of answer.proposal.files) if (proposal.texts.has(file.path)) proposal.texts.set(file.path, file.newText);
      await this.#loadPreview(proposal);
      return;
    }
  }

  /** Loads texts that were too long for the notification. @param {Proposal} proposal */
  async #loadTexts(proposal) {
    const answer = await this.connection.request('proposal', { id: proposal.id }).catch(() => null);
    if (answer !== null) proposal.update(answer.proposal);
  }

  /** Loads what the person's texts would change. @param {Proposal} proposal */
  async #loadPreview(proposal) {
    const { id, baseHash, decisions } = proposal;
    if (!proposal.isEdited) return;
    const answer = await this.connection.request('preview', { id, hash: baseHash, files: decisions });
    if (answer.outcome === 'fits') proposal.preview = answer.proposal.files;
    else this.#showAgain(proposal, answer.proposal, 'The note has changed in the meantime.');
  }

  /** Shows a proposal again, because accepting it would not write what the person saw.
   * @param {Proposal} proposal @param {ProposalData} data @param {string} reason */
  #showAgain(proposal, data, reason) {
    proposal.update(data);
    proposal.baseHash = data.hash;
    proposal.preview = null;
    proposal.warning = reason;
  }

  /** @param {Proposal} proposal */
  #redraw(proposal) {
    if (this.proposals.get(proposal.id) === proposal) this.#findReviewViews().forEach((view) => view.showProposal(proposal));
  }

  /** Shows a notice with a button. @param {string} text @param {string} label @param {() => void} run @param {number} [ms] */
  #showNotice(text, label, run, ms) {
    const notice = new obsidian.Notice('', ms);
    const { el, button } = createDom(notice.messageEl.ownerDocument);
    notice.messageEl.append(el('p', {}, text), button(label, () => {
      notice.hide();
      run();
    }));
    return notice;
  }

  /** @param {string} id @param {string} status @param {string} text */
  #close(id, status, text = status) {
    const proposal = this.proposals.get(id);
    if (!proposal) {
      // It was closed before. By now Claude Code has written the note, and the change has a number.
      this.#findReviewViews().forEach((view) => view.refresh());
      return;
    }
    this.proposals.delete(id);
    this.#notices.get(id)?.hide();
    this.#notices.delete(id);
    if (!proposal.isDeciding && proposal.isEdited) new obsidian.Notice(`Your edit of ${proposal.subject} was not used: the change was ${text}.`);
    else if (status === 'note-changed') new obsidian.Notice(`The change to ${proposal.subject} was ${text}.`);
    this.#drawStatusBar();
    this.#findReviewViews().forEach((view) => {
      view.removeProposal(id);
      view.announce(`The change to ${proposal.subject} was ${text}.`);
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

  /** Accepts a proposal; returns whether it was written. With `confirms`, a notice says so.
   * @param {Proposal} proposal @param {{confirms?: boolean}} [options] */
  async accept(proposal, { confirms = true } = {}) {
    return this.#decide(proposal, async () => {
      const { id, baseHash, decisions, data } = proposal;
      // The bridge or Claude Code will write the file. Unsaved text must be saved first, or one of the two would be lost.
      for (const { path, was } of data.files) if (await isUnsaved(this.app, was || path)) await saveNote(this.app, was || path);
      return this.connection.request('decide', { id, action: 'accept', hash: baseHash, files: decisions });
    }, confirms);
  }

  /** Accepts all proposals of an assistant as they are shown, except those that no longer fit or were edited.
   * @param {string} assistant */
  async acceptAll(assistant) {
    const all = [...this.proposals.values()].filter(({ data }) => data.assistant === assistant);
    /** @type {string[]} */
    const written = [];
    for (const proposal of all.filter((candidate) => !candidate.hasConflict && !candidate.isEdited && !candidate.isEmpty && hasTexts(candidate.data)))
      if (await this.accept(proposal, { confirms: false })) written.push(proposal.id);
    const left = all.filter(({ id }) => this.proposals.has(id)).length;
    const text = `Accepted ${pluralize(all.length - left, 'change')} by ${this.assistantNameOf(assistant)}.${left ? ` ${pluralize(left, 'change')} still ${left === 1 ? 'needs' : 'need'} your decision.` : ''}`;
    if (!written.length) return void new obsidian.Notice(text);
    this.#showNotice(text, 'Undo all', async () => {
      for (const id of written.reverse()) await this.undo('undoProposal', { id });
    });
  }

  /** @param {Proposal} proposal */
  async reject(proposal) {
    await this.#decide(proposal, () => this.connection.request('decide', { id: proposal.id, action: 'reject', reason: proposal.reason.trim() }));
  }

  /** @param {Proposal} proposal @param {() => Promise<any>} send */
  async #decide(proposal, send, confirms = true) {
    if (proposal.isDeciding) return false;
    proposal.isDeciding = true;
    this.#redraw(proposal);
    try {
      const answer = await send();
      if (answer.outcome === 'shown-again') {
        proposal.isDeciding = false;
        this.#showAgain(proposal, answer.proposal, answer.text);
        this.#findReviewViews().forEach((view) => view.announce(answer.text));
        return false;
      }
      const { id, subject } = proposal;
      this.#close(id, answer.outcome, answer.outcome === 'note-changed' ? OUTCOMES['note-changed'] : answer.outcome);
      if (answer.change && confirms) this.#showNotice(`${subject}: ${answer.text}`, 'Undo', () => void this.undo('undoProposal', { id }));
      return answer.change > 0;
    } catch (error) {
      proposal.isDeciding = false;
      this.#showError(error);
      return false;
    } finally {
      this.#redraw(proposal);
    }
  }

  /** Lets the person edit the new text of a file. @param {Proposal} proposal @param {string} path */
  async startEditing(proposal, path) {
    try {
      if (!proposal.texts.has(path)) {
        // The bridge applies the hunks that the person has not left out.
        const { id, baseHash, decisions } = proposal;
        const { proposal: applied } = await this.connection.request('preview', { id, hash: baseHash, files: decisions.filter(({ hunks }) => hunks) })
          .catch(() => ({ proposal: proposal.data }));
        const file = [...applied.files, ...proposal.data.files].find((/** @type {ProposedFile} */ candidate) => candidate.path === path);
        proposal.texts.set(path, file?.newText ?? '');
        proposal.leftOut.delete(path);
      }
      proposal.editedPath = path;
      proposal.preview = null;
    } catch (error) {
      this.#showError(error);
    }
    this.#redraw(proposal);
    this.#findReviewViews().forEach((view) => view.focusPart(proposal.id, 'text'));
  }

  /** Ends editing, and shows what the person's text would change. @param {Proposal} proposal */
  async finishEditing(proposal) {
    const { editedPath, data } = proposal;
    const proposed = data.files.find(({ path }) => path === editedPath);
    if (editedPath !== null && proposed?.newText === proposal.texts.get(editedPath) && !data.conflict) proposal.texts.delete(editedPath);
    proposal.editedPath = null;
    if (!proposal.isEdited) proposal.discardEdits();
    try {
      await this.#loadPreview(proposal);
    } catch (error) {
      this.#showError(error);
    }
    this.#redraw(proposal);
    this.#findReviewViews().forEach((view) => view.focusPart(proposal.id, ''));
  }

  /** @param {'undoProposal' | 'undoChange'} method @param {{id: string} | {change: number}} params */
  async undo(method, params) {
    try {
      const { text } = await this.connection.request(method, params);
      new obsidian.Notice(text);
      this.#findReviewViews().forEach((view) => view.refresh());
    } catch (error) {
      this.#showError(error);
    }
  }

  // assistants

  /** The name by which people know a client. @param {string} client */
  assistantNameOf(client) {
    return [...this.assistants.values()].find((assistant) => assistant.client === client)?.name ?? client;
  }

  /** Pauses, resumes or disconnects one assistant, or all of them.
   * @param {'pause' | 'resume' | 'disconnect'} action @param {Assistant} [assistant] */
  async control(action, assistant) {
    try {
      const { assistants, pausedAll } = await this.connection.request('controlAssistants', { action, assistant: assistant?.id ?? '' });
      for (const changed of assistants) this.assistants.set(changed.id, changed);
      this.pausedAll = pausedAll;
      this.#findReviewViews().forEach((view) => view.activity?.drawAssistants());
    } catch (error) {
      this.#showError(error);
    }
  }

  /** @param {unknown} error */
  #showError(error) {
    new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
  }

  // mentions

  /** @param {import('obsidian').Menu} menu @param {() => void} run @param {string} title */
  #addToMenu(menu, run, title) {
    if (this.connection.state === 'connected') menu.addItem((item) => item.setTitle(title).setIcon('at-sign').onClick(run));
  }

  /** Mentions the selected lines of the active note, or the whole note. */
  #mentionActive() {
    const info = this.app.workspace.activeEditor;
    const file = info?.file ?? this.app.workspace.getActiveFile();
    if (!file) return;
    const range = info?.editor ? getSelection(info.editor) : null;
    if (!range?.text) return this.#mention({ note: file.path });
    // A selection that ends before the first character of a line does not include that line.
    const last = range.end.character === 0 && range.end.line > range.start.line ? range.end.line - 1 : range.end.line;
    return this.#mention({ note: file.path, lineStart: range.start.line, lineEnd: last });
  }

  /** @param {{note: string, lineStart?: number, lineEnd?: number}} target */
  async #mention(target) {
    try {
      const { path, assistants } = await this.connection.request('mention', target);
      new obsidian.Notice(assistants ? `${path} was mentioned.` : `No assistant is connected. One that connects within 10 seconds will get the mention of ${path}.`);
    } catch (error) {
      this.#showError(error);
    }
  }

  /** @param {string | null} review */
  async setReviewPolicy(review) {
    try {
      this.#setReviewState(await this.connection.request('setReview', { review }));
    } catch (error) {
      this.#showError(error);
    }
  }

  /** @param {boolean} share */
  async setSharing(share) {
    try {
      await this.connection.request('shareSelection', { share });
      this.sharesSelection = share;
    } catch (error) {
      this.#showError(error);
    }
  }
}

module.exports = Companion;
/** For the tests of vaultbridge; the app ignores it. */
module.exports.parts = { listBridgeFolders, makeEditorUrl, compareLines };
