// What a graph shows, worked out from what the server sends: groups with their colours, and which nodes a filter leaves.
// Pure: no page, no network.

export interface GraphAnswer {
  complete: boolean;
  folders: string[];
  tags: string[];
  nodes: { path: string[]; kind: number[]; folder: number[]; tags: number[][]; degree: number[] };
  edges: number[];
  root: number | null;
  totalNodes: number;
  totalEdges: number;
  cut: string;
}

export const KIND = { note: 0, page: 1, attachment: 2, unresolved: 3 } as const;

/** Groups that have a colour of their own; further ones share one, because more hues cannot be told apart. */
export const COLOURS = 8;
export const OTHER = COLOURS;
export const UNRESOLVED = COLOURS + 1;
export const ATTACHMENT = COLOURS + 2;
/** How many colours a picture needs. */
export const GROUPS = COLOURS + 3;

export type ColourBy = 'folder' | 'tag';

export interface Group {
  colour: number;
  name: string;
  count: number;
}

/** The colour of each node, and what the colours mean, in the order of the legend. */
export function group(answer: GraphAnswer, by: ColourBy): { of: Uint8Array; legend: Group[] } {
  const { kind } = answer.nodes;
  const keys = by === 'folder' ? folderKeys(answer) : tagKeys(answer);
  const counts = new Map<string, number>();
  keys.forEach((key, i) => {
    if ((kind[i] ?? 0) < KIND.attachment && key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  });
  const names = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, COLOURS).map(([name]) => name);
  const colourOf = new Map(names.map((name, i) => [name, i]));
  const of = new Uint8Array(keys.length);
  const sizes = new Array<number>(GROUPS).fill(0);
  keys.forEach((key, i) => {
    const own = key === null ? undefined : colourOf.get(key);
    const colour = kind[i] === KIND.unresolved ? UNRESOLVED : kind[i] === KIND.attachment ? ATTACHMENT : (own ?? OTHER);
    of[i] = colour;
    sizes[colour] = (sizes[colour] ?? 0) + 1;
  });
  const other = by === 'tag' ? (counts.size > COLOURS ? 'Other or no tag' : 'No tag') : 'Other folders';
  const title = (colour: number): string =>
    colour < COLOURS ? (names[colour] ?? '') : colour === OTHER ? other : colour === UNRESOLVED ? 'Not written yet' : 'Attachments';
  const legend = sizes.map((count, colour) => ({ colour, name: title(colour), count })).filter(({ count }) => count > 0);
  return { of, legend };
}

/** The folder that a node is coloured by: as deep as it takes to tell two groups apart. */
function folderKeys({ folders, nodes }: GraphAnswer): (string | null)[] {
  const cut = (depth: number): string[] => folders.map((folder) => folder.split('/').slice(0, depth).join('/') || 'Top of the vault');
  let cuts = cut(1);
  for (let depth = 2; depth < 6 && new Set(nodes.folder.map((at) => cuts[at])).size < 2; depth++) cuts = cut(depth);
  return nodes.folder.map((at) => cuts[at] ?? null);
}

/** The tag that a node is coloured by: of its own, the one that most notes have. */
function tagKeys({ tags, nodes }: GraphAnswer): (string | null)[] {
  const top = tags.map((tag) => tag.split('/')[0] ?? tag);
  const counts = new Map<string, number>();
  for (const own of nodes.tags) for (const tag of new Set(own.map((at) => top[at] ?? ''))) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return nodes.tags.map((own) => {
    let best: string | null = null;
    for (const at of own) {
      const tag = top[at] ?? '';
      if (best === null || (counts.get(tag) ?? 0) > (counts.get(best) ?? 0)) best = tag;
    }
    return best;
  });
}

/** The words of a filter: `tag:#x` and `path:x` ask of tags and paths, `-` before a word means without it. */
export function matcher(answer: GraphAnswer, text: string): (node: number) => boolean {
  const lower = answer.tags.map((tag) => tag.toLowerCase());
  const paths = answer.nodes.path;
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const without = word.startsWith('-') && word.length > 1;
    const bare = without ? word.slice(1) : word;
    let test: (node: number) => boolean;
    if (bare.startsWith('tag:') || bare.startsWith('#')) {
      const wanted = `#${bare.replace(/^tag:/, '').replace(/^#/, '')}`;
      const has = lower.map((tag) => tag === wanted || tag.startsWith(`${wanted}/`));
      test = (node) => (answer.nodes.tags[node] ?? []).some((at) => has[at]);
    } else {
      const wanted = bare.replace(/^path:/, '');
      test = (node) => (paths[node] ?? '').toLowerCase().includes(wanted);
    }
    return without ? (node: number) => !test(node) : test;
  });
  return (node) => tests.every((test) => test(node));
}

/** The name under which people know a note: without its folder and `.md`. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/i, '');
