// Places the notes of a graph: linked ones near each other, the rest apart. It runs beside the page, which stays quick.
//
// In:  { run, count, edges, near }   near: places to begin with (NaN: none yet), so that a refreshed graph keeps its shape
// Out: { run, places, done }         places: x, y of each node

import { forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from 'd3-force';

export interface LayoutTask {
  run: number;
  count: number;
  edges: Uint32Array;
  near: Float32Array | null;
}

export interface LayoutResult {
  run: number;
  places: Float32Array;
  done: boolean;
}

const STEPS = 140; // after so many the picture hardly changes any more
const STEPS_FROM_NEAR = 40; // a graph that was placed before only has to make room for what is new
const SHOW_MS = 60; // between two results: often enough to look like motion, seldom enough to leave time to draw

interface Scope {
  onmessage: ((event: MessageEvent<LayoutTask>) => void) | null;
  postMessage(result: LayoutResult, transfer: Transferable[]): void;
}

const scope = self as unknown as Scope;
let current = 0;

scope.onmessage = ({ data }) => {
  current = data.run;
  const nodes: SimulationNodeDatum[] = Array.from({ length: data.count }, () => ({}));
  const { near } = data;
  let known = 0;
  if (near)
    nodes.forEach((node, i) => {
      const [x, y] = [near[2 * i], near[2 * i + 1]];
      if (x === undefined || y === undefined || Number.isNaN(x) || Number.isNaN(y)) return;
      node.x = x;
      node.y = y;
      known++;
    });
  const links = [];
  for (let i = 0; i + 1 < data.edges.length; i += 2) links.push({ source: data.edges[i] ?? 0, target: data.edges[i + 1] ?? 0 });
  const steps = known * 2 > data.count ? STEPS_FROM_NEAR : STEPS;
  const simulation = forceSimulation(nodes)
    .force('apart', forceManyBody().strength(-40).theta(1.2))
    .force('link', forceLink(links).distance(34))
    .force('x', forceX().strength(0.045))
    .force('y', forceY().strength(0.045))
    .alpha(steps === STEPS ? 1 : 0.3)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  let [left, shown] = [steps, 0];
  const step = (): void => {
    if (current !== data.run) return; // another graph is wanted by now
    simulation.tick();
    left--;
    if (left === 0 || performance.now() - shown > SHOW_MS) {
      shown = performance.now();
      const places = new Float32Array(2 * data.count);
      nodes.forEach((node, i) => {
        places[2 * i] = node.x ?? 0;
        places[2 * i + 1] = node.y ?? 0;
      });
      scope.postMessage({ run: data.run, places, done: left === 0 }, [places.buffer]);
    }
    if (left > 0) setTimeout(step); // lets a newer task in
  };
  step();
};
