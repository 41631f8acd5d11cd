// Proposals: changes that wait for a decision.

/** A proposed change: which of its hunks the person takes, and how they edit it. Knows no app and no document. */
class Proposal {
  /** @type {Hunk[]} */ hunks = [];
  /** @type {Set<Hunk>} */ taken = new Set();
  /** The text in the form while the person edits it, else null. @type {string | null} */ draft = null;
  /** How it was rebased when the note changed meanwhile. @type {'' | 'kept' | 'clash'} */ moved = '';
  deciding = false;
  linesDrawn = LINES_DRAWN;

  /** @param {Diff} diff */
  constructor(diff) {
    this.diff = diff;
    this.base = plain(diff.oldText);
    this.#propose(diff.newText);
  }

  /** @param {string} text */
  #propose(text) {
    this.target = text;
    this.hunks = findHunks(this.base, text);
    this.taken = new Set(this.hunks);
  }

  /** The whole text that the assistant gets on acceptance. */
  get final() {
    return this.draft ?? applyHunks(splitLines(this.base), this.hunks.filter((hunk) => this.taken.has(hunk)));
  }

  get edited() {
    return this.final !== merge(plain(this.diff.oldText), this.base, this.diff.newText).text;
  }

  /** Take or leave one change. @param {Hunk} hunk @param {boolean} take */
  choose(hunk, take) {
    if (take) this.taken.add(hunk);
    else this.taken.delete(hunk);
  }

  beginEditing() {
    this.draft = this.final;
  }

  endEditing() {
    this.#propose(this.final);
    this.draft = null;
  }

  backToTheProposal() {
    this.draft = null;
    this.#propose(merge(plain(this.diff.oldText), this.base, this.diff.newText).text);
  }

  /** The note is now `current`. Keeps what was written in it meanwhile; true when the proposal has changed.
   * @param {string} current */
  rebase(current) {
    if (current === this.base) return false;
    const { text, clash } = merge(this.base, current, this.final);
    const writing = this.draft !== null;
    this.base = current;
    this.#propose(text);
    if (writing) this.draft = text;
    this.moved = clash || this.moved === 'clash' ? 'clash' : 'kept';
    return true;
  }
}
