// The view's side of MCP Apps (2026-01-26): JSON-RPC with the host, the program that shows it, over `postMessage`.
//
// Only messages from the host are accepted, and everything goes through it: tool calls, links, the size of the view.
// The official package takes 649 kB; this is what our views need of it.

const VERSION = '2026-01-26';
const ANSWER_MS = 120_000; // a tool may wait for the vault's index

/** The result of a tool, as far as views use it. */
export interface ToolResult {
  content?: { type: string; text?: string }[];
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

interface HostContext {
  theme?: string;
  [key: string]: unknown;
}

interface Message {
  jsonrpc?: string;
  id?: number | string;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message?: string };
}

interface HostEvents {
  /** The arguments of the call whose result the view will show. */
  input: (values: Record<string, unknown>) => void;
  result: (result: ToolResult) => void;
  cancelled: (reason: string) => void;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

interface PendingRequest {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export class Host {
  #lastId = 0;
  #pending = new Map<number, PendingRequest>();
  #events: HostEvents;
  #capabilities: Record<string, unknown> = {};

  constructor(events: HostEvents) {
    this.#events = events;
    addEventListener('message', (event: MessageEvent<unknown>) => {
      if (event.source === window.parent && isObject(event.data) && event.data.jsonrpc === '2.0') this.#handleMessage(event.data as Message);
    });
  }

  /** Whether the host offers this to views: `serverTools`, `openLinks`, `updateModelContext`. */
  can(capability: string): boolean {
    return isObject(this.#capabilities[capability]);
  }

  async start(name: string): Promise<void> {
    const answer = await this.#request('ui/initialize', {
      protocolVersion: VERSION,
      appInfo: { name: `vaultbridge-${name}`, version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    });
    if (isObject(answer)) {
      this.#capabilities = isObject(answer.hostCapabilities) ? answer.hostCapabilities : {};
      if (isObject(answer.hostContext)) this.#applyTheme(answer.hostContext);
    }
    this.#notify('ui/notifications/initialized', {});
    this.#reportSize();
  }

  /** Calls a tool of our server. Throws if the tool fails. */
  async callTool(name: string, values: Record<string, unknown>): Promise<ToolResult> {
    const answer = await this.#request('tools/call', { name, arguments: values });
    const result: ToolResult = isObject(answer) ? answer : {};
    if (result.isError) throw new Error(textOf(result) || 'The call failed.');
    return result;
  }

  async openLink(url: string): Promise<void> {
    const answer = await this.#request('ui/open-link', { url });
    if (isObject(answer) && answer.isError) throw new Error('This app cannot open such links.');
  }

  /** Adds something to what the model reads with its user's next message. */
  tellModel(text: string): void {
    if (this.can('updateModelContext')) void this.#request('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => undefined);
  }

  #request(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#takePending(id)?.reject(new Error('This app did not answer.')), ANSWER_MS);
      this.#pending.set(id, { resolve: (result) => (clearTimeout(timer), resolve(result)), reject: (error) => (clearTimeout(timer), reject(error)) });
      this.#send({ id, method, params });
    });
  }

  #notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  #send(message: Message): void {
    // To any origin, because the host's is unknown here; no other window receives the message.
    window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }

  #takePending(id: unknown): PendingRequest | undefined {
    if (typeof id !== 'number') return undefined;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #handleMessage({ id, method, params, result, error }: Message): void {
    if (method === undefined) {
      const pending = this.#takePending(id);
      if (error) pending?.reject(new Error(typeof error.message === 'string' ? error.message : 'The call failed.'));
      else pending?.resolve(result);
    } else if (id !== undefined) {
      if (method === 'ping' || method === 'ui/resource-teardown') this.#send({ id, result: {} });
      else this.#send({ id, error: { code: -32601, message: `There is no method ${method} here.` } as Message['error'] & object });
    } else this.#handleNotification(method, isObject(params) ? params : {});
  }

  #handleNotification(method: string, params: Record<string, unknown>): void {
    if (method === 'ui/notifications/tool-input') this.#events.input(isObject(params.arguments) ? params.arguments : {});
    else if (method === 'ui/notifications/tool-result') this.#events.result(params);
    else if (method === 'ui/notifications/tool-cancelled') this.#events.cancelled(typeof params.reason === 'string' ? params.reason : '');
    else if (method === 'ui/notifications/host-context-changed') this.#applyTheme(params);
  }

  #applyTheme({ theme }: HostContext): void {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  }

  #reportSize(): void {
    let lastHeight = 0;
    const report = (): void => {
      const height = Math.ceil(document.body.getBoundingClientRect().height);
      if (height === lastHeight || !height) return;
      lastHeight = height;
      this.#notify('ui/notifications/size-changed', { width: Math.ceil(document.body.getBoundingClientRect().width), height });
    };
    new ResizeObserver(report).observe(document.body);
    report();
  }
}

/** The data that a result contains for a view of this kind, or null. */
export function viewDataOf<T>(result: ToolResult, kind: string): T | null {
  const data = result._meta?.['vaultbridge/view'];
  return isObject(data) && data.kind === kind ? (data as T) : null;
}

export const textOf = (result: ToolResult): string => (result.content ?? []).flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
