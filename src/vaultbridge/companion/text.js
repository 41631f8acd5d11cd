// Texts: the form in which those of the app and the bridge are compared, and what differs in two lines.

/** Without a byte order mark, and with LF. @param {string} text */
const plain = (text) => text.replace(/^\ufeff/, '').replace(/\r\n/g, '\n');

/** @param {number} count @param {string} word */
const counted = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

/** @param {number} at seconds since the epoch */
const clock = (at) => new Date(at * 1000).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });

/** How many lines a text has; an unfinished one counts. @param {string} text */
const countLines = (text) => text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0);

/** The part of a line that must be unchanged for a mark to help rather than confuse. */
const ALIKE = 0.35;

/** Both lines in pieces: what they have in common at the beginning and at the end, and the rest between, which has
 * changed. Only for display: the bridge decides what a change does to a note.
 * @param {string} before @param {string} after @returns {[Piece[], Piece[]]} */
function markDifference(before, after) {
  const [a, b] = [[...before], [...after]];
  const least = Math.min(a.length, b.length);
  let head = 0;
  while (head < least && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < least - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  if (head + tail < ALIKE * Math.max(a.length, b.length)) return [[[before, false]], [[after, false]]];
  const pieces = (/** @type {string[]} */ all) => {
    const end = all.length - tail;
    /** @type {Piece[]} */
    const parts = [[all.slice(0, head).join(''), false], [all.slice(head, end).join(''), true], [all.slice(end).join(''), false]];
    return parts.filter(([text]) => text);
  };
  return [pieces(a), pieces(b)];
}
