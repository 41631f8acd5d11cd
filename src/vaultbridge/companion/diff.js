// Compares two texts by lines and by words, and merges two changes of one text. Pure: no page, no network.
// The Obsidian companion uses it too.

const MOST_EDITS = 1500; // time and memory grow with the square of the edits: beyond this, unique lines are anchors
const MOST_WORDS = 600; // the most tokens of a line that are compared; a longer line is shown as changed as a whole
const ALIKE = 0.35; // the part of a line that must be unchanged for marked words to help rather than confuse

/** The lines of a text, each with its own line end. @param {string} text @returns {string[]} */
const splitLines = (text) => text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
/** @param {string} line */
const bare = (line) => line.replace(/[\r\n]+$/, '');

/**
 * Stretches that are equal in both lists, as [index in a, index in b, length], in order (Myers' O(ND)).
 * @param {string[]} a @param {string[]} b @param {number} [most] @returns {[number, number, number][]}
 */
function equalRuns(a, b, most = MOST_EDITS) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  /** @type {[number, number, number][]} */
  const runs = [[0, 0, head]];
  for (const [x, y] of equalPairs(a.slice(head, a.length - tail), b.slice(head, b.length - tail), most)) {
    const last = runs[runs.length - 1];
    if (last[0] + last[2] === head + x && last[1] + last[2] === head + y) last[2]++;
    else runs.push([head + x, head + y, 1]);
  }
  runs.push([a.length - tail, b.length - tail, tail]);
  return runs;
}

/** @param {string[]} a @param {string[]} b @param {number} most @returns {[number, number][]} */
function equalPairs(a, b, most) {
  const near = fewestEdits(a, b, most);
  if (near) return near;
  // Too far apart for the shortest path: split at lines that occur once in both, and compare what lies between.
  /** @type {[number, number][]} */
  const pairs = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY] of [...uniqueInBoth(a, b), /** @type {[number, number]} */ ([a.length, b.length])]) {
    const between = fewestEdits(a.slice(x, nextX), b.slice(y, nextY), most) ?? [];
    for (const [fromX, fromY] of between) pairs.push([x + fromX, y + fromY]);
    if (nextX < a.length) pairs.push([nextX, nextY]);
    [x, y] = [nextX + 1, nextY + 1];
  }
  return pairs;
}

/** The longest sequence of lines that occur exactly once in each list and in the same order in both (patience sorting).
 * @param {string[]} a @param {string[]} b @returns {[number, number][]} */
function uniqueInBoth(a, b) {
  /** @param {string[]} lines */
  const once = (lines) => {
    /** @type {Map<string, number>} */
    const found = new Map();
    lines.forEach((line, at) => found.set(line, found.has(line) ? -1 : at));
    return found;
  };
  const others = once(b);
  /** @type {{at: [number, number], before: any}[]} */
  const piles = []; // the last pair of the best sequence of each length
  for (const [line, x] of once(a)) {
    const y = others.get(line) ?? -1;
    if (x < 0 || y < 0) continue;
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (piles[middle].at[1] < y) low = middle + 1;
      else high = middle;
    }
    piles[low] = { at: [x, y], before: piles[low - 1] };
  }
  const way = [];
  for (let pair = piles.at(-1); pair; pair = pair.before) way.push(pair.at);
  return way.reverse();
}

/** The equal pairs on the shortest path from one to the other, null when it has more than `most` edits.
 * @param {string[]} a @param {string[]} b @param {number} most @returns {[number, number][] | null} */
function fewestEdits(a, b, most) {
  if (!a.length || !b.length) return [];
  const limit = Math.min(most, a.length + b.length);
  const zero = limit + 1;
  const reach = new Int32Array(2 * limit + 3);
  /** @type {Int32Array[]} */
  const before = [];
  for (let d = 0; d <= limit; d++) {
    before.push(reach.slice(zero - d - 1, zero + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1]);
      let x = down ? reach[zero + k + 1] : reach[zero + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(a.length, b.length, before);
    }
  }
  return null;
}

/** @param {number} x @param {number} y @param {Int32Array[]} before @returns {[number, number][]} */
function backtrack(x, y, before) {
  /** @type {[number, number][]} */
  const pairs = [];
  for (let d = before.length - 1; d >= 0; d--) {
    const k = x - y;
    const reach = (/** @type {number} */ diagonal) => before[d][diagonal + d + 1];
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const fromX = d ? (down ? reach(k + 1) : reach(k - 1)) : 0;
    const fromY = d ? fromX - (down ? k + 1 : k - 1) : 0;
    const start = d ? (down ? fromX : fromX + 1) : 0;
    while (x > start) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/** @param {string} text @returns {string[]} */
const splitWords = (text) => text.match(/[\p{L}\p{M}\p{N}_]+|\r\n|\s+|[^]/gu) ?? [];

/** Both lines in pieces [text, changed]; one piece each where the lines have too little in common.
 * @param {string} oldText @param {string} newText @returns {[[string, boolean][], [string, boolean][]]} */
function compareWords(oldText, newText) {
  const [a, b] = [splitWords(oldText), splitWords(newText)];
  /** @type {[[string, boolean][], [string, boolean][]]} */
  const whole = [[[oldText, false]], [[newText, false]]];
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return whole;
  const runs = equalRuns(a, b, MOST_WORDS);
  const kept = runs.reduce((sum, [x, , n]) => sum + a.slice(x, x + n).join('').trim().length, 0);
  if (kept < ALIKE * Math.max(oldText.trim().length, newText.trim().length)) return whole;
  const pieces = (/** @type {string[]} */ words, /** @type {0 | 1} */ side) => {
    /** @type {[string, boolean][]} */
    const found = [];
    let at = 0;
    for (const run of runs) {
      if (run[side] > at) found.push([words.slice(at, run[side]).join(''), true]);
      if (run[2]) found.push([words.slice(run[side], run[side] + run[2]).join(''), false]);
      at = run[side] + run[2];
    }
    return found;
  };
  return [pieces(a, 0), pieces(b, 1)];
}

/** The hunks that turn one text into the other, in order; at least one equal line lies between two of them.
 * @param {string} oldText @param {string} newText @returns {Hunk[]} */
function findHunks(oldText, newText) {
  const [a, b] = [splitLines(oldText), splitLines(newText)];
  const hunks = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY, length] of equalRuns(a, b)) {
    if (x < nextX || y < nextY) hunks.push({ at: x, gone: nextX - x, lines: b.slice(y, nextY) });
    [x, y] = [nextX + length, nextY + length];
  }
  return hunks;
}

/** `lines` from `start` up to `end` with these hunks applied. @param {string[]} lines @param {Hunk[]} hunks
 * @param {number} [start] @param {number} [end] */
function applyHunks(lines, hunks, start = 0, end = lines.length) {
  const parts = [];
  let at = start;
  for (const hunk of hunks) {
    parts.push(...lines.slice(at, hunk.at), ...hunk.lines);
    at = hunk.at + hunk.gone;
  }
  return [...parts, ...lines.slice(at, end)].join('');
}

/**
 * Both changes of `base` in one text. Where they touch the same or neighbouring lines, `theirs` wins and `clash` is
 * true: compared with `mine` it is then a visible change, which a person may leave out.
 * @param {string} base @param {string} mine @param {string} theirs @returns {{text: string, clash: boolean}}
 */
function merge(base, mine, theirs) {
  const lines = splitLines(base);
  const [ours, others] = [findHunks(base, mine), findHunks(base, theirs)];
  const parts = [];
  let [at, clash] = [0, false];
  while (ours.length || others.length) {
    const start = Math.min(ours[0]?.at ?? lines.length, others[0]?.at ?? lines.length);
    let end = start;
    const [here, there] = [/** @type {Hunk[]} */ ([]), /** @type {Hunk[]} */ ([])];
    for (let grew = true; grew; ) {
      grew = false;
      for (const [from, to] of [[ours, here], [others, there]])
        while (from.length && from[0].at <= end) {
          const hunk = /** @type {Hunk} */ (from.shift());
          end = Math.max(end, hunk.at + hunk.gone);
          to.push(hunk);
          grew = true;
        }
    }
    const [left, right] = [applyHunks(lines, here, start, end), applyHunks(lines, there, start, end)];
    clash ||= here.length > 0 && there.length > 0 && left !== right;
    parts.push(lines.slice(at, start).join(''), there.length ? right : left);
    at = end;
  }
  return { text: parts.join('') + lines.slice(at).join(''), clash };
}

export { applyHunks, bare, compareWords, equalRuns, findHunks, merge, splitLines };
