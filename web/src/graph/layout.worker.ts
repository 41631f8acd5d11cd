// Lays out a graph in a worker, so that the page stays responsive.
//
// In:  { run, count, edges, initial }   initial: the last positions, NaN for new nodes, so that a graph keeps its shape
// Out: { run, positions, isDone }       positions: x, y of each node

import { createSimulation } from './simulation';

export interface LayoutTask {
  run: number;
  count: number;
  edges: Uint32Array;
  initial: Float32Array | null;
}

export interface LayoutResult {
  run: number;
  positions: Float32Array;
  isDone: boolean;
}

const POST_MS = 60; // between two results: often enough to look smooth, seldom enough to leave time for drawing

interface Scope {
  onmessage: ((event: MessageEvent<LayoutTask>) => void) | null;
  postMessage(result: LayoutResult, transfer: Transferable[]): void;
}

const scope = self as unknown as Scope;
let currentRun = 0;

scope.onmessage = ({ data }) => {
  currentRun = data.run;
  const { nodes, steps, simulation } = createSimulation(data.count, data.edges, data.initial);
  let [stepsLeft, postedAt] = [steps, 0];
  const step = (): void => {
    if (currentRun !== data.run) return; // another graph was requested
    simulation.tick();
    stepsLeft--;
    if (stepsLeft === 0 || performance.now() - postedAt > POST_MS) {
      postedAt = performance.now();
      const positions = new Float32Array(2 * data.count);
      nodes.forEach((node, i) => {
        positions[2 * i] = node.x ?? 0;
        positions[2 * i + 1] = node.y ?? 0;
      });
      scope.postMessage({ run: data.run, positions, isDone: stepsLeft === 0 }, [positions.buffer]);
    }
    if (stepsLeft > 0) setTimeout(step); // so that a newer task can start
  };
  step();
};
