// Proposals: changes that wait for a decision.

const VERBS = { created: 'creates', changed: 'changes', moved: 'moves', deleted: 'deletes' };

/** What became of a proposal. @type {Record<string, string>} */
const OUTCOMES = {
  accepted: 'accepted',
  edited: 'accepted with your changes',
  rejected: 'rejected',
  expired: 'too old: nobody decided',
  withdrawn: 'withdrawn by the assistant',
  'accepted-in-terminal': 'accepted in the terminal',
  'note-changed': 'accepted, but not written: the note had changed',
};

/** What a proposal is about, in a few words. @param {WireProposal} proposal */
function subjectOf({ files, moreFiles, label }) {
  const [first] = files;
  if (!first) return label || 'a change';
  if (files.length + moreFiles > 1) return counted(files.length + moreFiles, 'file');
  return first.change === 'moved' && first.was ? `${first.was} → ${first.path}` : first.path;
}

/** @param {ProposedFile} file */
const isEditable = (file) => file.text && (file.change === 'created' || file.change === 'changed');

/** Whether the bridge has sent everything that can be shown. @param {WireProposal} proposal */
const hasTexts = ({ files }) => files.every((file) => !file.text || typeof file.oldText === 'string');

/** A proposal as the bridge sent it last, and what the person has done to it so far. Merges nothing. */
class Proposal {
  /** The texts that the person has written instead. @type {Map<string, string>} */ texts = new Map();
  /** The hunks that the person leaves out. @type {Map<string, Set<number>>} */ left = new Map();
  /** The file whose text is in the form. @type {string | null} */ editing = null;
  /** The files with the person's texts, as the bridge would write them. @type {ProposedFile[] | null} */ preview = null;
  /** What the bridge said when it wrote nothing. */ warning = '';
  /** Why the person rejects it, as far as it is typed. */ reason = '';
  /** The assistant's name as it was drawn. */ name = '';
  deciding = false;
  linesDrawn = LINES_DRAWN;

  /** @param {WireProposal} now */
  constructor(now) {
    this.now = now;
    /** The version that the person's choices are about. */
    this.seen = now.hash;
  }

  get id() {
    return this.now.id;
  }

  get subject() {
    return subjectOf(this.now);
  }

  /** The files as they are shown: with the person's texts, if there are any. */
  get files() {
    return this.preview ?? this.now.files;
  }

  get isEdited() {
    return this.texts.size > 0;
  }

  /** It is the same proposal, on notes that have changed. @param {WireProposal} now */
  update(now) {
    if (now.hash !== this.now.hash) this.left.clear();
    this.now = now;
    if (this.isEdited) return;
    this.preview = null;
    this.seen = now.hash;
  }

  /** What to write instead of the whole proposal. @returns {Choice[]} */
  get choices() {
    /** @type {Choice[]} */
    const choices = [];
    for (const { path, hunks = [] } of this.now.files) {
      const [text, left] = [this.texts.get(path), this.left.get(path)];
      if (text !== undefined) choices.push({ path, text });
      else if (left?.size === hunks.length && hunks.length) choices.push({ path, skip: true });
      else if (left?.size) choices.push({ path, hunks: [...hunks.keys()].filter((index) => !left.has(index)) });
    }
    return choices;
  }

  /** How many of the parts that can be left out are taken, and how many there are. */
  get taken() {
    const all = this.now.files.filter(isEditable).reduce((sum, { hunks }) => sum + hunks.length, 0);
    const left = [...this.left.values()].reduce((sum, { size }) => sum + size, 0);
    return { taken: all - left, all };
  }

  /** Whether nothing of it would be left. */
  get isEmpty() {
    const { taken, all } = this.taken;
    return !this.isEdited && all > 0 && taken === 0 && this.now.files.every(isEditable) && !this.now.moreFiles;
  }

  /** Whether the bridge would refuse it as it is. */
  get isStuck() {
    return this.now.conflict !== '' && !this.isEdited;
  }

  /** Take or leave one part. @param {string} path @param {number} index @param {boolean} take */
  choose(path, index, take) {
    const left = this.left.get(path) ?? new Set();
    if (take) left.delete(index);
    else left.add(index);
    if (left.size) this.left.set(path, left);
    else this.left.delete(path);
  }

  /** Leave out everything else. @param {string} path @param {number} index */
  chooseOnly(path, index) {
    for (const file of this.now.files.filter(isEditable))
      file.hunks.forEach((_, other) => this.choose(file.path, other, file.path === path && other === index));
  }

  backToTheProposal() {
    this.texts.clear();
    this.left.clear();
    this.editing = null;
    this.preview = null;
    this.seen = this.now.hash;
  }
}
