// Status and settings.

const STATE_WORDS = {
  off: 'switched off',
  connecting: 'connecting…',
  connected: 'connected',
  waiting: 'not connected',
  refused: 'refused',
};

/** As a sentence, with the reason. @param {Connection} connection */
const describeState = ({ state, why }) => `${STATE_WORDS[state][0].toUpperCase()}${STATE_WORDS[state].slice(1)}. ${why}`.replace(/\. $/, '');

/** Which changes wait for a person. @type {Record<string, string>} */
const REVIEWS = { off: 'Never', destructive: 'Deleting, overwriting and large changes', all: 'Every change' };

class StatusModal extends obsidian.Modal {
  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app);
    this.companion = companion;
  }

  async onOpen() {
    this.setTitle('Bridge status');
    const { el, button } = maker(this.contentEl.ownerDocument);
    const { companion } = this;
    const rows = el('dl', { class: 'vaultbridge-status' });
    const row = (/** @type {string} */ name, /** @type {string} */ value) => rows.append(el('dt', {}, name), el('dd', {}, value));
    row('Bridge', describeState(companion.connection));
    const again = button('Reconnect', () => {
      companion.connection.connect();
      this.close();
    });
    const review = button('Review proposed changes', () => {
      this.close();
      void companion.showReview();
    });
    this.contentEl.append(rows, el('footer', { class: 'vaultbridge-buttons' }, again, review));
    if (companion.connection.state !== 'connected') return;
    const status = await companion.connection.ask('status').catch(() => null);
    if (status === null) return;
    row('Vault', status.vault);
    const other = status.version === companion.manifest.version ? ''
      : ` (the companion is ${companion.manifest.version}: “vaultbridge companion install” brings it up to date)`;
    row('Version', `${status.version}${other}`);
    const connected = status.assistants.filter((/** @type {Assistant} */ assistant) => assistant.connected);
    row('Assistants', connected.map((/** @type {Assistant} */ assistant) => `${assistant.name}${assistant.did ? `: ${assistant.did}` : ''}`).join('; ') || 'none connected');
    row('They see', status.shareSelection ? (status.focus ?? 'no note is active') : 'nothing: sharing is switched off');
    row('Changes waiting', String(companion.proposals.size));
  }

  onClose() {
    this.contentEl.replaceChildren();
  }
}

class SettingsTab extends obsidian.PluginSettingTab {
  #changed = false;

  /** @param {Companion} companion */
  constructor(companion) {
    super(companion.app, companion);
    this.companion = companion;
  }

  /** @param {Partial<Settings>} change */
  #set(change) {
    this.companion.keep(change);
    this.#changed = true;
  }

  hide() {
    if (this.#changed) this.companion.connection.connect();
    this.#changed = false;
  }

  display() {
    const { containerEl, companion } = this;
    const { settings, connection } = companion;
    containerEl.replaceChildren();
    new obsidian.Setting(containerEl)
      .setName('Bridge')
      .setDesc(describeState(connection))
      .addButton((button) => button.setButtonText('Reconnect').onClick(() => {
        this.#changed = false;
        connection.connect();
      }));
    if (Platform.isDesktop)
      new obsidian.Setting(containerEl)
        .setName('Find the bridge on this computer')
        .setDesc('Reads the address and token from the files of “vaultbridge serve”. Switch this off to type them.')
        .addToggle((toggle) => toggle.setValue(settings.automatic).onChange((automatic) => {
          this.#set({ automatic });
          this.display();
        }));
    if (!companion.automatic) this.#byHand(containerEl);
    new obsidian.Setting(containerEl)
      .setName('Open the review when a change is proposed')
      .setDesc('While you type in a note, a notice appears instead.')
      .addToggle((toggle) => toggle.setValue(settings.openReview).onChange((openReview) => companion.keep({ openReview })));
    const { review } = companion;
    new obsidian.Setting(containerEl)
      .setName('Ask me before an assistant changes something')
      .setDesc('This is the bridge’s switch for this vault, as on its page. Claude Code’s own proposals always ask.'
        + (review && review.least !== 'off' ? ` The bridge asks at least for: ${REVIEWS[review.least].toLowerCase()}.` : ''))
      .addDropdown((dropdown) => dropdown.addOptions(REVIEWS).setValue(review?.review ?? 'off')
        .setDisabled(connection.state !== 'connected' || !review)
        .onChange((chosen) => void companion.setReview(chosen)));
    new obsidian.Setting(containerEl)
      .setName('Share what I have open')
      .setDesc('Assistants see the active note, the selection and the open notes. Mentions are always sent. '
        + 'This is the bridge’s switch: it applies to all editors, until the bridge is restarted.')
      .addToggle((toggle) => toggle.setValue(companion.shares).setDisabled(connection.state !== 'connected')
        .onChange((share) => void companion.share(share)));
  }

  /** @param {HTMLElement} containerEl */
  #byHand(containerEl) {
    const { settings } = this.companion;
    new obsidian.Setting(containerEl)
      .setName('Address')
      .setDesc('For example https://computer:3000, or the link that “vaultbridge page” prints.')
      .addText((text) => text.setPlaceholder('https://computer:3000').setValue(settings.address).onChange((typed) => {
        const [address, token] = typed.trim().split(/#token=/);
        this.#set(token ? { address, token } : { address });
        if (token) this.display();
      }));
    new obsidian.Setting(containerEl)
      .setName('Token')
      .setDesc('Stored on this device only, never in the vault.')
      .addText((text) => {
        text.inputEl.type = 'password';
        text.inputEl.autocomplete = 'off';
        text.setValue(settings.token).onChange((token) => this.#set({ token: token.trim() }));
      });
    new obsidian.Setting(containerEl)
      .setName('Vault')
      .setDesc('Its name on that computer, if it differs from the name here.')
      .addText((text) => text.setPlaceholder(this.app.vault.getName()).setValue(settings.vault)
        .onChange((vault) => this.#set({ vault: vault.trim() })));
  }
}
