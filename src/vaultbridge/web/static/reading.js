// A note's text, from the tool that reads notes: it gives a long one in pieces, each under a line about it.

const PIECE = 90000; // characters of a note that the tool gives at once
const PIECES = 12; // of one note; a longer one is read up to there
const HEAD = /^\[(.+) \| hash ([0-9a-f]+) \| lines (\d+)-(\d+) of (\d+)\]\n/;
const MORE = /\n\[cut; go on with start=(\d+)\]$/;

async function piece(bridge, args) {
  const [{ text }] = await bridge.tool('read_note', args);
  const head = HEAD.exec(text);
  if (!head) throw new Error(`${args.name} cannot be shown.`);
  return { text, head };
}

/** What tells one state of a note from another. */
const hashOf = async (bridge, name) => (await piece(bridge, { name, lines: '1', max_chars: 1 })).head[2];

/** `lines` have no line ends; `isCut` when the note is longer than what is read of one. */
async function readWhole(bridge, name) {
  let [lines, start, first, path] = [[], 0, null, name];
  for (let count = 0; count < PIECES; count++) {
    const { text, head } = await piece(bridge, { name: path, start, max_chars: PIECE });
    first ??= head;
    if (head[2] !== first[2]) throw new Error(`${head[1]} changed while it was read. Open it again.`);
    path = head[1];
    // A note may end with words like these: it goes on only if something can be left.
    const more = Number(head[4]) < Number(head[5]) || text.length > PIECE ? MORE.exec(text) : null;
    const part = text.slice(head[0].length, more?.index).split(/\r\n|\r|\n/);
    const at = Number(head[3]) - 1;
    if (lines.length > at) lines[at] += part.shift(); // a line longer than a piece goes on
    while (lines.length < at) lines.push(''); // blank lines before a cut are not told
    for (const one of part) lines.push(one);
    if (!more) return { path, hash: first[2], lines, isCut: false };
    start = Number(more[1]);
  }
  return { path, hash: first[2], lines, isCut: true };
}

export { hashOf, readWhole };
