// Drives an MCP server with the TypeScript SDK, over HTTP or stdio, and prints what it got, a JSON value a line. What crossed its
// transports goes to a file, a JSON value a line: ["in" or "out", message].
//
// client.mjs SDK streamable|sse URL SCENARIO FILE OPTION
// client.mjs SDK stdio '["COMMAND", "ARGUMENT", …]' SCENARIO FILE OPTION

import { appendFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

const [sdk, kind, url, scenario, file, option] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`).href);
const { Client } = await load("client/index.js");
const { SSEClientTransport } = await load("client/sse.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const types = await load("types.js");

const normal = (text) =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<date>")
    .replace(/\d{1,2}:\d\d:\d\d( [AP]M)?/g, "<time>");
const tell = (step, value) => console.log(normal(JSON.stringify([step, value])));
const attempt = async (step, call) => {
  try {
    tell(step, await call());
  } catch (error) {
    tell(step, { exception: error.name, code: error.code, message: error.message });
  }
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (condition, limit = 20000) => {
  for (const start = Date.now(); Date.now() - start < limit && !condition(); ) await sleep(10);
};

writeFileSync(file, "");
const transports = {
  sse: () => new SSEClientTransport(new URL(url)),
  streamable: (options) => new StreamableHTTPClientTransport(new URL(url), options),
  stdio: () => {
    const [command, ...args] = JSON.parse(url);
    return new StdioClientTransport({ command, args, env: process.env });
  },
};
const transportTo = (options) => {
  const transport = transports[kind](options);
  const send = transport.send.bind(transport);
  transport.send = (message, how) => {
    appendFileSync(file, `${JSON.stringify(["in", message])}\n`);
    return send(message, how);
  };
  transport.onmessage = (message) => appendFileSync(file, `${JSON.stringify(["out", message])}\n`);
  return transport;
};

const start = async (heard = []) => {
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
  const client = new Client({ name: "wiretape-tests", version: "1" }, { capabilities });
  client.setRequestHandler(types.CreateMessageRequestSchema, ({ params }) => ({
    model: "none",
    role: "assistant",
    content: { type: "text", text: `you said ${JSON.stringify(params.messages)}` },
  }));
  client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: "accept", content: { name: "Zoë", check: true } }));
  client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///somewhere", name: "some" }] }));
  client.fallbackNotificationHandler = async ({ method, params }) => void heard.push({ method, params });
  const transport = transportTo();
  await client.connect(transport);
  const session = { client, transport };
  session.roots = await settle(session, heard);
  return session;
};

// The server asks for roots soon after the beginning, of its own accord. A session that is closed in between has sent
// what the client never got. If the server asks before the stream is there, it asks again when roots are listed.
const settle = async ({ client }, heard) => {
  const rooted = () => heard.some(({ params }) => /Roots updated/.test(params?.data));
  await until(rooted, 3000);
  const roots = await client.callTool({ name: "get-roots-list", arguments: {} });
  await until(rooted);
  return roots;
};

const end = async ({ client, transport }) => {
  await transport.terminateSession?.();
  await client.close();
};

// What tools, prompts and templates of the server with everything are asked with.
const OF_TOOLS = {
  echo: { message: "hello" },
  "get-annotated-message": { messageType: "error", includeImage: true },
  "get-structured-content": { location: "Chicago" },
  "get-sum": { a: 2, b: 3.5 },
  "gzip-file-as-resource": { name: "x.gz", data: "data:text/plain;base64,aGVsbG8=", outputType: "resource" },
  "simulate-research-query": { topic: "tea" },
  "trigger-long-running-operation": { duration: 0.2, steps: 2 },
  "trigger-sampling-request": { prompt: "hello" },
};
const OF_PROMPTS = {
  "args-prompt": { city: "Wien", state: "Wien" },
  "completable-prompt": { department: "Engineering", name: "Alice" },
  "resource-prompt": { resourceType: "Text", resourceId: "1" },
};
const OF_TEMPLATES = ["demo://resource/dynamic/text/1", "demo://resource/dynamic/blob/2"];

const scenarios = {
  async features() {
    const heard = [];
    const session = await start(heard);
    const { client } = session;
    tell("server", [client.getServerVersion(), client.getServerCapabilities()]);
    tell("roots", session.roots);
    tell("tools", (await client.listTools()).tools.map(({ name }) => name).sort());
    tell("echo", await client.callTool({ name: "echo", arguments: { message: "Grüße, 日本語, 🦀, \u2028, \0" } }));
    await attempt("bad arguments", () => client.callTool({ name: "get-sum", arguments: { a: "x" } }));
    const long = { name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } };
    // The SDK forgets a call's own handler as soon as its answer is in, whatever else came with it.
    const progress = [];
    client.setNotificationHandler(types.ProgressNotificationSchema, ({ params }) => void progress.push(params));
    tell("long", await client.callTool(long, undefined, { onprogress() {} }));
    await until(() => progress.length === 4);
    tell("progress", progress);
    tell("sampling", await client.callTool({ name: "trigger-sampling-request", arguments: { prompt: "hello" } }));
    tell("elicitation", await client.callTool({ name: "trigger-elicitation-request", arguments: {} }));
    await attempt("level", () => client.setLoggingLevel("debug"));
    tell("resources", await client.listResources());
    await attempt("no such resource", () => client.readResource({ uri: "demo://no/such/resource" }));
    tell("prompt", await client.getPrompt({ name: "args-prompt", arguments: { city: "Wien" } }));
    const numbers = Array.from({ length: 30 }, (_, n) => n);
    const echo = (n) => client.callTool({ name: "echo", arguments: { message: `number ${n}` } });
    tell("together", await Promise.all(numbers.map(echo)));
    const told = heard.filter(({ method }) => method !== "notifications/progress");
    tell("heard", [...new Set(told.map((one) => JSON.stringify(one)))].sort());
    await end(session);
  },

  async all() {
    const session = await start();
    const { client } = session;
    for (const { name } of (await client.listTools()).tools) {
      const call = { name, arguments: OF_TOOLS[name] ?? {} };
      await attempt(name, () => client.callTool(call));
      // What was turned on is turned off again.
      if (name.startsWith("toggle")) await attempt(name, () => client.callTool(call));
    }
    for (const { name } of (await client.listPrompts()).prompts) {
      await attempt(name, () => client.getPrompt({ name, arguments: OF_PROMPTS[name] }));
    }
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    for (const uri of [...uris, ...OF_TEMPLATES]) await attempt(uri, () => client.readResource({ uri }));
    tell("templates", await client.listResourceTemplates());
    const ref = { type: "ref/prompt", name: "completable-prompt" };
    tell("completion", await client.complete({ ref, argument: { name: "department", value: "" } }));
    await attempt("ping", () => client.ping());
    await end(session);
  },

  async cancel() {
    const session = await start();
    const controller = new AbortController();
    const long = { name: "trigger-long-running-operation", arguments: { duration: 3, steps: 30 } };
    const onprogress = () => controller.abort("enough");
    await attempt("cancelled", () => session.client.callTool(long, undefined, { onprogress, signal: controller.signal }));
    tell("after", await session.client.callTool({ name: "echo", arguments: { message: "still here" } }));
    await end(session);
  },

  async resume() {
    const first = await start();
    const params = { name: "trigger-long-running-operation", arguments: { duration: 1.5, steps: 6 } };
    const request = { method: "tools/call", params };
    let token;
    const interrupted = new Promise((resolve) => {
      const options = { onresumptiontoken: (now) => (token = now), onprogress: () => resolve() };
      first.client.request(request, types.CallToolResultSchema, options).catch(() => {});
    });
    await interrupted;
    const { sessionId, protocolVersion } = first.transport;
    await first.client.close();
    // This server gives what was missed, and nothing that comes later.
    await sleep(2500);
    const transport = transportTo({ sessionId });
    const client = new Client({ name: "wiretape-tests", version: "1" });
    await client.connect(transport);
    transport.setProtocolVersion(protocolVersion);
    tell("resumed", await client.request(request, types.CallToolResultSchema, { resumptionToken: token }));
    await end({ client, transport });
  },

  async large() {
    const session = await start();
    const call = { name: "gzip-file-as-resource", arguments: { name: "large.gz", data: option, outputType: "resource" } };
    const { content } = await session.client.callTool(call, undefined, { timeout: 100000 });
    const { blob } = content[0].resource;
    tell("large", [blob.length, createHash("sha256").update(blob).digest("hex")]);
    await end(session);
  },

  async crowd() {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => start()));
    const talk = async ({ client }, session) => {
      const said = [];
      for (let n = 0; n < 10; n++) said.push(await client.callTool({ name: "echo", arguments: { message: `${session}: ${n}` } }));
      return said;
    };
    tell("crowd", await Promise.all(sessions.map(talk)));
    await Promise.all(sessions.map(end));
  },
};

await scenarios[scenario]();
process.exit(0);
