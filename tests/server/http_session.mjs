// A session of the official TypeScript client with the real server, over /mcp.
// Usage: node http_session.mjs URL legacy|auto|2026-07-28 PLUGIN-FILE. Prints one JSON object with what it saw.
import { writeFileSync, rmSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, mode, plugin] = process.argv.slice(2);
const client = new Client(
  { name: "session", version: "1.0.0" },
  { versionNegotiation: { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } } },
);
const seen = { errors: [] };
client.onerror = (error) => seen.errors.push(String(error));
let told = () => {};
client.setNotificationHandler("notifications/tools/list_changed", () => told());
const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
const call = (name, args) => client.callTool({ name: `obsidian_${name}`, arguments: args });

// Told again and again: one change of a file may be told in two steps, and only the list says when it is done.
async function until(holds) {
  for (;;) {
    const next = new Promise((resolve) => (told = resolve));
    if (holds(await names())) return true;
    await next;
  }
}

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
seen.version = client.getNegotiatedProtocolVersion();
seen.hasTools = (await names()).includes("obsidian_read_note");
const listening = seen.version === "2026-07-28" ? await client.listen({ toolsListChanged: true }) : undefined;
seen.made = !(await call("create_note", { name: "Made", content: "by a client\n" })).isError;
seen.read = (await call("read_note", { path: "Made.md" })).content[0].text.includes("by a client");
seen.missing = (await call("read_note", { name: "Nothing like it" })).isError;
seen.resources = (await client.listResources()).resources.map((resource) => resource.name);
seen.text = (await client.readResource({ uri: "obsidian://vault/Notes/Hello.md" })).contents[0].text;
seen.prompts = (await client.listPrompts()).prompts.length > 0;
const ref = { type: "ref/prompt", name: "summarize_note" };
seen.completed = (await client.complete({ ref, argument: { name: "note", value: "Hel" } })).completion.values;
writeFileSync(
  plugin,
  'from vaultbridge.plugins import tool\n\n@tool(effect="reads")\ndef wave() -> str:\n    """Wave."""\n    return "hi"\n',
);
seen.came = await until((listed) => listed.includes("wave"));
seen.waved = (await client.callTool({ name: "wave", arguments: {} })).content[0].text;
rmSync(plugin);
seen.went = await until((listed) => !listed.includes("wave"));
await listening?.close();
await client.close();
console.log(JSON.stringify(seen));
