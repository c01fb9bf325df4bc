// Logs in to an MCP server with the TypeScript SDK, uses it, lets the token expire, and uses it again. Prints what it
// got, a JSON value a line.
//
// oauth.mjs SDK URL

import { pathToFileURL } from "node:url";

const [sdk, url] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}`).href);
const { Client } = await load("client/index.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { UnauthorizedError } = await load("client/auth.js");

const tell = (step, value) => console.log(JSON.stringify([step, value]));

// What a browser does: it follows redirects, keeps cookies for each site, and shows forms, which somebody submits.
const CALLBACK = "http://localhost:9/callback";
const cookies = new Map();

async function visit(address, init = {}) {
  const { origin } = new URL(address);
  const headers = cookies.has(origin) ? { cookie: cookies.get(origin) } : {};
  const response = await fetch(address, { ...init, headers, redirect: "manual" });
  const cookie = response.headers.get("set-cookie");
  if (cookie) cookies.set(origin, cookie.split(";")[0]);
  return response;
}

async function browse(address) {
  let response = await visit(address);
  for (;;) {
    const location = response.headers.get("location");
    const page = location ? "" : await response.text();
    const form = page.match(/action="([^"]*)".*name="([^"]*)" value="([^"]*)"/);
    if (location) {
      address = new URL(location, address).href;
      if (address.startsWith(CALLBACK)) return new URL(address).searchParams;
      response = await visit(address);
    } else if (form) {
      tell("page", new URL(address).origin);
      const [action, name, value] = form.slice(1);
      address = new URL(action, address).href;
      const body = new URLSearchParams({ [name]: value.replaceAll("&amp;", "&") });
      response = await visit(address, { method: "POST", body });
    } else {
      throw new Error(`the login ended at ${response.status} ${page}`);
    }
  }
}

class Provider {
  redirectUrl = CALLBACK;
  clientMetadata = { client_name: "wiretape-tests", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  state = () => "a state";
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens) => void (this.saved = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  redirectToAuthorization = async (address) => void (this.answer = await browse(address.href));
}

const provider = new Provider();
const newClient = () => new Client({ name: "wiretape-tests", version: "1" });
const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });

let client = newClient();
const transport = newTransport();
try {
  await client.connect(transport);
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
  tell("state", provider.answer.get("state"));
  await transport.finishAuth(provider.answer.get("code"));
  client = newClient();
  await client.connect(newTransport());
}

tell("tools", await client.listTools());
tell("echo", await client.callTool({ name: "echo", arguments: { message: "before" } }));
const before = provider.saved.access_token;
await new Promise((resolve) => setTimeout(resolve, 3500));
tell("echo", await client.callTool({ name: "echo", arguments: { message: "after" } }));
tell("renewed", provider.saved.access_token !== before);
await client.close();
