// Drives an MCP server with the TypeScript SDK and prints what it got, a JSON value a line.
//
// client.mjs SDK everything|filesystem DIRECTORY COMMAND ARGS...

import { pathToFileURL } from "node:url";

const [sdk, what, directory, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ProgressNotificationSchema } = await load("types.js");

const tell = (step, value) => console.log(JSON.stringify([step, value]));

const attempt = async (step, call) => {
  try {
    tell(step, await call());
  } catch (error) {
    tell(step, { exception: error.name, code: error.code, message: error.message });
  }
};

const sessions = {
  async everything(client) {
    // The SDK forgets a call's own handler as soon as its answer is in, whatever else came with it.
    const progress = [];
    client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void progress.push(params));
    tell("server", [client.getServerVersion(), client.getServerCapabilities()]);
    tell("tools", await client.listTools());
    tell("echo", await client.callTool({ name: "echo", arguments: { message: "Grüße, 日本語, 🦀, \u2028, \0" } }));
    tell("secret", await client.callTool({ name: "echo", arguments: { message: `it is ${process.env.A_SECRET}` } }));
    await attempt("bad arguments", () => client.callTool({ name: "get-sum", arguments: { a: "x" } }));
    await attempt("no such method", () => client.complete({ ref: { type: "ref/prompt", name: "no-such" }, argument: { name: "a", value: "b" } }));
    const long = { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 4 } };
    tell("long", await client.callTool(long, undefined, { onprogress() {} }));
    const { resources } = await client.listResources();
    tell("resources", resources);
    for (const { uri } of resources.slice(0, 3)) tell("resource", await client.readResource({ uri }));
    await attempt("no such resource", () => client.readResource({ uri: "demo://no/such/resource" }));
    tell("prompts", await client.listPrompts());
    tell("prompt", await client.getPrompt({ name: "args-prompt", arguments: { city: "Wien" } }));
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    tell("together", await Promise.all(numbers.map((n) => client.callTool({ name: "echo", arguments: { message: `number ${n}` } }))));
    tell("progress", progress);
  },

  async filesystem(client) {
    const call = (name, rest) => () => client.callTool({ name, arguments: { path: `${directory}/notes.txt`, ...rest } });
    tell("tools", await client.listTools());
    await attempt("write", call("write_file", { content: "one\r\ntwo \u{1F980}\n".repeat(20000) }));
    await attempt("read", call("read_text_file"));
    await attempt("edit", call("edit_file", { edits: [{ oldText: "no such text", newText: "x" }] }));
    await attempt("list", call("list_directory", { path: directory }));
    await attempt("outside", call("read_text_file", { path: "/etc/passwd" }));
    await attempt("missing", call("read_text_file", { path: `${directory}/missing.txt` }));
  },
};

const client = new Client({ name: "wiretape-tests", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
await sessions[what](client);
await client.close();
