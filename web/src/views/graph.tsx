// The graph of the vault, or of what is around one note: `#/graph`, `#/graph/NOTE?depth=2`.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Layout } from '../graph/layout';
import { type ColourBy, type GraphAnswer, group, type Group, KIND, matcher, nameOf } from '../graph/model';
import { lookOf, Picture } from '../graph/picture';
import { api, vaultName } from '../lib/api';
import { live } from '../lib/live';
import { href, navigate, type Route } from '../lib/router';
import { announce, Empty, Failure, Icon, Loading, notify, plural, useKeys, useLoad, useTitle } from '../lib/ui';

const ROWS = 200; // of the list at once; more on request
const REMEMBERED = 4; // layouts; each holds all paths
const AGAIN_MS = 1500; // before asking again, while the index is built or the vault changes

/** Where the nodes were, by vault and path: a graph that is opened again looks as it did. */
const remembered = new Map<string, Map<string, [number, number]>>();

export default function Graph({ route }: { route: Route }): JSX.Element {
  const around = route.path;
  const { query } = route;
  const depth = Math.min(5, Math.max(1, Number(query.get('depth')) || 2));
  const by: ColourBy = query.get('colour') === 'tag' ? 'tag' : 'folder';
  const asList = query.get('as') === 'list';
  const extras = { attachments: query.get('attachments') ?? '', unresolved: query.get('unresolved') ?? '' };
  const filter = query.get('filter') ?? '';
  const unlinked = query.get('unlinked') !== '0';
  useTitle(around ? `Around ${nameOf(around)}` : 'Graph');
  const loaded = useLoad(
    async (signal) => ({ around, answer: await api<GraphAnswer>('graph', { query: { ...(around && { note: around, depth }), ...extras }, signal }) }),
    [around, around ? depth : 0, extras.attachments, extras.unresolved, vaultName()],
  );
  // The previous graph stays until the new one has arrived, unless the new one cannot be shown.
  const answer = loaded.state === 'failed' && loaded.value?.around !== around ? undefined : loaded.value?.answer;
  useAgain(loaded.again, answer ? !answer.complete : false);
  const change = (changes: Record<string, string | number | null>, path = around): void => {
    const now: Record<string, string | number | null> = {};
    for (const name of ['depth', 'colour', 'as', 'attachments', 'unresolved', 'filter', 'unlinked']) now[name] = query.get(name);
    navigate(href('graph', path, { ...now, ...changes }), { replace: path === around });
  };

  if (!answer && loaded.state === 'failed') {
    return (
      <div class="graph-alone">
        <h1>{around ? `Around ${nameOf(around)}` : 'Graph'}</h1>
        <Failure error={loaded.error} retry={loaded.again} />
        {around && <p><a href={href('graph')}>Show the graph of the whole vault</a></p>}
      </div>
    );
  }
  if (!answer) return <Loading>Drawing the graph…</Loading>;
  if (!answer.nodes.path.length) {
    return (
      <Empty icon="graph" title="There is nothing to draw yet">
        <p>{answer.complete ? 'Every note in the vault becomes a point here, and every [[link]] between two notes becomes a line.' : 'The vault is being read. The graph will appear in a moment.'}</p>
      </Empty>
    );
  }
  return <Drawn {...{ answer, around, depth, by, asList, extras, filter, unlinked, change, failed: loaded.state === 'failed' ? loaded.error : null }} />;
}

/** Asks again while the index is not complete, and soon after an assistant has changed something. */
function useAgain(again: () => void, isBuilding: boolean): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    let timer = isBuilding ? setInterval(() => latest.current(), AGAIN_MS) : 0;
    const end = live.on('activityAdded', ({ entries }: { entries: { kind: string }[] }) => {
      if (isBuilding || !entries.some(({ kind }) => kind === 'change' || kind === 'undo')) return;
      clearTimeout(timer);
      timer = setTimeout(() => latest.current(), AGAIN_MS);
    });
    return () => (clearTimeout(timer), end());
  }, [isBuilding]);
}

interface Shown {
  answer: GraphAnswer;
  around: string;
  depth: number;
  by: ColourBy;
  asList: boolean;
  extras: { attachments: string; unresolved: string };
  filter: string;
  unlinked: boolean;
  failed: Error | null;
  change: (changes: Record<string, string | number | null>, path?: string) => void;
}

function Drawn(props: Shown): JSX.Element {
  const { answer, around, by, asList, filter, unlinked, change } = props;
  const [hidden, hide] = useState<ReadonlySet<string>>(new Set());
  const [find, setFind] = useState('');
  const [chosen, choose] = useState<number | null>(null);
  const [hovered, hover] = useState<number | null>(null);
  const { of, legend } = useMemo(() => group(answer, by), [answer, by]);
  useEffect(() => choose(null), [answer]);

  const visible = useMemo(() => {
    const matches = matcher(answer, filter);
    const gone = new Set(legend.filter(({ name }) => hidden.has(name)).map(({ colour }) => colour));
    return Uint8Array.from(answer.nodes.path, (_, i) =>
      i === answer.root || (!gone.has(of[i] ?? 0) && (unlinked || (answer.nodes.degree[i] ?? 0) > 0) && matches(i)) ? 1 : 0);
  }, [answer, of, legend, filter, hidden, unlinked]);
  const found = useMemo(() => {
    const text = find.trim().toLowerCase();
    if (!text) return [];
    const hits = answer.nodes.path.flatMap((path, i) => (visible[i] && nameOf(path).toLowerCase().includes(text) ? [i] : []));
    const rank = (node: number): number => (nameOf(answer.nodes.path[node] ?? '').toLowerCase().startsWith(text) ? 0 : 1);
    return hits.sort((a, b) => rank(a) - rank(b) || (answer.nodes.degree[b] ?? 0) - (answer.nodes.degree[a] ?? 0));
  }, [answer, find, visible]);
  const shownCount = useMemo(() => visible.reduce((sum, shown) => sum + shown, 0), [visible]);
  const open = (node: number): void => {
    const path = answer.nodes.path[node] ?? '';
    if (answer.nodes.kind[node] === KIND.unresolved) notify(`“${nameOf(path)}” is linked to, but not written yet.`);
    else navigate(href('note', path));
  };
  const next = (step: number): void => {
    if (!found.length) return;
    const at = chosen === null ? (step > 0 ? -1 : 0) : found.indexOf(chosen);
    const node = found[(at + step + found.length) % found.length] ?? null;
    choose(node);
    if (node !== null) announce(describe(answer, node));
  };
  useKeys({ '/': () => document.getElementById('graph-find')?.focus() });
  const told = hovered ?? chosen;

  return (
    <div class="graph">
      <h1 class="hidden-text">{around ? `Graph around ${nameOf(around)}` : 'Graph of the vault'}</h1>
      <Panel {...props} {...{ legend, hidden, hide, find, setFind, found, next, chosen }} />
      <section class="graph-stage" aria-label={around ? `Notes around ${nameOf(around)}` : 'Notes of the vault and their links'}>
        <header class="graph-head">
          <p role="status" id="graph-count">
            {plural(shownCount, 'note')}{shownCount !== answer.nodes.path.length && ` of ${answer.nodes.path.length.toLocaleString()}`}, {plural(answer.edges.length / 2, 'link')}
            {!answer.complete && '; the vault is still being read'}
          </p>
          <div class="segments" role="group" aria-label="Show as">
            <button type="button" aria-pressed={!asList} onClick={() => change({ as: null })}>Picture</button>
            <button type="button" aria-pressed={asList} onClick={() => change({ as: 'list' })}>List</button>
          </div>
        </header>
        {answer.cut && <p class="graph-cut">{answer.cut}</p>}
        {props.failed && <p class="graph-cut">{props.failed.message}</p>}
        {asList ? <List {...{ answer, visible, change }} /> : <Stage {...{ answer, of, visible, found, chosen, open, hover, label: around }} />}
        {!asList && told !== null && <Told answer={answer} node={told} around={(path) => change({}, path)} />}
        {shownCount === 0 && <p class="graph-none">No note matches this filter. <button type="button" class="link" onClick={() => (hide(new Set()), change({ filter: null, unlinked: null }))}>Show all</button></p>}
      </section>
    </div>
  );
}

const describe = ({ nodes }: GraphAnswer, node: number): string => `${nameOf(nodes.path[node] ?? '')}, ${plural(nodes.degree[node] ?? 0, 'link')}`;

interface PanelProps extends Shown {
  legend: Group[];
  hidden: ReadonlySet<string>;
  hide: (names: ReadonlySet<string>) => void;
  find: string;
  setFind: (text: string) => void;
  found: number[];
  next: (step: number) => void;
  chosen: number | null;
}

function Panel(props: PanelProps): JSX.Element {
  const { answer, around, depth, by, extras, filter, unlinked, change, legend, hidden, hide, find, setFind, found, next, chosen } = props;
  const panel = useRef<HTMLDetailsElement>(null);
  const wide = useMemo(() => matchMedia('(min-width: 760px)'), []);
  const [startsOpen] = useState(wide.matches);
  // Beside the picture it cannot be opened or closed: there it is always open.
  useEffect(() => {
    const follow = (): void => void (panel.current && (panel.current.open = wide.matches));
    wide.addEventListener('change', follow);
    return () => wide.removeEventListener('change', follow);
  }, []);
  const where = chosen === null ? 0 : found.indexOf(chosen) + 1;
  const toggle = (name: string): void => {
    const names = new Set(hidden);
    if (!names.delete(name)) names.add(name);
    hide(names);
  };
  return (
    <details class="graph-panel" ref={panel} open={startsOpen}>
      <summary><Icon name="menu" />Find, filter and colours</summary>
      <div class="graph-panel-body">
        {around && (
          <div class="graph-around">
            <p>Around <strong>{nameOf(around)}</strong></p>
            <label>Links away <select value={depth} onChange={(event) => change({ depth: event.currentTarget.value })}>
              {[1, 2, 3, 4, 5].map((step) => <option key={step} value={step}>{step}</option>)}
            </select></label>
            <a href={href('graph')}>Whole vault</a>
          </div>
        )}
        <form role="search" onSubmit={(event) => (event.preventDefault(), next(1))}>
          <label for="graph-find">Find in the graph</label>
          <input id="graph-find" type="search" autocomplete="off" spellcheck={false} value={find} placeholder="Name of a note"
            onInput={(event) => setFind(event.currentTarget.value)} onKeyDown={(event) => event.key === 'Escape' && setFind('')} />
          <div class="graph-found">
            <p class="quiet" role="status">{!find.trim() ? '' : !found.length ? 'Nothing found' : where ? `${where} of ${found.length.toLocaleString()}` : `${found.length.toLocaleString()} found`}</p>
            <button type="button" class="bare turned" aria-label="Previous one" disabled={!found.length} onClick={() => next(-1)}><Icon name="right" /></button>
            <button type="submit" class="bare" aria-label="Next one" disabled={!found.length}><Icon name="right" /></button>
          </div>
        </form>
        <div>
          <label for="graph-filter">Show only</label>
          <input id="graph-filter" type="search" autocomplete="off" spellcheck={false} value={filter} placeholder="tag:#project -draft"
            onInput={(event) => change({ filter: event.currentTarget.value })} />
        </div>
        <fieldset>
          <legend>Include</legend>
          <label class="check"><input type="checkbox" checked={unlinked} onChange={(event) => change({ unlinked: event.currentTarget.checked ? null : '0' })} />Notes without links</label>
          <label class="check"><input type="checkbox" checked={extras.unresolved === '1'} onChange={(event) => change({ unresolved: event.currentTarget.checked ? '1' : null })} />Notes not written yet</label>
          <label class="check"><input type="checkbox" checked={extras.attachments === '1'} onChange={(event) => change({ attachments: event.currentTarget.checked ? '1' : null })} />Attachments</label>
        </fieldset>
        <fieldset>
          <legend>Colour by</legend>
          <div class="segments">
            {(['folder', 'tag'] as const).map((source) => (
              <button key={source} type="button" aria-pressed={by === source} onClick={() => (hide(new Set()), change({ colour: source === 'folder' ? null : source }))}>{source === 'folder' ? 'Folder' : 'Tag'}</button>
            ))}
          </div>
          <ul class="graph-legend" aria-label="Colours: press one to hide or show it">
            {legend.map(({ colour, name, count }) => (
              <li key={name}>
                <button type="button" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)}>
                  <span class="swatch" data-colour={colour} />
                  <span class="name">{name}</span>
                  <span class="quiet">{count.toLocaleString()}</span>
                </button>
              </li>
            ))}
          </ul>
        </fieldset>
        <p class="quiet graph-keys">In the picture: arrow keys move, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> shows everything, <kbd>/</kbd> finds. {answer.totalNodes > answer.nodes.path.length && `The vault has ${plural(answer.totalNodes, 'note')}.`}</p>
      </div>
    </details>
  );
}

interface StageProps {
  answer: GraphAnswer;
  of: Uint8Array;
  visible: Uint8Array;
  found: number[];
  chosen: number | null;
  label: string;
  open: (node: number) => void;
  hover: (node: number | null) => void;
}

function Stage({ answer, of, visible, found, chosen, label, open, hover }: StageProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const layout = useRef<Layout | null>(null);
  const [state, setState] = useState<'placing' | 'placed'>('placing');
  const [error, fail] = useState<Error | null>(null);
  const handlers = useRef({ open, hover });
  handlers.current = { open, hover };
  const latest = useRef({ answer, label });
  latest.current = { answer, label };
  const scene = useMemo(() => ({
    labels: answer.nodes.path.map(nameOf),
    edges: Uint32Array.from(answer.edges),
    degree: answer.nodes.degree,
    root: answer.root,
  }), [answer]);

  useEffect(() => {
    if (!canvas.current) return;
    try {
      picture.current = new Picture(canvas.current, { open: (node) => handlers.current.open(node), hover: (node) => handlers.current.hover(node) });
    } catch (reason) {
      return fail(reason as Error);
    }
    // People who prefer reduced motion see the first shape, and then the last.
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    let isPlaced = false;
    layout.current = new Layout((places, done) => {
      if (!still || done || !isPlaced) picture.current?.place(places);
      isPlaced = true;
      if (done) keep(latest.current.label, latest.current.answer, places);
      setState(done ? 'placed' : 'placing');
    });
    const dress = (): void => canvas.current ? picture.current?.dress(lookOf(canvas.current)) : undefined;
    dress();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', dress);
    const theme = new MutationObserver(dress);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      scheme.removeEventListener('change', dress);
      theme.disconnect();
      picture.current?.dispose();
      layout.current?.dispose();
    };
  }, []);
  useEffect(() => {
    const near = recall(label, answer);
    picture.current?.show({ ...scene, colourOf: of, visible, found: new Set(found), root: scene.root });
    if (near && !near.includes(NaN)) picture.current?.place(near);
    layout.current?.start({ count: scene.labels.length, edges: scene.edges, near });
    setState('placing');
  }, [scene]);
  useEffect(() => picture.current?.show({ ...scene, colourOf: of, visible, found: new Set(found) }), [scene, of, visible, found]);
  useEffect(() => picture.current?.choose(chosen), [chosen]);

  if (error) return <Failure error={error} />;
  const what = `${label ? `Graph around ${nameOf(label)}` : 'Graph of the vault'}. Arrow keys move, plus and minus zoom, 0 shows everything. The list shows the same notes as links.`;
  return (
    <div class="graph-picture">
      <canvas ref={canvas} id="graph-canvas" tabIndex={0} role="application" aria-label={what} data-state={state} />
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => picture.current?.zoomBy(1.5)}><Icon name="plus" /></button>
        <button type="button" aria-label="Zoom out" onClick={() => picture.current?.zoomBy(1 / 1.5)}><span aria-hidden="true">−</span></button>
        <button type="button" onClick={() => picture.current?.fit()}>All</button>
      </div>
    </div>
  );
}

/** What a layout belongs to: a vault, or the surroundings of a note. */
const drawn = (around: string): string => `${vaultName()}\n${around}`;

function keep(around: string, { nodes }: GraphAnswer, places: Float32Array): void {
  const all = new Map<string, [number, number]>();
  nodes.path.forEach((path, i) => all.set(path, [places[2 * i] ?? 0, places[2 * i + 1] ?? 0]));
  remembered.delete(drawn(around));
  remembered.set(drawn(around), all);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value ?? '');
}

/** Where the nodes were, NaN for those that are new. */
function recall(around: string, { nodes }: GraphAnswer): Float32Array | null {
  const all = remembered.get(drawn(around));
  if (!all) return null;
  const near = new Float32Array(2 * nodes.path.length).fill(NaN);
  nodes.path.forEach((path, i) => near.set(all.get(path) ?? [NaN, NaN], 2 * i));
  return near;
}

/** The node under the pointer, or the one that was found: its name, and where it leads. */
function Told({ answer, node, around }: { answer: GraphAnswer; node: number; around: (path: string) => void }): JSX.Element {
  const path = answer.nodes.path[node] ?? '';
  const tags = (answer.nodes.tags[node] ?? []).slice(0, 6).map((at) => answer.tags[at] ?? '');
  const isWritten = answer.nodes.kind[node] !== KIND.unresolved;
  return (
    <div class="graph-info card">
      <p><strong>{nameOf(path)}</strong></p>
      <p class="quiet">{[isWritten ? path : 'Not written yet', plural(answer.nodes.degree[node] ?? 0, 'link'), tags.join(' ')].filter(Boolean).join(' · ')}</p>
      {isWritten && (
        <div>
          <a class="button" href={href('note', path)}>Open</a>
          <button type="button" onClick={() => around(path)}>Around this note</button>
        </div>
      )}
    </div>
  );
}

/** The same notes as links, the best linked first: for keyboards, screen readers, and people who like lists. */
function List({ answer, visible, change }: { answer: GraphAnswer; visible: Uint8Array; change: Shown['change'] }): JSX.Element {
  const [rows, more] = useState(ROWS);
  const nodes = useMemo(() => {
    const shown = answer.nodes.path.flatMap((_, i) => (visible[i] ? [i] : []));
    return shown.sort((a, b) => (answer.nodes.degree[b] ?? 0) - (answer.nodes.degree[a] ?? 0) || ((answer.nodes.path[a] ?? '') < (answer.nodes.path[b] ?? '') ? -1 : 1));
  }, [answer, visible]);
  return (
    <div class="graph-list">
      <table>
        <thead><tr><th scope="col">Note</th><th scope="col">Folder</th><th scope="col">Links</th><th scope="col"><span class="hidden-text">Around it</span></th></tr></thead>
        <tbody>
          {nodes.slice(0, rows).map((node) => {
            const path = answer.nodes.path[node] ?? '';
            const isWritten = answer.nodes.kind[node] !== KIND.unresolved;
            return (
              <tr key={path}>
                <th scope="row">{isWritten ? <a href={href('note', path)}>{nameOf(path)}</a> : <span class="quiet">{nameOf(path)} (not written yet)</span>}</th>
                <td class="quiet">{answer.folders[answer.nodes.folder[node] ?? 0] || '–'}</td>
                <td>{(answer.nodes.degree[node] ?? 0).toLocaleString()}</td>
                <td>{isWritten && <button type="button" class="link" aria-label={`Around ${nameOf(path)}`} onClick={() => change({ as: null }, path)}>Around</button>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {nodes.length > rows && <button type="button" onClick={() => more(rows + ROWS)}>Show {Math.min(ROWS, nodes.length - rows)} more of {nodes.length.toLocaleString()}</button>}
    </div>
  );
}
