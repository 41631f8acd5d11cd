// The page's side of the worker that lays out a graph.

import type { LayoutResult, LayoutTask } from './layout.worker';

const WORKER = '/page/graph-layout.js';

/** The worker's address, by a policy of Trusted Types that allows no other script. */
const getWorkerAddress = (): string => {
  const policies = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } }).trustedTypes;
  if (!policies) return WORKER;
  policy ??= policies.createPolicy('vaultbridge-worker', { createScriptURL: () => WORKER });
  return policy.createScriptURL(WORKER);
};
let policy: { createScriptURL(url: string): string } | null = null;

let lastRun = 0;

export class Layout {
  #worker: Worker;
  #run = 0;

  constructor(onPositions: (positions: Float32Array, isDone: boolean) => void) {
    this.#worker = new Worker(getWorkerAddress(), { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<LayoutResult>) => data.run === this.#run && onPositions(data.positions, data.isDone);
  }

  start(task: Omit<LayoutTask, 'run'>): void {
    this.#run = ++lastRun;
    this.#worker.postMessage({ ...task, run: this.#run } satisfies LayoutTask);
  }

  dispose(): void {
    this.#worker.terminate();
  }
}
