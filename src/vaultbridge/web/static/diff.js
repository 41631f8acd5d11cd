// What differs between two texts, by lines and by words. Pure: no page, no network.

const MOST_EDITS = 1500; // lines apart; beyond, time and memory grow with the square and a block is shown instead
const MOST_WORDS = 600; // tokens of one line that are compared; a longer line is shown as changed in whole
const ALIKE = 0.35; // the part of a line that must stay for word marks to help rather than confuse

/** The lines of a text, each with its own line end. */
const linesOf = (text) => text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? [];
const bare = (line) => line.replace(/[\r\n]+$/, '');

/** Stretches that are equal in both lists, as [index in a, index in b, length], in order (Myers' O(ND)). */
function equalRuns(a, b, most = MOST_EDITS) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const pairs = middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), most);
  const runs = [[0, 0, head]];
  for (const [x, y] of pairs) {
    const last = runs.at(-1);
    if (last[0] + last[2] === head + x && last[1] + last[2] === head + y) last[2]++;
    else runs.push([head + x, head + y, 1]);
  }
  runs.push([a.length - tail, b.length - tail, tail]);
  return runs;
}

function middle(a, b, most) {
  if (!a.length || !b.length) return [];
  const limit = Math.min(most, a.length + b.length);
  const zero = limit + 1;
  const reach = new Int32Array(2 * limit + 3);
  const before = [];
  for (let d = 0; d <= limit; d++) {
    before.push(reach.slice(zero - d - 1, zero + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1]);
      let x = down ? reach[zero + k + 1] : reach[zero + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[zero + k] = x;
      if (x >= a.length && x - k >= b.length) return wayBack(a.length, b.length, before);
    }
  }
  return [];
}

function wayBack(x, y, before) {
  const pairs = [];
  for (let d = before.length - 1; d >= 0; d--) {
    const k = x - y;
    const reach = (diagonal) => before[d][diagonal + d + 1];
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const fromX = d ? (down ? reach(k + 1) : reach(k - 1)) : 0;
    const fromY = d ? fromX - (down ? k + 1 : k - 1) : 0;
    const start = d ? (down ? fromX : fromX + 1) : 0;
    while (x > start) pairs.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return pairs.reverse();
}

/** Rows for a reader: {old, new} with line numbers from 1; `same` when nothing changed in between. */
function compareLines(oldText, newText) {
  const [a, b] = [linesOf(oldText), linesOf(newText)];
  const rows = [];
  let [x, y] = [0, 0];
  for (const [nextX, nextY, length] of equalRuns(a, b)) {
    for (; x < nextX || y < nextY; ) {
      const row = { same: false, old: null, new: null };
      if (x < nextX) row.old = { line: x + 1, text: a[x++] };
      if (y < nextY) row.new = { line: y + 1, text: b[y++] };
      rows.push(row);
    }
    for (let i = 0; i < length; i++) rows.push({ same: true, old: { line: x + 1, text: a[x++] }, new: { line: y + 1, text: b[y++] } });
  }
  return rows;
}

const wordsOf = (text) => text.match(/[\p{L}\p{M}\p{N}_]+|\r\n|\s+|[^]/gu) ?? [];

/** Both lines in pieces [text, changed]; one piece each where the lines have too little in common. */
function compareWords(oldText, newText) {
  const [a, b] = [wordsOf(oldText), wordsOf(newText)];
  const whole = [[[oldText, false]], [[newText, false]]];
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return whole;
  const runs = equalRuns(a, b, MOST_WORDS);
  const kept = runs.reduce((sum, [x, , n]) => sum + a.slice(x, x + n).join('').trim().length, 0);
  if (kept < ALIKE * Math.max(oldText.trim().length, newText.trim().length)) return whole;
  const pieces = (words, side) => {
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

/** A text from a form, which knows only \n, with the line ends that `original` has in the lines that stayed. */
function withLineEnds(edited, original) {
  const ends = linesOf(original);
  const usual = ends.filter((line) => line.endsWith('\r\n')).length * 2 > ends.length ? '\r\n' : '\n';
  const lines = linesOf(edited);
  const end = (line) => line.slice(bare(line).length);
  const kept = new Map();
  for (const [x, y, n] of equalRuns(ends.map(bare), lines.map(bare))) for (let i = 0; i < n; i++) kept.set(y + i, end(ends[x + i]));
  return lines.map((line, i) => bare(line) + (end(line) && (kept.get(i) || usual))).join('');
}

export { bare, compareLines, compareWords, linesOf, withLineEnds };
