// The forces that place the nodes of a graph: linked ones near each other, the rest apart.

import { forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation, type SimulationNodeDatum } from 'd3-force';

const STEPS = 140; // after this many the picture hardly changes
const STEPS_FROM_NEAR = 40; // a graph that was placed before only has to make room for what is new

interface Simulated {
  nodes: SimulationNodeDatum[];
  /** How often to call `simulation.tick()`. */
  steps: number;
  simulation: Simulation<SimulationNodeDatum, undefined>;
}

/** `edges` are pairs of positions; `near` has places to begin with (NaN: none yet). */
export function simulate(count: number, edges: ArrayLike<number>, near: Float32Array | null): Simulated {
  const nodes: SimulationNodeDatum[] = Array.from({ length: count }, () => ({}));
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
  for (let i = 0; i + 1 < edges.length; i += 2) links.push({ source: edges[i] ?? 0, target: edges[i + 1] ?? 0 });
  const steps = known * 2 > count ? STEPS_FROM_NEAR : STEPS;
  const isLinked = new Uint8Array(count);
  for (let i = 0; i < edges.length; i++) isLinked[edges[i] ?? 0] = 1;
  // Without this, unlinked nodes would drift far away, and the picture would be small and off-centre.
  const pull = (_: SimulationNodeDatum, i: number): number => (isLinked[i] ? 0.045 : 0.14);
  const simulation = forceSimulation(nodes)
    .force('apart', forceManyBody().strength(-40).theta(1.2))
    .force('link', forceLink(links).distance(34))
    .force('x', forceX().strength(pull))
    .force('y', forceY().strength(pull))
    .alpha(steps === STEPS ? 1 : 0.3)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .stop();
  return { nodes, steps, simulation };
}
