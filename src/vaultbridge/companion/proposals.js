// Proposals: changes that wait for a decision.

const VERBS = { created: 'creates', changed: 'changes', moved: 'moves', deleted: 'deletes' };

/** What became of a proposal. @type {Record<string, string>} */
const OUTCOMES = {
  accepted: 'accepted',
  edited: 'accepted with your edits',
  rejected: 'rejected',
  expired: 'expired without a review',
  withdrawn: 'withdrawn by the assistant',
  'accepted-in-terminal': 'accepted in the terminal',
  'note-changed': 'accepted, but not written: the note had changed',
};

/** What a proposal is about: a path, or how many files. @param {ProposalData} proposal */
function describeTarget({ files, moreFiles, label }) {
  const [first] = files;
  if (!first) return label || 'a change';
  if (label === 'move' && first.change === 'moved' && first.was) {
    const links = files.length + moreFiles - 1;
    return `${first.was} → ${first.path}${links ? `, with the links in ${pluralize(links, 'note')}` : ''}`;
  }
  if (files.length + moreFiles > 1) return pluralize(files.length + moreFiles, 'file');
  return first.change === 'moved' && first.was ? `${first.was} → ${first.path}` : first.path;
}

/** @param {ProposedFile} file */
const isEditable = (file) => file.text && (file.change === 'created' || file.change === 'changed');

/** Whether the bridge has sent all texts. @param {ProposalData} proposal */
const hasTexts = ({ files }) => files.every((file) => !file.text || typeof file.oldText === 'string');

/** A proposal as the bridge last sent it, and what the person has changed about it. Merges nothing. */
class Proposal {
  /** The person's own texts, by path. @type {Map<string, string>} */ texts = new Map();
  /** The hunks that the person leaves out, by path. @type {Map<string, Set<number>>} */ leftOut = new Map();
  /** The path of the file that is being edited. @type {string | null} */ editedPath = null;
  /** The files with the person's texts, as the bridge would write them. @type {ProposedFile[] | null} */ preview = null;
  /** Why the bridge wrote nothing. */ warning = '';
  /** The reason for a rejection, as far as it is typed. */ reason = '';
  /** The assistant's name as it was last shown. */ shownName = '';
  isDeciding = false;
  lineLimit = MAX_LINES;

  /** @param {ProposalData} data */
  constructor(data) {
    this.data = data;
    /** The version on which the person's edits are based. */
    this.baseHash = data.hash;
  }

  get id() {
    return this.data.id;
  }

  get subject() {
    return describeTarget(this.data);
  }

  /** The files as they are shown: with the person's texts, if there are any. */
  get files() {
    return this.preview ?? this.data.files;
  }

  get isEdited() {
    return this.texts.size > 0;
  }

  /** The same proposal, after its notes have changed. @param {ProposalData} data */
  update(data) {
    if (data.hash !== this.data.hash) this.leftOut.clear();
    this.data = data;
    if (this.isEdited) return;
    this.preview = null;
    this.baseHash = data.hash;
  }

  /** What to write instead of the whole proposal. @returns {FileDecision[]} */
  get decisions() {
    /** @type {FileDecision[]} */
    const decisions = [];
    for (const { path, hunks = [] } of this.data.files) {
      const [text, leftOut] = [this.texts.get(path), this.leftOut.get(path)];
      if (text !== undefined) decisions.push({ path, text });
      else if (leftOut?.size === hunks.length && hunks.length) decisions.push({ path, skip: true });
      else if (leftOut?.size) decisions.push({ path, hunks: [...hunks.keys()].filter((index) => !leftOut.has(index)) });
    }
    return decisions;
  }

  /** How many of the hunks that can be left out are accepted, and how many there are. */
  get hunkCounts() {
    const all = this.data.files.filter(isEditable).reduce((sum, { hunks }) => sum + hunks.length, 0);
    const leftOut = [...this.leftOut.values()].reduce((sum, { size }) => sum + size, 0);
    return { accepted: all - leftOut, all };
  }

  /** Whether accepting it would change nothing. */
  get isEmpty() {
    const { accepted, all } = this.hunkCounts;
    return !this.isEdited && all > 0 && accepted === 0 && this.data.files.every(isEditable) && !this.data.moreFiles;
  }

  /** Whether the bridge would refuse it as it is. */
  get hasConflict() {
    return this.data.conflict !== '' && !this.isEdited;
  }

  /** Accepts a hunk, or leaves it out. @param {string} path @param {number} index @param {boolean} isAccepted */
  setHunk(path, index, isAccepted) {
    const leftOut = this.leftOut.get(path) ?? new Set();
    if (isAccepted) leftOut.delete(index);
    else leftOut.add(index);
    if (leftOut.size) this.leftOut.set(path, leftOut);
    else this.leftOut.delete(path);
  }

  /** Leaves out all other hunks. @param {string} path @param {number} index */
  acceptOnly(path, index) {
    for (const file of this.data.files.filter(isEditable))
      file.hunks.forEach((_, other) => this.setHunk(file.path, other, file.path === path && other === index));
  }

  discardEdits() {
    this.texts.clear();
    this.leftOut.clear();
    this.editedPath = null;
    this.preview = null;
    this.baseHash = this.data.hash;
  }
}
