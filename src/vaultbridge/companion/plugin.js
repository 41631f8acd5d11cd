// The plugin.

class Companion extends obsidian.Plugin {
  /** @type {Map<string, Proposal>} */ proposals = new Map();
  /** @type {Map<string, import('obsidian').Notice>} */ #notices = new Map();
  shares = true;
  assistants = 0;
  /** The last refusal that was shown to the person. */ #lastRefusal = '';
  /** Notifications about diffs that arrived while the list of waiting ones was being processed. @type {[string, any][] | null} */ #later = null;
  #unloaded = false;
  connection = new Connection(() => this.#endpoints(), () => ({ app: 'obsidian', abilities: ABILITIES }), {
    state: (word, why) => this.#stateChanged(word, why),
    greeted: (hello) => void this.#greeted(hello),
    notified: (method, params) => this.#notified(method, params),
    requested: (method, params) => this.#requested(method, params),
  });
  reports = new Reports(this.app, (method, params) => this.connection.tell(method, params), () => void this.#lookAgain());
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
    return obsidian.Platform.isDesktopApp && this.settings.automatic;
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
    const written = () => this.reports.written();
    this.registerEvent(vault.on('create', written));
    this.registerEvent(vault.on('modify', written));
    this.registerEvent(vault.on('rename', written));
    this.registerEvent(vault.on('delete', written));
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
    this.addCommand({ id: 'status', name: 'Show status', callback: () => new StatusModal(this).open() });
    this.addCommand({ id: 'reconnect', name: 'Reconnect', callback: () => this.connection.connect() });
  }

  #addStatusBar() {
    // The mobile app has no status bar.
    if (obsidian.Platform.isMobile) return;
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
    const there = this.assistants ? `connected, ${counted(this.assistants, 'assistant')}` : 'connected';
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
    this.#reviews().forEach((view) => view.count());
  }

  /** @param {any} hello */
  async #greeted(hello) {
    this.shares = hello.shareSelection;
    this.assistants = hello.assistants;
    this.#drawStatusBar();
    this.reports.resend();
    /** @type {[string, any][]} */ const later = [];
    this.#later = later;
    const { diffs } = await this.connection.ask('diffs').catch(() => ({ diffs: null }));
    if (diffs !== null) {
      // Close what was decided or withdrawn while we were disconnected.
      const waiting = new Set(diffs.map((/** @type {Diff} */ diff) => diff.id));
      for (const id of this.proposals.keys()) if (!waiting.has(id)) this.#over(id, 'withdrawn');
      for (const diff of diffs) await this.#proposed(diff);
    }
    if (this.#unloaded) return;
    if (this.#later === later) this.#later = null;
    for (const [method, params] of later) this.#notified(method, params);
  }

  /** @param {string} method @param {any} params */
  #notified(method, params) {
    if (this.#later && method.startsWith('diff')) this.#later.push([method, params]);
    else if (method === 'diffOpened') void this.#proposed(params);
    else if (method === 'diffClosed') this.#over(params.id, params.reason, params.text);
    else if (method === 'assistantsChanged') {
      this.assistants = params.assistants;
      this.#drawStatusBar();
    }
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

  /** @param {Diff} diff */
  async #proposed(diff) {
    const known = this.proposals.get(diff.id)?.diff;
    if (known && known.path === diff.path && known.newText === diff.newText && known.oldText === diff.oldText) return;
    if (known) this.#over(diff.id, 'withdrawn');
    const proposal = new Proposal(diff);
    this.proposals.set(diff.id, proposal);
    proposal.rebase(await currentText(this.app, diff.path));
    // It may have been closed by now.
    if (this.proposals.get(diff.id) !== proposal) return;
    this.#drawStatusBar();
    this.#reviews().forEach((view) => {
      view.show(proposal);
      view.say(`A change to ${diff.path} is waiting.`);
    });
    if (this.settings.openReview && !this.app.workspace.activeEditor?.editor?.hasFocus()) await this.showReview();
    else this.#notices.set(diff.id, this.#invitation(diff));
  }

  /** @param {Diff} diff */
  #invitation(diff) {
    const notice = new obsidian.Notice('', 0);
    const { el, button } = maker(notice.messageEl.ownerDocument);
    notice.messageEl.append(el('p', {}, `An assistant proposes a change to ${diff.path}.`), button('Review', () => void this.showReview()));
    return notice;
  }

  /** @param {string} id @param {string} reason @param {string} text */
  #over(id, reason, text = reason) {
    const proposal = this.proposals.get(id);
    if (!proposal) return;
    this.proposals.delete(id);
    this.#notices.get(id)?.hide();
    this.#notices.delete(id);
    const where = ['accepted', 'rejected'].includes(reason) ? ' elsewhere' : '';
    if (!proposal.deciding && proposal.edited)
      new obsidian.Notice(`Your edit of ${proposal.diff.path} was not used: the change was ${text}${where}.`);
    else if (reason === 'note-changed') new obsidian.Notice(`The change to ${proposal.diff.path} was ${text}.`);
    this.#drawStatusBar();
    this.#reviews().forEach((view) => {
      view.drop(id);
      view.say(`The change to ${proposal.diff.path} was ${text}.`);
    });
  }

  async showReview() {
    const { workspace } = this.app;
    this.#notices.forEach((notice) => notice.hide());
    this.#notices.clear();
    let leaf = workspace.getLeavesOfType(VIEW_TYPE)[0];
    if (!leaf) {
      leaf = workspace.getLeaf('tab');
      await leaf.setViewState({ type: VIEW_TYPE, active: true });
    }
    await workspace.revealLeaf(leaf);
    if (leaf.view instanceof ReviewView) leaf.view.focusFirst();
  }

  /** @param {Proposal} proposal */
  async accept(proposal) {
    const { id, path, newText } = proposal.diff;
    if (proposal.deciding) return;
    if (proposal.rebase(await currentText(this.app, path))) {
      // The person has not seen what would happen now: let them decide again.
      this.#reviews().forEach((view) => view.show(proposal));
      return;
    }
    const { final } = proposal;
    await this.#decide(proposal, async () => {
      // The assistant writes the file. Unsaved text must be saved first, or one of the two is lost.
      if (await isUnsaved(this.app, path)) await saveNote(this.app, path);
      await this.connection.ask('acceptDiff', final === newText ? { id } : { id, text: final });
    });
  }

  /** @param {Proposal} proposal */
  async reject(proposal) {
    await this.#decide(proposal, () => this.connection.ask('rejectDiff', { id: proposal.diff.id }));
  }

  /** @param {Proposal} proposal @param {() => Promise<void>} act */
  async #decide(proposal, act) {
    if (proposal.deciding) return;
    proposal.deciding = true;
    this.#reviews().forEach((view) => view.show(proposal));
    try {
      await act();
    } catch (error) {
      proposal.deciding = false;
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
      this.#reviews().forEach((view) => view.show(proposal));
    }
  }

  /** Rebase every proposal onto the current note. */
  async #lookAgain() {
    for (const proposal of [...this.proposals.values()])
      if (!proposal.deciding && proposal.rebase(await currentText(this.app, proposal.diff.path)))
        this.#reviews().forEach((view) => view.show(proposal));
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
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {boolean} share */
  async share(share) {
    try {
      await this.connection.ask('shareSelection', { share });
      this.shares = share;
    } catch (error) {
      new obsidian.Notice(`vaultbridge: ${/** @type {Error} */ (error).message}`);
    }
  }
}

module.exports = Companion;
/** For the tests of vaultbridge; the app ignores it. */
module.exports.parts = { applyHunks, bridgeFolders, compareWords, editorUrl, findHunks, merge, Proposal, splitLines };
