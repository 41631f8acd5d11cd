// The view's end of MCP Apps (2026-01-26): JSON-RPC with the program that shows it, by `postMessage`.
//
// Only messages from that program are accepted, and everything goes through it: calls of tools, links, the size.
// The official package does the same in 649 kB; this is what our views need of it.

const VERSION = '2026-01-26';
const WAIT_MS = 120_000; // for any answer; a tool may wait for the vault's index

/** What a tool answered, as far as a view uses it. */
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

export interface Events {
  /** The arguments of the call whose result will be shown. */
  input: (values: Record<string, unknown>) => void;
  result: (result: ToolResult) => void;
  cancelled: (reason: string) => void;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

export class Host {
  #ids = 0;
  #asked = new Map<number, { done: (result: unknown) => void; fail: (error: Error) => void }>();
  #on: Events;
  #can: Record<string, unknown> = {};

  constructor(on: Events) {
    this.#on = on;
    addEventListener('message', (event: MessageEvent<unknown>) => {
      if (event.source === window.parent && isObject(event.data) && event.data.jsonrpc === '2.0') this.#receive(event.data as Message);
    });
  }

  /** Whether the program offers this to views: `serverTools`, `openLinks`, `updateModelContext`. */
  can(capability: string): boolean {
    return isObject(this.#can[capability]);
  }

  async start(name: string): Promise<void> {
    const answer = await this.#ask('ui/initialize', {
      protocolVersion: VERSION,
      appInfo: { name: `vaultbridge-${name}`, version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    });
    if (isObject(answer)) {
      this.#can = isObject(answer.hostCapabilities) ? answer.hostCapabilities : {};
      if (isObject(answer.hostContext)) this.#dress(answer.hostContext);
    }
    this.#tell('ui/notifications/initialized', {});
    this.#watchSize();
  }

  /** Calls a tool of our server. Fails when the tool does. */
  async call(name: string, values: Record<string, unknown>): Promise<ToolResult> {
    const answer = await this.#ask('tools/call', { name, arguments: values });
    const result: ToolResult = isObject(answer) ? answer : {};
    if (result.isError) throw new Error(textOf(result) || 'It failed.');
    return result;
  }

  async open(url: string): Promise<void> {
    const answer = await this.#ask('ui/open-link', { url });
    if (isObject(answer) && answer.isError) throw new Error('This program does not open such links.');
  }

  /** Tells the model something with the next message of its user. */
  tellModel(text: string): void {
    if (this.can('updateModelContext')) void this.#ask('ui/update-model-context', { content: [{ type: 'text', text }] }).catch(() => undefined);
  }

  #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#ids;
    return new Promise((done, fail) => {
      const late = setTimeout(() => this.#end(id)?.fail(new Error('This program did not answer.')), WAIT_MS);
      this.#asked.set(id, { done: (result) => (clearTimeout(late), done(result)), fail: (error) => (clearTimeout(late), fail(error)) });
      this.#send({ id, method, params });
    });
  }

  #tell(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  #send(message: Message): void {
    // To the program that shows this view: its origin is unknown here, and no other window receives the message.
    window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }

  #end(id: unknown): { done: (result: unknown) => void; fail: (error: Error) => void } | undefined {
    if (typeof id !== 'number') return undefined;
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (method === undefined) {
      const asked = this.#end(id);
      if (error) asked?.fail(new Error(typeof error.message === 'string' ? error.message : 'It failed.'));
      else asked?.done(result);
    } else if (id !== undefined) {
      if (method === 'ping' || method === 'ui/resource-teardown') this.#send({ id, result: {} });
      else this.#send({ id, error: { code: -32601, message: `There is no method ${method} here.` } as Message['error'] & object });
    } else this.#notice(method, isObject(params) ? params : {});
  }

  #notice(method: string, params: Record<string, unknown>): void {
    if (method === 'ui/notifications/tool-input') this.#on.input(isObject(params.arguments) ? params.arguments : {});
    else if (method === 'ui/notifications/tool-result') this.#on.result(params);
    else if (method === 'ui/notifications/tool-cancelled') this.#on.cancelled(typeof params.reason === 'string' ? params.reason : '');
    else if (method === 'ui/notifications/host-context-changed') this.#dress(params);
  }

  #dress({ theme }: HostContext): void {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  }

  #watchSize(): void {
    let last = 0;
    const look = (): void => {
      const height = Math.ceil(document.body.getBoundingClientRect().height);
      if (height === last || !height) return;
      last = height;
      this.#tell('ui/notifications/size-changed', { width: Math.ceil(document.body.getBoundingClientRect().width), height });
    };
    new ResizeObserver(look).observe(document.body);
    look();
  }
}

/** What the server says for the view alone, if it is of this kind. */
export function shownIn<T>(result: ToolResult, kind: string): T | null {
  const shown = result._meta?.['vaultbridge/view'];
  return isObject(shown) && shown.kind === kind ? (shown as T) : null;
}

export const textOf = (result: ToolResult): string => (result.content ?? []).flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
