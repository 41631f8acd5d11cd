// Two texts as rows side by side, and an edited text with its original line ends. Pure: no page, no network.

import { bare, equalRuns, splitLines } from '../../../src/vaultbridge/companion/diff.js';

/** Rows for a reader: {old, new} with line numbers from 1; `same` when nothing changed in between. */
function compareLines(oldText, newText) {
  const [a, b] = [splitLines(oldText), splitLines(newText)];
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

/** A text from a form, which has only \n, with the line ends that `original` has in the unchanged lines. */
function withLineEnds(edited, original) {
  const ends = splitLines(original);
  const usual = ends.filter((line) => line.endsWith('\r\n')).length * 2 > ends.length ? '\r\n' : '\n';
  const lines = splitLines(edited);
  const end = (line) => line.slice(bare(line).length);
  const kept = new Map();
  for (const [x, y, n] of equalRuns(ends.map(bare), lines.map(bare))) for (let i = 0; i < n; i++) kept.set(y + i, end(ends[x + i]));
  return lines.map((line, i) => bare(line) + (end(line) && (kept.get(i) || usual))).join('');
}

export { compareLines, withLineEnds };
