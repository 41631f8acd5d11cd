// The force simulation that lays out a graph: linked nodes close to each other, the rest apart.

import { forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationNodeDatum } from 'd3-force';

const STEPS = 140; // after these, the picture hardly changes any more
const UPDATE_STEPS = 40; // a graph that was laid out before only has to make room for new nodes

interface GraphSimulation {
  nodes: SimulationNodeDatum[];
  /** How often to call `simulation.tick()`. */
  steps: number;
  simulation: Simulation<SimulationNodeDatum, undefined>;
}

/** `edges` are pairs of node indices. `initial` has the last positions, x and y of each node, NaN for a new one. */
export function createSimulation(count: number, edges: ArrayLike<number>, initial: Float32Array | null): GraphSimulation {
  const nodes: SimulationNodeDatum[] = Array.from({ length: count }, () => ({}));
  let knownCount = 0;
  if (initial)
    nodes.forEach((node, i) => {
      const [x, y] = [initial[2 * i], initial[2 * i + 1]];
      if (x === undefined || y === undefined || Number.isNaN(x) || Number.isNaN(y)) return;
      node.x = x;
      node.y = y;
      knownCount++;
    });
  const links = [];
  for (let i = 0; i + 1 < edges.length; i += 2) links.push({ source: edges[i] ?? 0, target: edges[i + 1] ?? 0 });
  const steps = knownCount * 2 > count ? UPDATE_STEPS : STEPS;
  const isLinked = new Uint8Array(count);
  for (let i = 0; i < edges.length; i++) isLinked[edges[i] ?? 0] = 1;
  // Towards the centre. Otherwise unlinked nodes would drift far away, and everything else would be small and off-centre.
  const gravity = (_: SimulationNodeDatum, i: number): number => (isLinked[i] ? 0.045 : 0.14);
  const simulation = forceSimulation(nodes)
    .force('repulsion', forceManyBody().strength(-40).theta(1.2))
    .force('link', forceLink(links).distance(34))
    .force('x', forceX().strength(gravity))
    .force('y', forceY().strength(gravity))
    .alpha(steps === STEPS ? 1 : 0.3)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  return { nodes, steps, simulation };
}
