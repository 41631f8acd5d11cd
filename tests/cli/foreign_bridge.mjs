// A Bridge v1 server written from the protocol's document alone: no ETag, no HEAD, nothing of ours.
//
//     node foreign_bridge.mjs PORT HOST [hold]
//
// Prints its port, then a line for each call that it leaves hanging. With `hold` the list of tools is not
// answered before a line comes on standard input. What it was asked is told by the tool `seen`.
import { createHash } from "node:crypto";
import http from "node:http";

const [port, host, hold] = process.argv.slice(2);
const released = hold ? new Promise((resolve) => process.stdin.once("data", resolve)) : Promise.resolve();
const seen = { lists: 0, keys: [] };
let salt = "";

const plain = (name) => ({ name, description: `Does ${name}`, inputSchema: { type: "object" } });
const tools = [
  {
    name: "read_note",
    description: "Read a note by path",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
  ...["hang", "die", "half", "cut", "gone", "broken", "set", "seen", "vault: rename"].map(plain),
];

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};
const hash = () => {
  const ordered = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  return createHash("sha256").update(salt + JSON.stringify(sorted(ordered))).digest("hex");
};

const send = (response, status, value) => {
  response.writeHead(status, { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" });
  response.end(JSON.stringify(value));
};
const text = (response, words) =>
  send(response, 200, { success: true, content: [{ type: "text", text: words }] });

const call = (name, given, response) => {
  switch (name) {
    case "read_note":
      return text(response, `# ${given.path}`);
    case "hang":
      return console.log("hanging");
    case "die":
      return process.exit(1);
    case "half":
      response.writeHead(200, { "Content-Length": 1000 });
      return response.write('{"success":', () => response.destroy());
    case "cut":
      return text(response, "a moth 🦋".slice(0, 8));
    case "gone":
      return send(response, 404, { error: "Tool not found", message: "gone" });
    case "broken":
      return send(response, 500, { error: "Internal server error", message: "it broke" });
    case "set":
      salt = given.salt ?? salt;
      if (given.add) tools.push(plain(given.add));
      return text(response, "done");
    case "seen":
      return text(response, JSON.stringify(seen));
    default:
      return text(response, name);
  }
};

const server = http.createServer((request, response) => {
  seen.keys.push(request.headers.authorization ?? "");
  const path = new URL(request.url, "http://localhost").pathname;
  if (path === "/bridge/v1/tools") {
    seen.lists += 1;
    return released.then(() => send(response, 200, { tools, hash: hash() }));
  }
  const name = /^\/bridge\/v1\/tools\/([^/]+)\/call$/.exec(path)?.[1];
  if (!name) return send(response, 404, { error: "Not found", message: path });
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => call(decodeURIComponent(name), JSON.parse(Buffer.concat(parts)).arguments, response));
});
server.listen(Number(port), host, () => console.log(server.address().port));
