// The notes around a note, in a chat: as a picture, and as a list with the same content.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { assignColours } from '../graph/model';
import { GraphRenderer, readPalette } from '../graph/renderer';
import { createSimulation } from '../graph/simulation';
import { pluralize } from '../lib/format';
import { folderOf, titleOf } from '../lib/paths';
import { textOf, type ToolResult, viewDataOf } from './host';
import { ErrorText, NoteHeader, startView, Text, vaultOf, type ViewProps } from './parts';

interface NeighbourhoodData {
  vault: string;
  /** Paths; the first one is the centre. */
  nodes: string[];
  edges: [number, number][];
  /** By path, notes that could be linked with the centre, and why. */
  suggested: Record<string, string>;
  more: boolean;
}

function Graph({ host, input, result: first }: ViewProps): JSX.Element {
  const [result, setResult] = useState<ToolResult>(first);
  const [error, setError] = useState('');
  const data = viewDataOf<NeighbourhoodData>(result, 'graph');
  if (!data || !data.nodes.length) return <Text text={textOf(first)} />;
  const [centre = ''] = data.nodes;
  const goTo = (path: string): void => {
    if (path === centre || !host.can('serverTools')) return;
    host.callTool('obsidian_links', { kind: 'neighbourhood', path, ...vaultOf(input) }).then((next) => {
      setError('');
      setResult(next);
    }, (reason: Error) => setError(reason.message));
  };
  const count = data.nodes.length - 1;
  const suggested = Object.keys(data.suggested).length;
  return (
    <main>
      <h1>{titleOf(centre)}</h1>
      <p class="quiet">{suggested ? `${pluralize(suggested, 'note')} could be linked with it` : count ? `${pluralize(count, 'note')} around it${data.more ? ', and more that are not shown' : ''}` : 'No linked notes'}</p>
      <ErrorText>{error}</ErrorText>
      {count > 0 && <GraphPicture data={data} onOpen={goTo} />}
      <details open={count <= 8}>
        <summary>Show as a list</summary>
        <ul class="results">
          {data.nodes.map((path) => (
            <li key={path}>
              <NoteHeader host={host} path={path} vault={data.vault} input={input}>
                {path !== centre && host.can('serverTools') && <button type="button" class="small" onClick={() => goTo(path)} aria-label={`Around it: ${titleOf(path)}`}>Around it</button>}
              </NoteHeader>
              {data.suggested[path] && <p class="place"><span class="quiet">Not linked yet</span><span>{data.suggested[path]}</span></p>}
            </li>
          ))}
        </ul>
      </details>
    </main>
  );
}

function GraphPicture({ data, onOpen }: { data: NeighbourhoodData; onOpen: (path: string) => void }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latestOnOpen = useRef(onOpen);
  latestOnOpen.current = onOpen;
  const scene = useMemo(() => {
    const { nodes, edges, suggested } = data;
    const suggestedEdges = nodes.flatMap((path, i) => (suggested[path] !== undefined ? [[0, i]] : []));
    const allEdges = Uint32Array.from([...edges, ...suggestedEdges].flat());
    const degree = nodes.map(() => 0);
    for (const end of allEdges) degree[end] = (degree[end] ?? 0) + 1;
    const folders = [...new Set(nodes.map(folderOf))];
    const { colours } = assignColours(
      { complete: true, folders, tags: [], nodes: { path: nodes, kind: nodes.map(() => 0), folder: nodes.map((path) => folders.indexOf(folderOf(path))), tags: nodes.map(() => []), degree }, edges: [...allEdges], root: 0, totalNodes: nodes.length, totalEdges: edges.length, cut: '' },
      'folder',
    );
    return { labels: nodes.map(titleOf), edges: allEdges, degree, colourOf: colours, visible: new Uint8Array(nodes.length).fill(1), found: new Set<number>(), root: 0 };
  }, [data]);
  useEffect(() => {
    if (!canvas.current) return;
    const element = canvas.current;
    const renderer = new GraphRenderer(element, { open: (node) => latestOnOpen.current(data.nodes[node] ?? ''), hover: () => undefined, isInScrollingPage: true });
    const updatePalette = (): void => renderer.setPalette(readPalette(element));
    const theme = new MutationObserver(updatePalette);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', updatePalette);
    updatePalette();
    renderer.setScene(scene);
    // They are at most 120 nodes, so they can be laid out before the first frame.
    const { nodes, steps, simulation } = createSimulation(scene.labels.length, scene.edges, null);
    simulation.tick(steps);
    renderer.setPositions(Float32Array.from(nodes.flatMap(({ x = 0, y = 0 }) => [x, y])));
    return () => {
      theme.disconnect();
      scheme.removeEventListener('change', updatePalette);
      renderer.dispose();
    };
  }, [scene]);
  return <canvas ref={canvas} class="drawing" tabIndex={0} role="img" aria-label={`The notes around ${titleOf(data.nodes[0] ?? '')} as a graph; the list below has the same notes`} />;
}

startView('graph', 'Looking at the links…', Graph);
