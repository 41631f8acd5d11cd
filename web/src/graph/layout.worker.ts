// Places the notes of a graph: linked ones near each other, the rest apart. It runs next to the page, which stays responsive.
//
// In:  { run, count, edges, near }   near: places to begin with (NaN: none yet), so that a refreshed graph keeps its shape
// Out: { run, places, done }         places: x, y of each node

import { simulate } from './forces';

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

const SHOW_MS = 60; // between two results: often enough to look like motion, seldom enough to leave time to draw

interface Scope {
  onmessage: ((event: MessageEvent<LayoutTask>) => void) | null;
  postMessage(result: LayoutResult, transfer: Transferable[]): void;
}

const scope = self as unknown as Scope;
let current = 0;

scope.onmessage = ({ data }) => {
  current = data.run;
  const { nodes, steps, simulation } = simulate(data.count, data.edges, data.near);
  let [left, shown] = [steps, 0];
  const step = (): void => {
    if (current !== data.run) return; // another graph has been requested
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
    if (left > 0) setTimeout(step); // so that a newer task can start
  };
  step();
};
