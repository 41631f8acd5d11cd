// Reads a note's text with the tool `read_note`, which returns a long note in pieces, each below a heading line.
// Without their headings and cut marks, the pieces one after another are the note.

const PIECE = 90000; // characters of a note per call
const PIECES = 12; // per note; the rest of a longer one is not read
const HEAD = /^\[(.+) \| hash ([0-9a-f]+) \| lines (\d+)-(\d+) of (\d+)\]\n/;
const MORE = /\[cut; [a-z ]+ start=(\d+)\]$/;

async function piece(bridge, args) {
  const [{ text }] = await bridge.tool('read_note', args);
  const head = HEAD.exec(text);
  if (!head) throw new Error(`${args.name} cannot be shown.`);
  return { text, head };
}

/** The hash of the note's current text. */
const hashOf = async (bridge, name) => (await piece(bridge, { name, lines: '1', max_chars: 1 })).head[2];

/** The note in lines without line ends; `isCut` when the note is longer than PIECES pieces. */
async function readWhole(bridge, name) {
  let [body, start, first, path] = ['', 0, null, name];
  const note = (isCut) => ({ path, hash: first[2], lines: body.split(/\r\n|\r|\n/), isCut });
  for (let count = 0; count < PIECES; count++) {
    const { text, head } = await piece(bridge, { name: path, start, max_chars: PIECE });
    first ??= head;
    if (head[2] !== first[2]) throw new Error(`${head[1]} changed while it was being read. Open it again.`);
    path = head[1];
    // A note may itself end with words like these: they mean a cut only when there can be more.
    const more = Number(head[4]) < Number(head[5]) || text.length > PIECE ? MORE.exec(text) : null;
    body += text.slice(head[0].length, more?.index);
    if (!more) return note(false);
    start = Number(more[1]);
  }
  return note(true);
}

export { hashOf, readWhole };
