// Changed lines, as they are shown.

/** Control, direction and zero-width characters: they cannot be seen, and yet change what a line means. */
const INVISIBLE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\u200d(?!\p{Extended_Pictographic})/gu;

/** The share of a line that must be unchanged for marks to help rather than confuse. */
const MIN_COMMON = 0.35;

/** Both lines in parts: what they have in common at the beginning and at the end, and what has changed between. Only
 * for display: the bridge determines what a change does to a note.
 * @param {string} before @param {string} after @returns {[LinePart[], LinePart[]]} */
function compareLines(before, after) {
  const [a, b] = [[...before], [...after]];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  if (head + tail < MIN_COMMON * Math.max(a.length, b.length)) return [[[before, false]], [[after, false]]];
  const split = (/** @type {string[]} */ characters) => {
    const end = characters.length - tail;
    /** @type {LinePart[]} */
    const parts = [[characters.slice(0, head).join(''), false], [characters.slice(head, end).join(''), true], [characters.slice(end).join(''), false]];
    return parts.filter(([text]) => text);
  };
  return [split(a), split(b)];
}

/** @param {Dom} dom @param {' ' | '-' | '+'} sign @param {LinePart[]} parts @param {boolean} [isUnended] whether the line has no line break */
function drawLine(dom, sign, parts, isUnended = false) {
  const { el } = dom;
  const [kind, spoken, tag] = { ' ': ['same', '', 'span'], '-': ['minus', 'removed: ', 'del'], '+': ['plus', 'added: ', 'ins'] }[sign];
  const content = parts.map(([text, isChanged]) => el(isChanged ? tag : 'span', {}, ...showInvisible(dom, text)));
  if (isUnended) content.push(el('span', { class: 'vaultbridge-invisible' }, 'no line break'));
  return el('div', { class: `vaultbridge-line vaultbridge-${kind}` },
    el('span', { class: 'vaultbridge-sign', 'aria-hidden': 'true' }, sign === '-' ? '−' : sign),
    el('span', { class: 'vaultbridge-text' },
      ...(spoken ? [el('span', { class: 'vaultbridge-spoken' }, spoken)] : []), ...content));
}

/** A text with its invisible characters shown by their codes. @param {Dom} dom @param {string} text */
function showInvisible({ el }, text) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    const code = /** @type {number} */ (match[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
    parts.push(text.slice(at, match.index), el('span', { class: 'vaultbridge-invisible' }, `U+${code}`));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

/** Compares each removed line of a run with the added line at the same position after it. The result is by the index of
 * the line. @param {string[]} lines */
function compareHunkLines(lines) {
  /** @type {Map<number, LinePart[]>} */
  const compared = new Map();
  for (let start = 0; start < lines.length; ) {
    let [middle, end] = [start, start];
    while (lines[middle]?.startsWith('-')) middle++;
    for (end = middle; lines[end]?.startsWith('+'); ) end++;
    for (let i = 0; start + i < middle && middle + i < end; i++) {
      const [before, after] = compareLines(lines[start + i].slice(1), lines[middle + i].slice(1));
      compared.set(start + i, before).set(middle + i, after);
    }
    start = Math.max(end, start + 1);
  }
  return compared;
}
