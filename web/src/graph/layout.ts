// The page's end of the worker that places the nodes.

import type { LayoutResult, LayoutTask } from './layout.worker';

const WORKER = '/page/graph-layout.js';

/** The only script that this policy allows, whoever asks. */
const address = (): string => {
  const policies = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } }).trustedTypes;
  if (!policies) return WORKER;
  policy ??= policies.createPolicy('vaultbridge-worker', { createScriptURL: () => WORKER });
  return policy.createScriptURL(WORKER);
};
let policy: { createScriptURL(url: string): string } | null = null;

let runs = 0;

export class Layout {
  #worker: Worker;
  #run = 0;

  constructor(places: (places: Float32Array, done: boolean) => void) {
    this.#worker = new Worker(address(), { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<LayoutResult>) => data.run === this.#run && places(data.places, data.done);
  }

  start(task: Omit<LayoutTask, 'run'>): void {
    this.#run = ++runs;
    this.#worker.postMessage({ ...task, run: this.#run } satisfies LayoutTask);
  }

  dispose(): void {
    this.#worker.terminate();
  }
}
