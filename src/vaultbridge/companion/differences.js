// What a person may take or leave of a change, and two changes of one text in one.

/** The text as the app and the bridge both mean it: no byte order mark, LF. @param {string} text */
const plain = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');

/** What turns one text into the other, in order; at least one equal line lies between two hunks.
 * @param {string} oldText @param {string} newText @returns {Hunk[]} */
function hunksOf(oldText, newText) {
  const [a, b] = [linesOf(oldText), linesOf(newText)];
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
function applied(lines, hunks, start = 0, end = lines.length) {
  const parts = [];
  let at = start;
  for (const hunk of hunks) {
    parts.push(...lines.slice(at, hunk.at), ...hunk.lines);
    at = hunk.at + hunk.gone;
  }
  return [...parts, ...lines.slice(at, end)].join('');
}

/**
 * Both changes of `base` in one text. Where they touch the same or neighbouring lines, `theirs` stands and `clash` says
 * so: compared with `mine` it is then a visible change, which a person may leave out.
 * @param {string} base @param {string} mine @param {string} theirs @returns {{text: string, clash: boolean}}
 */
function merged(base, mine, theirs) {
  const lines = linesOf(base);
  const [ours, others] = [hunksOf(base, mine), hunksOf(base, theirs)];
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
    const [left, right] = [applied(lines, here, start, end), applied(lines, there, start, end)];
    clash ||= here.length > 0 && there.length > 0 && left !== right;
    parts.push(lines.slice(at, start).join(''), there.length ? right : left);
    at = end;
  }
  return { text: parts.join('') + lines.slice(at).join(''), clash };
}
