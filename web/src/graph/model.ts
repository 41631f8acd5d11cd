// What a graph shows, computed from what the server sends: the colours of nodes, and which of them match a filter.
// Pure: no page, no network.

export interface GraphData {
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

/** How many groups get a colour of their own. The others share one, because more hues could not be told apart. */
export const COLOURS = 8;
export const OTHER = COLOURS;
export const UNRESOLVED = COLOURS + 1;
export const ATTACHMENT = COLOURS + 2;
/** All colours, with those for other groups, unresolved links and attachments. */
export const COLOUR_COUNT = COLOURS + 3;

export type ColourBy = 'folder' | 'tag';

export interface Group {
  colour: number;
  name: string;
  count: number;
}

/** The colour of each node, and the legend that explains the colours. */
export function assignColours(data: GraphData, by: ColourBy): { colours: Uint8Array; legend: Group[] } {
  const { kind } = data.nodes;
  const keys = by === 'folder' ? findFolderKeys(data) : findTagKeys(data);
  const counts = new Map<string, number>();
  keys.forEach((key, i) => {
    if ((kind[i] ?? 0) < KIND.attachment && key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  });
  const names = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, COLOURS).map(([name]) => name);
  const colourByName = new Map(names.map((name, i) => [name, i]));
  const colours = new Uint8Array(keys.length);
  const sizes = new Array<number>(COLOUR_COUNT).fill(0);
  keys.forEach((key, i) => {
    const own = key === null ? undefined : colourByName.get(key);
    const colour = kind[i] === KIND.unresolved ? UNRESOLVED : kind[i] === KIND.attachment ? ATTACHMENT : (own ?? OTHER);
    colours[i] = colour;
    sizes[colour] = (sizes[colour] ?? 0) + 1;
  });
  const otherTitle = by === 'tag' ? (counts.size > COLOURS ? 'Other or no tag' : 'No tag') : 'Other folders';
  const titleOfColour = (colour: number): string =>
    colour < COLOURS ? (names[colour] ?? '') : colour === OTHER ? otherTitle : colour === UNRESOLVED ? 'Unresolved' : 'Attachments';
  const legend = sizes.map((count, colour) => ({ colour, name: titleOfColour(colour), count })).filter(({ count }) => count > 0);
  return { colours, legend };
}

/** The folder by which each node is coloured: as deep as needed to get two groups. */
function findFolderKeys({ folders, nodes }: GraphData): (string | null)[] {
  const cutTo = (depth: number): string[] => folders.map((folder) => folder.split('/').slice(0, depth).join('/') || 'Top of the vault');
  let names = cutTo(1);
  for (let depth = 2; depth < 6 && new Set(nodes.folder.map((at) => names[at])).size < 2; depth++) names = cutTo(depth);
  return nodes.folder.map((at) => names[at] ?? null);
}

/** The tag by which each node is coloured: of its tags, the one that most notes have. */
function findTagKeys({ tags, nodes }: GraphData): (string | null)[] {
  const topLevel = tags.map((tag) => tag.split('/')[0] ?? tag);
  const counts = new Map<string, number>();
  for (const own of nodes.tags) for (const tag of new Set(own.map((at) => topLevel[at] ?? ''))) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return nodes.tags.map((own) => {
    let best: string | null = null;
    for (const at of own) {
      const tag = topLevel[at] ?? '';
      if (best === null || (counts.get(tag) ?? 0) > (counts.get(best) ?? 0)) best = tag;
    }
    return best;
  });
}

/** Whether a node matches a filter: words of its path, `path:x` or `tag:#x`, each with `-` before it for what it must not have. */
export function makeFilter(data: GraphData, text: string): (node: number) => boolean {
  const lower = data.tags.map((tag) => tag.toLowerCase());
  const paths = data.nodes.path;
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const isNegated = word.startsWith('-') && word.length > 1;
    const bare = isNegated ? word.slice(1) : word;
    let test: (node: number) => boolean;
    if (bare.startsWith('tag:') || bare.startsWith('#')) {
      const wanted = `#${bare.replace(/^tag:/, '').replace(/^#/, '')}`;
      const has = lower.map((tag) => tag === wanted || tag.startsWith(`${wanted}/`));
      test = (node) => (data.nodes.tags[node] ?? []).some((at) => has[at]);
    } else {
      const wanted = bare.replace(/^path:/, '');
      test = (node) => (paths[node] ?? '').toLowerCase().includes(wanted);
    }
    return isNegated ? (node: number) => !test(node) : test;
  });
  return (node) => tests.every((test) => test(node));
}
