// A real session of the official TypeScript client with the fixture server: list, call, read, subscribe, complete.
// Usage: node session.mjs stdio COMMAND ARG… | http URL | sse URL. Prints one JSON object with what it saw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [kind, ...rest] = process.argv.slice(2);
const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
    : kind === "http"
      ? new StreamableHTTPClientTransport(new URL(rest[0]))
      : new SSEClientTransport(new URL(rest[0]));

const client = new Client(
  { name: "session", version: "1.0.0" },
  { capabilities: { elicitation: {}, sampling: {} } },
);
const seen = { logs: 0, progress: [], errors: [] };
client.onerror = (error) => seen.errors.push(String(error));
const arrival = (schema) => new Promise((resolve) => client.setNotificationHandler(schema, (n) => resolve(n)));
const updated = arrival(ResourceUpdatedNotificationSchema);
const changed = arrival(ToolListChangedNotificationSchema);
client.setNotificationHandler(LoggingMessageNotificationSchema, () => void seen.logs++);
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { response: "yes" } }));
client.setRequestHandler(CreateMessageRequestSchema, () => ({
  role: "assistant",
  model: "m",
  content: { type: "text", text: "Paris" },
}));

await client.connect(transport);
seen.server = client.getServerVersion();
seen.tools = (await client.listTools()).tools.length;
seen.text = (await client.callTool({ name: "test_simple_text", arguments: {} })).content[0].text;
seen.structured = (await client.callTool({ name: "test_structured", arguments: { n: 3 } })).structuredContent;
seen.failed = (await client.callTool({ name: "test_error_handling", arguments: {} })).isError;
seen.failedWithSchema = (await client.callTool({ name: "test_structured", arguments: {} })).isError;
await client.callTool({ name: "test_tool_with_progress", arguments: {} }, undefined, {
  onprogress: (p) => seen.progress.push(p.progress),
});
await client.callTool({ name: "test_tool_with_logging", arguments: {} });
seen.elicited = (await client.callTool({ name: "test_elicitation", arguments: { message: "?" } })).content[0].text;
seen.sampled = (await client.callTool({ name: "test_sampling", arguments: { prompt: "?" } })).content[0].text;
seen.read = (await client.readResource({ uri: "test://static-text" })).contents[0].text;
seen.prompt = (await client.getPrompt({ name: "test_simple_prompt" })).messages[0].content.text;
seen.completed = (
  await client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  })
).completion.values;
await client.subscribeResource({ uri: "test://watched-resource" });
await client.callTool({ name: "test_trigger_resource_update", arguments: {} });
seen.updated = (await updated).params.uri;
await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
await changed;
seen.toolsAfterChange = (await client.listTools()).tools.length;
const abort = new AbortController();
setTimeout(() => abort.abort("enough"), 50);
seen.cancelled = await client
  .callTool({ name: "test_wait", arguments: {} }, undefined, { signal: abort.signal })
  .then(() => "answered", () => "cancelled");
seen.unknown = await client.callTool({ name: "no_such", arguments: {} }).then(() => 0, (error) => error.code);
await client.ping();
await client.close();
console.log(JSON.stringify(seen));
