// The graph of the vault, or of the notes around one: `#/graph`, `#/graph/NOTE?depth=2`.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Layout } from '../graph/layout';
import { assignColours, type ColourBy, type GraphData, type Group, KIND, makeFilter } from '../graph/model';
import { GraphRenderer, readPalette } from '../graph/renderer';
import { api, getVaultName } from '../lib/api';
import { pluralize } from '../lib/format';
import { useLoad, useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { useKeys } from '../lib/keys';
import { live } from '../lib/live';
import { prefersReducedMotion } from '../lib/motion';
import { announce, notify } from '../lib/notices';
import { titleOf } from '../lib/paths';
import { href, navigate, type Route } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';

const PAGE_SIZE = 200; // rows of the list at once
const MAX_LAYOUTS = 4; // remembered; each contains all paths
const MAX_TAGS = 6; // shown for a node
const REFRESH_MS = 1500; // before the next request, while the index is being built or the vault changes

/** The positions of nodes by their paths, for each graph: when it is opened again, it looks the same. */
const layouts = new Map<string, Map<string, [number, number]>>();

export default function Graph({ route }: { route: Route }): JSX.Element {
  const centre = route.path;
  const { query } = route;
  const depth = Math.min(5, Math.max(1, Number(query.get('depth')) || 2));
  const by: ColourBy = query.get('colour') === 'tag' ? 'tag' : 'folder';
  const asList = query.get('as') === 'list';
  const extras = { attachments: query.get('attachments') ?? '', unresolved: query.get('unresolved') ?? '' };
  const filter = query.get('filter') ?? '';
  const unlinked = query.get('unlinked') !== '0';
  useTitle(centre ? `Around ${titleOf(centre)}` : 'Graph');
  const loaded = useLoad(
    async (signal) => ({ centre, data: await api<GraphData>('graph', { query: { ...(centre && { note: centre, depth }), ...extras }, signal }) }),
    [centre, centre ? depth : 0, extras.attachments, extras.unresolved, getVaultName()],
  );
  // The previous graph stays until the new one has arrived, unless the new one cannot be shown.
  const data = loaded.state === 'failed' && loaded.value?.centre !== centre ? undefined : loaded.value?.data;
  useRefresh(loaded.reload, data ? !data.complete : false);
  const change = (changes: Record<string, string | number | null>, path = centre): void => {
    const current: Record<string, string | number | null> = {};
    for (const name of ['depth', 'colour', 'as', 'attachments', 'unresolved', 'filter', 'unlinked']) current[name] = query.get(name);
    navigate(href('graph', path, { ...current, ...changes }), { replace: path === centre });
  };

  if (!data && loaded.state === 'failed') {
    return (
      <div class="graph-alone">
        <h1>{centre ? `Around ${titleOf(centre)}` : 'Graph'}</h1>
        <Failure error={loaded.error} retry={loaded.reload} />
        {centre && <p><a href={href('graph')}>Show the graph of the whole vault</a></p>}
      </div>
    );
  }
  if (!data) return <Loading>Drawing the graph…</Loading>;
  if (!data.nodes.path.length) {
    return (
      <EmptyState icon="graph" title="There is nothing to draw yet">
        <p>{data.complete ? 'Every note in the vault is shown as a point, and every [[link]] between two notes as a line.' : 'The vault is being read. The graph will appear in a moment.'}</p>
      </EmptyState>
    );
  }
  return <GraphPane {...{ data, centre, depth, by, asList, extras, filter, unlinked, change, error: loaded.state === 'failed' ? loaded.error : null }} />;
}

/** Reloads while the index is being built, and soon after an assistant has changed something. */
function useRefresh(reload: () => void, isBuilding: boolean): void {
  const latestReload = useRef(reload);
  latestReload.current = reload;
  useEffect(() => {
    let timer = isBuilding ? setInterval(() => latestReload.current(), REFRESH_MS) : 0;
    const unsubscribe = live.on('activityAdded', ({ entries }: { entries: { kind: string }[] }) => {
      if (isBuilding || !entries.some(({ kind }) => kind === 'change' || kind === 'undo')) return;
      clearTimeout(timer);
      timer = setTimeout(() => latestReload.current(), REFRESH_MS);
    });
    return () => (clearTimeout(timer), unsubscribe());
  }, [isBuilding]);
}

interface GraphPaneProps {
  data: GraphData;
  centre: string;
  depth: number;
  by: ColourBy;
  asList: boolean;
  extras: { attachments: string; unresolved: string };
  filter: string;
  unlinked: boolean;
  error: Error | null;
  change: (changes: Record<string, string | number | null>, path?: string) => void;
}

function GraphPane(props: GraphPaneProps): JSX.Element {
  const { data, centre, by, asList, filter, unlinked, change } = props;
  const [hiddenGroups, setHiddenGroups] = useState<ReadonlySet<string>>(new Set());
  const [query, setQuery] = useState('');
  const [selected, setSelected] = useState<number | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const { colours, legend } = useMemo(() => assignColours(data, by), [data, by]);
  useEffect(() => setSelected(null), [data]);

  const visible = useMemo(() => {
    const matches = makeFilter(data, filter);
    const hiddenColours = new Set(legend.filter(({ name }) => hiddenGroups.has(name)).map(({ colour }) => colour));
    return Uint8Array.from(data.nodes.path, (_, i) =>
      i === data.root || (!hiddenColours.has(colours[i] ?? 0) && (unlinked || (data.nodes.degree[i] ?? 0) > 0) && matches(i)) ? 1 : 0);
  }, [data, colours, legend, filter, hiddenGroups, unlinked]);
  const found = useMemo(() => {
    const text = query.trim().toLowerCase();
    if (!text) return [];
    const hits = data.nodes.path.flatMap((path, i) => (visible[i] && titleOf(path).toLowerCase().includes(text) ? [i] : []));
    const rank = (node: number): number => (titleOf(data.nodes.path[node] ?? '').toLowerCase().startsWith(text) ? 0 : 1);
    return hits.sort((a, b) => rank(a) - rank(b) || (data.nodes.degree[b] ?? 0) - (data.nodes.degree[a] ?? 0));
  }, [data, query, visible]);
  const visibleCount = useMemo(() => visible.reduce((sum, isVisible) => sum + isVisible, 0), [visible]);
  const open = (node: number): void => {
    const path = data.nodes.path[node] ?? '';
    if (data.nodes.kind[node] === KIND.unresolved) notify(`“${titleOf(path)}” does not exist yet.`);
    else navigate(href('note', path));
  };
  const goToNext = (step: number): void => {
    if (!found.length) return;
    const at = selected === null ? (step > 0 ? -1 : 0) : found.indexOf(selected);
    const node = found[(at + step + found.length) % found.length] ?? null;
    setSelected(node);
    if (node !== null) announce(describeNode(data, node));
  };
  useKeys({ '/': () => document.getElementById('graph-find')?.focus() });
  const described = hovered ?? selected;

  return (
    <div class="graph">
      <h1 class="hidden-text">{centre ? `Graph around ${titleOf(centre)}` : 'Graph of the vault'}</h1>
      <ControlPanel {...props} {...{ legend, hiddenGroups, setHiddenGroups, query, setQuery, found, goToNext, selected }} />
      <section class="graph-stage" aria-label={centre ? `Notes around ${titleOf(centre)}` : 'Notes of the vault and their links'}>
        <header class="graph-head">
          <p role="status" id="graph-count">
            {pluralize(visibleCount, 'note')}{visibleCount !== data.nodes.path.length && ` of ${data.nodes.path.length.toLocaleString()}`}, {pluralize(data.edges.length / 2, 'link')}
            {!data.complete && '; the vault is still being read'}
          </p>
          <div class="segments" role="group" aria-label="Show as">
            <button type="button" aria-pressed={!asList} onClick={() => change({ as: null })}>Picture</button>
            <button type="button" aria-pressed={asList} onClick={() => change({ as: 'list' })}>List</button>
          </div>
        </header>
        {data.cut && <p class="graph-cut">{data.cut}</p>}
        {props.error && <p class="graph-cut">{props.error.message}</p>}
        {asList ? <NodeList {...{ data, visible, change }} /> : <GraphCanvas {...{ data, colours, visible, found, selected, centre, onOpen: open, onHover: setHovered }} />}
        {!asList && described !== null && <NodeCard data={data} node={described} onCentre={(path) => change({}, path)} />}
        {visibleCount === 0 && <p class="graph-none">No note matches this filter. <button type="button" class="link" onClick={() => (setHiddenGroups(new Set()), change({ filter: null, unlinked: null }))}>Show all</button></p>}
      </section>
    </div>
  );
}

const describeNode = ({ nodes }: GraphData, node: number): string => `${titleOf(nodes.path[node] ?? '')}, ${pluralize(nodes.degree[node] ?? 0, 'link')}`;

interface ControlPanelProps extends GraphPaneProps {
  legend: Group[];
  hiddenGroups: ReadonlySet<string>;
  setHiddenGroups: (names: ReadonlySet<string>) => void;
  query: string;
  setQuery: (text: string) => void;
  found: number[];
  goToNext: (step: number) => void;
  selected: number | null;
}

function ControlPanel(props: ControlPanelProps): JSX.Element {
  const { data, centre, depth, by, extras, filter, unlinked, change, legend, hiddenGroups, setHiddenGroups, query, setQuery, found, goToNext, selected } = props;
  const panel = useRef<HTMLDetailsElement>(null);
  const wideScreen = useMemo(() => matchMedia('(min-width: 760px)'), []);
  const [startsOpen] = useState(wideScreen.matches);
  // On a wide screen it is beside the picture, and always open.
  useEffect(() => {
    const handleChange = (): void => void (panel.current && (panel.current.open = wideScreen.matches));
    wideScreen.addEventListener('change', handleChange);
    return () => wideScreen.removeEventListener('change', handleChange);
  }, []);
  const position = selected === null ? 0 : found.indexOf(selected) + 1;
  const toggle = (name: string): void => {
    const names = new Set(hiddenGroups);
    if (!names.delete(name)) names.add(name);
    setHiddenGroups(names);
  };
  return (
    <details class="graph-panel" ref={panel} open={startsOpen}>
      <summary><Icon name="menu" />Find, filter and colours</summary>
      <div class="graph-panel-body">
        {centre && (
          <div class="graph-around">
            <p>Around <strong>{titleOf(centre)}</strong></p>
            <label>Links away <select value={depth} onChange={(event) => change({ depth: event.currentTarget.value })}>
              {[1, 2, 3, 4, 5].map((step) => <option key={step} value={step}>{step}</option>)}
            </select></label>
            <a href={href('graph')}>Whole vault</a>
          </div>
        )}
        <form role="search" onSubmit={(event) => (event.preventDefault(), goToNext(1))}>
          <label for="graph-find">Find in the graph</label>
          <input id="graph-find" type="search" autocomplete="off" spellcheck={false} value={query} placeholder="Name of a note"
            onInput={(event) => setQuery(event.currentTarget.value)} onKeyDown={(event) => event.key === 'Escape' && setQuery('')} />
          <div class="graph-found">
            <p class="quiet" role="status">{!query.trim() ? '' : !found.length ? 'Nothing found' : position ? `${position} of ${found.length.toLocaleString()}` : `${found.length.toLocaleString()} found`}</p>
            <button type="button" class="bare turned" aria-label="Previous match" disabled={!found.length} onClick={() => goToNext(-1)}><Icon name="right" /></button>
            <button type="submit" class="bare" aria-label="Next match" disabled={!found.length}><Icon name="right" /></button>
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
          <label class="check"><input type="checkbox" checked={extras.unresolved === '1'} onChange={(event) => change({ unresolved: event.currentTarget.checked ? '1' : null })} />Unresolved links</label>
          <label class="check"><input type="checkbox" checked={extras.attachments === '1'} onChange={(event) => change({ attachments: event.currentTarget.checked ? '1' : null })} />Attachments</label>
        </fieldset>
        <fieldset>
          <legend>Colour by</legend>
          <div class="segments">
            {(['folder', 'tag'] as const).map((source) => (
              <button key={source} type="button" aria-pressed={by === source} onClick={() => (setHiddenGroups(new Set()), change({ colour: source === 'folder' ? null : source }))}>{source === 'folder' ? 'Folder' : 'Tag'}</button>
            ))}
          </div>
          <ul class="graph-legend" aria-label="Colours: press one to hide or show it">
            {legend.map(({ colour, name, count }) => (
              <li key={name}>
                <button type="button" title={name} aria-pressed={!hiddenGroups.has(name)} onClick={() => toggle(name)}>
                  <span class="swatch" data-colour={colour} />
                  <span class="name">{name}</span>
                  <span class="quiet">{count.toLocaleString()}</span>
                </button>
              </li>
            ))}
          </ul>
        </fieldset>
        <p class="quiet graph-keys">In the picture: arrow keys move, <kbd>+</kbd> <kbd>−</kbd> zoom, <kbd>0</kbd> shows everything, <kbd>/</kbd> finds. {data.totalNodes > data.nodes.path.length && `The vault has ${pluralize(data.totalNodes, 'note')}.`}</p>
      </div>
    </details>
  );
}

interface GraphCanvasProps {
  data: GraphData;
  colours: Uint8Array;
  visible: Uint8Array;
  found: number[];
  selected: number | null;
  centre: string;
  onOpen: (node: number) => void;
  onHover: (node: number | null) => void;
}

function GraphCanvas({ data, colours, visible, found, selected, centre, onOpen, onHover }: GraphCanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<GraphRenderer | null>(null);
  const layout = useRef<Layout | null>(null);
  const [state, setState] = useState<'placing' | 'placed'>('placing');
  const [error, setError] = useState<Error | null>(null);
  const handlers = useRef({ onOpen, onHover });
  handlers.current = { onOpen, onHover };
  const latest = useRef({ data, centre });
  latest.current = { data, centre };
  const scene = useMemo(() => ({
    labels: data.nodes.path.map(titleOf),
    edges: Uint32Array.from(data.edges),
    degree: data.nodes.degree,
    root: data.root,
  }), [data]);

  useEffect(() => {
    if (!canvas.current) return;
    try {
      renderer.current = new GraphRenderer(canvas.current, { open: (node) => handlers.current.onOpen(node), hover: (node) => handlers.current.onHover(node) });
    } catch (reason) {
      return setError(reason as Error);
    }
    // People who prefer reduced motion see only the first and the last layout.
    let hasPositions = false;
    layout.current = new Layout((positions, isDone) => {
      if (!prefersReducedMotion() || isDone || !hasPositions) renderer.current?.setPositions(positions);
      hasPositions = true;
      if (isDone) rememberLayout(latest.current.centre, latest.current.data, positions);
      setState(isDone ? 'placed' : 'placing');
    });
    const updatePalette = (): void => canvas.current ? renderer.current?.setPalette(readPalette(canvas.current)) : undefined;
    updatePalette();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', updatePalette);
    const theme = new MutationObserver(updatePalette);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      scheme.removeEventListener('change', updatePalette);
      theme.disconnect();
      renderer.current?.dispose();
      layout.current?.dispose();
    };
  }, []);
  useEffect(() => {
    const initial = recallLayout(centre, data);
    renderer.current?.setScene({ ...scene, colourOf: colours, visible, found: new Set(found), root: scene.root });
    if (initial && !initial.includes(NaN)) renderer.current?.setPositions(initial);
    layout.current?.start({ count: scene.labels.length, edges: scene.edges, initial });
    setState('placing');
  }, [scene]);
  useEffect(() => renderer.current?.setScene({ ...scene, colourOf: colours, visible, found: new Set(found) }), [scene, colours, visible, found]);
  useEffect(() => renderer.current?.select(selected), [selected]);

  if (error) return <Failure error={error} />;
  const label = `${centre ? `Graph around ${titleOf(centre)}` : 'Graph of the vault'}. Arrow keys move, plus and minus zoom, 0 shows everything. The list shows the same notes as links.`;
  return (
    <div class="graph-picture">
      <canvas ref={canvas} id="graph-canvas" tabIndex={0} role="application" aria-label={label} data-state={state} />
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" onClick={() => renderer.current?.zoomBy(1.5)}><Icon name="plus" /></button>
        <button type="button" aria-label="Zoom out" onClick={() => renderer.current?.zoomBy(1 / 1.5)}><span aria-hidden="true">−</span></button>
        <button type="button" onClick={() => renderer.current?.fit()}>All</button>
      </div>
    </div>
  );
}

/** Which graph a layout belongs to: that of the vault, or that around a note. */
const layoutKeyOf = (centre: string): string => `${getVaultName()}\n${centre}`;

function rememberLayout(centre: string, { nodes }: GraphData, positions: Float32Array): void {
  const byPath = new Map<string, [number, number]>();
  nodes.path.forEach((path, i) => byPath.set(path, [positions[2 * i] ?? 0, positions[2 * i + 1] ?? 0]));
  layouts.delete(layoutKeyOf(centre));
  layouts.set(layoutKeyOf(centre), byPath);
  if (layouts.size > MAX_LAYOUTS) layouts.delete(layouts.keys().next().value ?? '');
}

/** The last positions of the nodes, NaN for those that are new; null if the graph was never laid out. */
function recallLayout(centre: string, { nodes }: GraphData): Float32Array | null {
  const byPath = layouts.get(layoutKeyOf(centre));
  if (!byPath) return null;
  const positions = new Float32Array(2 * nodes.path.length).fill(NaN);
  nodes.path.forEach((path, i) => positions.set(byPath.get(path) ?? [NaN, NaN], 2 * i));
  return positions;
}

/** The hovered or selected node: its name, and links to it. */
function NodeCard({ data, node, onCentre }: { data: GraphData; node: number; onCentre: (path: string) => void }): JSX.Element {
  const path = data.nodes.path[node] ?? '';
  const tags = (data.nodes.tags[node] ?? []).slice(0, MAX_TAGS).map((at) => data.tags[at] ?? '');
  const isWritten = data.nodes.kind[node] !== KIND.unresolved;
  return (
    <div class="graph-info card">
      <p><strong>{titleOf(path)}</strong></p>
      <p class="quiet">{[isWritten ? path : 'Unresolved', pluralize(data.nodes.degree[node] ?? 0, 'link'), tags.join(' ')].filter(Boolean).join(' · ')}</p>
      {isWritten && (
        <div>
          <a class="button" href={href('note', path)}>Open</a>
          <button type="button" onClick={() => onCentre(path)}>Around this note</button>
        </div>
      )}
    </div>
  );
}

/** The same notes as links, the most linked first: for keyboards, screen readers, and people who like lists. */
function NodeList({ data, visible, change }: { data: GraphData; visible: Uint8Array; change: GraphPaneProps['change'] }): JSX.Element {
  const [rowCount, setRowCount] = useState(PAGE_SIZE);
  const nodes = useMemo(() => {
    const visibleNodes = data.nodes.path.flatMap((_, i) => (visible[i] ? [i] : []));
    return visibleNodes.sort((a, b) => (data.nodes.degree[b] ?? 0) - (data.nodes.degree[a] ?? 0) || ((data.nodes.path[a] ?? '') < (data.nodes.path[b] ?? '') ? -1 : 1));
  }, [data, visible]);
  return (
    <div class="graph-list">
      <table>
        <thead><tr><th scope="col">Note</th><th scope="col">Folder</th><th scope="col">Links</th><th scope="col"><span class="hidden-text">Around it</span></th></tr></thead>
        <tbody>
          {nodes.slice(0, rowCount).map((node) => {
            const path = data.nodes.path[node] ?? '';
            const isWritten = data.nodes.kind[node] !== KIND.unresolved;
            return (
              <tr key={path}>
                <th scope="row">{isWritten ? <a href={href('note', path)}>{titleOf(path)}</a> : <span class="quiet">{titleOf(path)} (unresolved)</span>}</th>
                <td class="quiet">{data.folders[data.nodes.folder[node] ?? 0] || '–'}</td>
                <td>{(data.nodes.degree[node] ?? 0).toLocaleString()}</td>
                <td>{isWritten && <button type="button" class="link" aria-label={`Around ${titleOf(path)}`} onClick={() => change({ as: null }, path)}>Around</button>}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {nodes.length > rowCount && <button type="button" onClick={() => setRowCount(rowCount + PAGE_SIZE)}>Show {Math.min(PAGE_SIZE, nodes.length - rowCount)} more of {nodes.length.toLocaleString()}</button>}
    </div>
  );
}
