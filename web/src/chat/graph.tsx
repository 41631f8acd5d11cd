// The notes around a note, within a chat: as a picture, and as a list that says the same.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { simulate } from '../graph/forces';
import { group, nameOf } from '../graph/model';
import { lookOf, Picture } from '../graph/picture';
import { plural } from '../lib/ui';
import { shownIn, textOf, type ToolResult } from './host';
import { folderOf, Note, sameVault, start, Trouble, type ViewProps, Words } from './parts';

interface Around {
  vault: string;
  /** Paths; the first is the note in the middle. */
  nodes: string[];
  edges: [number, number][];
  /** Notes that could be linked with it, by path, and why. */
  suggested: Record<string, string>;
  more: boolean;
}

function Graph({ host, input, result: first }: ViewProps): JSX.Element {
  const [result, setResult] = useState<ToolResult>(first);
  const [trouble, setTrouble] = useState('');
  const around = shownIn<Around>(result, 'graph');
  if (!around || !around.nodes.length) return <Words text={textOf(first)} />;
  const [root = ''] = around.nodes;
  const go = (path: string): void => {
    if (path === root || !host.can('serverTools')) return;
    host.call('obsidian_links', { kind: 'neighbourhood', path, ...sameVault(input) }).then((next) => {
      setTrouble('');
      setResult(next);
    }, (error: Error) => setTrouble(error.message));
  };
  const count = around.nodes.length - 1;
  const suggested = Object.keys(around.suggested).length;
  return (
    <main>
      <h1>{nameOf(root)}</h1>
      <p class="quiet">{suggested ? `${plural(suggested, 'note')} could be linked with it` : count ? `${plural(count, 'note')} around it${around.more ? ', and more that are not shown' : ''}` : 'No note is linked with it'}</p>
      <Trouble>{trouble}</Trouble>
      {count > 0 && <Drawing around={around} go={go} />}
      <details open={count <= 8}>
        <summary>As a list</summary>
        <ul class="results">
          {around.nodes.map((path) => (
            <li key={path}>
              <Note host={host} path={path} vault={around.vault} input={input}>
                {path !== root && host.can('serverTools') && <button type="button" class="small" onClick={() => go(path)} aria-label={`Around it: ${nameOf(path)}`}>Around it</button>}
              </Note>
              {around.suggested[path] && <p class="place"><span class="quiet">Not linked yet</span><span>{around.suggested[path]}</span></p>}
            </li>
          ))}
        </ul>
      </details>
    </main>
  );
}

function Drawing({ around, go }: { around: Around; go: (path: string) => void }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chosen = useRef(go);
  chosen.current = go;
  const scene = useMemo(() => {
    const { nodes, edges, suggested } = around;
    const wanted = nodes.flatMap((path, i) => (suggested[path] !== undefined ? [[0, i]] : []));
    const all = Uint32Array.from([...edges, ...wanted].flat());
    const degree = nodes.map(() => 0);
    for (const end of all) degree[end] = (degree[end] ?? 0) + 1;
    const folders = [...new Set(nodes.map(folderOf))];
    const { of } = group(
      { complete: true, folders, tags: [], nodes: { path: nodes, kind: nodes.map(() => 0), folder: nodes.map((path) => folders.indexOf(folderOf(path))), tags: nodes.map(() => []), degree }, edges: [...all], root: 0, totalNodes: nodes.length, totalEdges: edges.length, cut: '' },
      'folder',
    );
    return { labels: nodes.map(nameOf), edges: all, degree, colourOf: of, visible: new Uint8Array(nodes.length).fill(1), found: new Set<number>(), root: 0 };
  }, [around]);
  useEffect(() => {
    if (!canvas.current) return;
    const place = canvas.current;
    const picture = new Picture(place, { open: (node) => chosen.current(around.nodes[node] ?? ''), hover: () => undefined, scrolls: true });
    const dress = (): void => picture.dress(lookOf(place));
    const theme = new MutationObserver(dress);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', dress);
    dress();
    picture.show(scene);
    // At most 120 nodes: placed before the first frame.
    const { nodes, steps, simulation } = simulate(scene.labels.length, scene.edges, null);
    simulation.tick(steps);
    picture.place(Float32Array.from(nodes.flatMap(({ x = 0, y = 0 }) => [x, y])));
    return () => {
      theme.disconnect();
      scheme.removeEventListener('change', dress);
      picture.dispose();
    };
  }, [scene]);
  return <canvas ref={canvas} class="drawing" tabIndex={0} role="img" aria-label={`The notes around ${nameOf(around.nodes[0] ?? '')} as a graph; the list below has the same notes`} />;
}

start('graph', 'Looking at the links…', Graph);
