// A program that shows MCP Apps, made from the official parts: the client, and the host's side of a view (AppBridge).
//
// `chat` is what the test drives. What the model would get is returned; a view gets the whole result, as the extension says.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, getToolUiResourceUri, isToolVisibilityAppOnly, isToolVisibilityModelOnly, PostMessageTransport, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge';

const info = { name: 'chat-host', version: '1' };
const client = new Client(info, { capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } } });
const views = [];

/** What a host makes of a view's declared domains (SEP-1865, Content Security Policy Enforcement). */
function policyOf({ connectDomains = [], resourceDomains = [], frameDomains = [], baseUriDomains = [] } = {}) {
  const from = resourceDomains.join(' ');
  return [
    "default-src 'none'", `script-src 'self' 'unsafe-inline' ${from}`, `style-src 'self' 'unsafe-inline' ${from}`,
    `connect-src ${connectDomains.join(' ') || "'none'"}`, `img-src 'self' data: ${from}`, `font-src 'self' ${from}`,
    `frame-src ${frameDomains.join(' ') || "'none'"}`, "object-src 'none'", `base-uri ${baseUriDomains.join(' ') || "'self'"}`,
  ].join('; ');
}

globalThis.chat = {
  /** Calls of views that are not answered yet. */
  looking: 0,
  heard: { links: [], context: [], calls: [], messages: [] },

  async connect() {
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', location.href)));
    this.tools = (await client.listTools()).tools;
    const listed = (await client.listResources()).resources.map(({ uri }) => uri);
    return { model: this.tools.filter((tool) => !isToolVisibilityAppOnly(tool)).map(({ name }) => name), app: this.tools.filter(isToolVisibilityAppOnly).map(({ name }) => name), resources: listed };
  },

  /** The model calls a tool, and sees no `_meta`. */
  async call(name, values) {
    const { _meta, ...seen } = await client.callTool({ name, arguments: values });
    return seen;
  },

  /** The model calls a tool whose result has a view; gives what the model sees, and the view's address. */
  async show(name, values, theme = 'light', can = { openLinks: {}, serverTools: {}, serverResources: {}, updateModelContext: { text: {} } }) {
    const uri = getToolUiResourceUri(this.tools.find((tool) => tool.name === name));
    const [content] = (await client.readResource({ uri })).contents;
    if (content.mimeType !== RESOURCE_MIME_TYPE) throw new Error(content.mimeType);
    const put = await fetch('/view', { method: 'POST', body: JSON.stringify({ html: content.text, policy: policyOf(content._meta.ui.csp) }) });
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.title = name;
    document.body.append(frame);
    const bridge = new AppBridge(client, info, can, { hostContext: { theme, displayMode: 'inline', availableDisplayModes: ['inline'] } });
    const ready = new Promise((done) => (bridge.oninitialized = done));
    bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
    bridge.onopenlink = async ({ url }) => (this.heard.links.push(url), {});
    bridge.onupdatemodelcontext = async (params) => (this.heard.context.push(params), {});
    const address = `http://localhost:${location.port}${await put.text()}`;
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    // After `connect`, which forwards what views call. A host must refuse what is not for views.
    bridge.oncalltool = async (params) => {
      const tool = this.tools.find((candidate) => candidate.name === params.name);
      if (!tool || isToolVisibilityModelOnly(tool)) throw new Error('not for views');
      this.heard.calls.push(params.name);
      this.looking++;
      return client.callTool(params).finally(() => setTimeout(() => this.looking--));
    };
    frame.src = address;
    await ready;
    const result = await client.callTool({ name, arguments: values });
    await bridge.sendToolInput({ arguments: values });
    await bridge.sendToolResult(result);
    views.push(bridge);
    const { _meta, ...seen } = result;
    return { seen, address, app: bridge.getAppVersion(), can: bridge.getAppCapabilities() };
  },

  setTheme: (theme) => views.at(-1).setHostContext({ theme }),
  partial: (values) => views.at(-1).sendToolInputPartial({ arguments: values }),
  cancel: (reason) => views.at(-1).sendToolCancelled({ reason }),
  answer: (text) => views.at(-1).sendToolResult({ content: [{ type: 'text', text }], isError: true }),
  /** What a view answers to a message of the host, or of another window in its name. */
  ask: (message) => new Promise((done) => {
    const listen = ({ data }) => data?.id === message.id && (removeEventListener('message', listen), done(data));
    addEventListener('message', listen);
    document.querySelector('iframe').contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }),
  teardown: () => views.at(-1).teardownResource({}),
};
addEventListener('message', ({ data }) => data?.jsonrpc === undefined && chat.heard.messages.push(data));
document.title = 'ready';
