// Status and settings.

const STATE_LABELS = {
  off: 'switched off',
  connecting: 'connecting…',
  connected: 'connected',
  waiting: 'not connected',
  refused: 'refused',
};

/** As a sentence, with the reason. @param {Connection} connection */
const describeState = ({ state, reason }) => `${STATE_LABELS[state][0].toUpperCase()}${STATE_LABELS[state].slice(1)}. ${reason}`.replace(/\. $/, '');

/** Which changes wait for a person. @type {Record<string, string>} */
const POLICY_LABELS = { off: 'Never', destructive: 'Deleting, overwriting and large changes', all: 'Every change' };

class StatusModal extends obsidian.Modal {
  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app);
    this.companion = companion;
  }

  async onOpen() {
    this.setTitle('Bridge status');
    const { el, button } = createDom(this.contentEl.ownerDocument);
    const { companion } = this;
    const rows = el('dl', { class: 'vaultbridge-status' });
    const addRow = (/** @type {string} */ name, /** @type {string} */ value) => rows.append(el('dt', {}, name), el('dd', {}, value));
    addRow('Bridge', describeState(companion.connection));
    const reconnect = button('Reconnect', () => {
      companion.connection.connect();
      this.close();
    });
    const review = button('Review proposed changes', () => {
      this.close();
      void companion.showReview();
    });
    this.contentEl.append(rows, el('footer', { class: 'vaultbridge-buttons' }, reconnect, review));
    if (companion.connection.state !== 'connected') return;
    const status = await companion.connection.request('status').catch(() => null);
    if (status === null) return;
    addRow('Vault', status.vault);
    const advice = status.version === companion.manifest.version ? ''
      : ` (the companion is ${companion.manifest.version}: “vaultbridge companion install” brings it up to date)`;
    addRow('Version', `${status.version}${advice}`);
    const connected = status.assistants.filter((/** @type {Assistant} */ assistant) => assistant.connected);
    addRow('Assistants', connected.map((/** @type {Assistant} */ assistant) => `${assistant.name}${assistant.summary ? `: ${assistant.summary}` : ''}`).join('; ') || 'none connected');
    addRow('They see', status.shareSelection ? (status.focus ?? 'no note is active') : 'nothing: sharing is switched off');
    addRow('Changes waiting', String(companion.proposals.size));
  }

  onClose() {
    this.contentEl.replaceChildren();
  }
}

class SettingsTab extends obsidian.PluginSettingTab {
  #needsReconnect = false;

  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app, companion);
    this.companion = companion;
  }

  /** @param {Partial<Settings>} change */
  #change(change) {
    this.companion.saveSettings(change);
    this.#needsReconnect = true;
  }

  hide() {
    if (this.#needsReconnect) this.companion.connection.connect();
    this.#needsReconnect = false;
  }

  display() {
    const { containerEl, companion } = this;
    const { settings, connection } = companion;
    containerEl.replaceChildren();
    new obsidian.Setting(containerEl)
      .setName('Bridge')
      .setDesc(describeState(connection))
      .addButton((button) => button.setButtonText('Reconnect').onClick(() => {
        this.#needsReconnect = false;
        connection.connect();
      }));
    if (Platform.isDesktop)
      new obsidian.Setting(containerEl)
        .setName('Find the bridge on this computer')
        .setDesc('Reads the address and token from the files of “vaultbridge serve”. Switch this off to enter them yourself.')
        .addToggle((toggle) => toggle.setValue(settings.automatic).onChange((automatic) => {
          this.#change({ automatic });
          this.display();
        }));
    if (!companion.isAutomatic) this.#displayManual(containerEl);
    new obsidian.Setting(containerEl)
      .setName('Open the review when a change is proposed')
      .setDesc('While you type in a note, a notice appears instead.')
      .addToggle((toggle) => toggle.setValue(settings.openReview).onChange((openReview) => companion.saveSettings({ openReview })));
    const { reviewState } = companion;
    new obsidian.Setting(containerEl)
      .setName('Ask me before an assistant changes something')
      .setDesc('This is the bridge’s switch for this vault, as on its page. Claude Code’s own proposals always ask.'
        + (reviewState && reviewState.least !== 'off' ? ` The bridge asks at least for: ${POLICY_LABELS[reviewState.least].toLowerCase()}.` : ''))
      .addDropdown((dropdown) => dropdown.addOptions(POLICY_LABELS).setValue(reviewState?.review ?? 'off')
        .setDisabled(connection.state !== 'connected' || !reviewState)
        .onChange((policy) => void companion.setReviewPolicy(policy)));
    new obsidian.Setting(containerEl)
      .setName('Share what I have open')
      .setDesc('Assistants see the active note, the selection and the open notes. Mentions are always sent. '
        + 'This is the bridge’s switch: it applies to all editors, until the bridge is restarted.')
      .addToggle((toggle) => toggle.setValue(companion.sharesSelection).setDisabled(connection.state !== 'connected')
        .onChange((share) => void companion.setSharing(share)));
  }

  /** @param {HTMLElement} containerEl */
  #displayManual(containerEl) {
    const { settings } = this.companion;
    new obsidian.Setting(containerEl)
      .setName('Address')
      .setDesc('For example https://computer:3000, or the link that “vaultbridge page” prints.')
      .addText((text) => text.setPlaceholder('https://computer:3000').setValue(settings.address).onChange((typed) => {
        const [address, token] = typed.trim().split(/#token=/);
        this.#change(token ? { address, token } : { address });
        if (token) this.display();
      }));
    new obsidian.Setting(containerEl)
      .setName('Token')
      .setDesc('Stored on this device only, never in the vault.')
      .addText((text) => {
        text.inputEl.type = 'password';
        text.inputEl.autocomplete = 'off';
        text.setValue(settings.token).onChange((token) => this.#change({ token: token.trim() }));
      });
    new obsidian.Setting(containerEl)
      .setName('Vault')
      .setDesc('Its name on that computer, if it differs from the name here.')
      .addText((text) => text.setPlaceholder(this.app.vault.getName()).setValue(settings.vault)
        .onChange((vault) => this.#change({ vault: vault.trim() })));
  }
}
