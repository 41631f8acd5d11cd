// The official TypeScript server over stdio, with one tool and one resource that can be watched.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  SubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const capabilities = { tools: {}, resources: { subscribe: true } };
const server = new Server({ name: "small", version: "1.0.0" }, { capabilities });
const watched = [];
server.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [{ name: "watched", description: "What is watched", inputSchema: { type: "object", properties: {} } }],
}));
server.setRequestHandler(CallToolRequestSchema, async () => ({
  content: [{ type: "text", text: watched.join(" ") }],
}));
server.setRequestHandler(SubscribeRequestSchema, async (request) => {
  watched.push(request.params.uri);
  return {};
});
await server.connect(new StdioServerTransport());
