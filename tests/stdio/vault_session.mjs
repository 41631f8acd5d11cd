// A real session of the official TypeScript client with `vaultbridge stdio` on a copy of the sample vault.
// Usage: node vault_session.mjs NOTE COMMAND ARG… (NOTE: the file of Home.md). Prints one JSON object with what it saw.
import { appendFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [note, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "vault-session", version: "1.0.0" }, { capabilities: {} });
const seen = { errors: [] };
client.onerror = (error) => seen.errors.push(String(error));
const updated = new Promise((resolve) =>
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri)),
);
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
seen.server = client.getServerVersion().name;
seen.instructions = client.getInstructions().length > 0;
seen.tools = (await client.listTools()).tools.length;
const call = async (name, input) => (await client.callTool({ name: `obsidian_${name}`, arguments: input }));
seen.read = (await call("read_note", { name: "Home" })).content[0].text.includes("Nightjar Hill");
seen.made = (await call("create_note", { name: "Garden/From TypeScript", content: "x" })).structuredContent;
seen.failed = (await call("read_note", { name: "No such note" })).isError;
const { resources } = await client.listResources();
const home = resources.find((resource) => resource.name === "Home.md");
seen.uri = home.uri;
seen.resource = (await client.readResource({ uri: home.uri })).contents[0].mimeType;
seen.template = (await client.listResourceTemplates()).resourceTemplates[0].uriTemplate;
seen.prompts = (await client.listPrompts()).prompts.some((prompt) => prompt.name === "plan_a_night");
const prompt = await client.getPrompt({ name: "plan_a_night", arguments: { date: "2026-04-01" } });
seen.prompt = prompt.messages[0].content.text.includes("2026-04-01");
const ref = { type: "ref/prompt", name: "tidy_inbox" };
seen.completed = (await client.complete({ ref, argument: { name: "folder", value: "targ" } })).completion.values;
await client.subscribeResource({ uri: home.uri });
appendFileSync(note, "\nchanged outside\n");
seen.updated = await updated;
await client.close();
console.log(JSON.stringify(seen));
