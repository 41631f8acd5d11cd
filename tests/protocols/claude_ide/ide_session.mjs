// The official TypeScript client's own WebSocket transport on the IDE socket, unchanged.
// Usage: node ide_session.mjs URL TOKEN. Prints one JSON object with what it saw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { z } from "zod";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";

const [url, token] = process.argv.slice(2);

// The transport offers "mcp" and cannot set headers; Node's own WebSocket can be given them.
const Plain = globalThis.WebSocket;
globalThis.WebSocket = class extends Plain {
  constructor(address, protocol) {
    super(address, { protocols: [protocol], headers: { "X-Claude-Code-Ide-Authorization": token } });
  }
};

const seen = { errors: [], told: [] };
const client = new Client({ name: "typescript", version: "1.0.0" }, { capabilities: { roots: {} } });
client.onerror = (error) => seen.errors.push(String(error));
const mentioned = new Promise((resolve) => {
  client.fallbackNotificationHandler = async (notification) => {
    seen.told.push(notification.method);
    if (notification.method === "at_mentioned") resolve(notification.params);
  };
});
await client.connect(new WebSocketClientTransport(new URL(url)));
seen.server = client.getServerVersion().name;
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.folders = JSON.parse((await client.callTool({ name: "getWorkspaceFolders" })).content[0].text).success;
seen.closed = (await client.callTool({ name: "closeAllDiffTabs" })).content[0].text;
seen.resources = (await client.listResources()).resources;
await client.ping();
process.stderr.write("ready\n");
seen.mention = await mentioned;
// Large messages both ways. (This client refuses results that are no objects, such as readFile's string.)
const large = "x".repeat(300000);
await client.request({ method: "writeFile", params: { path: "Large.md", content: large } }, z.any());
seen.selected = (await client.request({ method: "workspace/selection" }, z.any())).text.length;
seen.missing = await client.request({ method: "readFile", params: { path: "no.md" } }, z.any()).catch((e) => e.code);
await client.close();
process.stdout.write(JSON.stringify(seen));
process.exit(0);
