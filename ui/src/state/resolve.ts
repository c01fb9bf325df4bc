// Resolves the traces of a URL to keys of the server: the browser fetches traces on the web and uploads them.

import { BackendError, type Backend } from "../api/backend";
import { isFetched } from "../router";

export async function resolveTraces(
  backend: Backend,
  traces: string[],
  live: string | null,
  signal: AbortSignal,
): Promise<string[]> {
  if (live !== null) {
    refuseRemote(live);
    return [(await backend.live(live)).key];
  }
  const found: string[] = [];
  for (const trace of traces) found.push(isFetched(trace) ? await fetched(backend, trace, signal) : trace);
  return found;
}

const uploaded = new Map<string, string>();

async function fetched(backend: Backend, address: string, signal: AbortSignal): Promise<string> {
  const known = uploaded.get(address);
  if (known !== undefined) return known;
  const url = new URL(address);
  if (url.protocol !== "https:" && url.origin !== location.origin) {
    throw refusal(`can't fetch \`${address}\`: only https addresses are allowed`, "download the file and drop it on this page");
  }
  let response: Response;
  try {
    response = await fetch(url, { signal, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (signal.aborted) throw error;
    throw refusal(
      `can't fetch \`${address}\``,
      "its server must be reachable and allow cross-origin requests (CORS); or download the file and drop it on this page",
    );
  }
  if (!response.ok) throw refusal(`\`${address}\` responded with ${response.status}`, null);
  const name = decodeURIComponent(url.pathname.split("/").pop() ?? "") || url.host;
  const { key } = await backend.upload(name, await response.blob());
  uploaded.set(address, key);
  return key;
}

/** Refuses recorders on other machines. */
export function refuseRemote(address: string): void {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw refusal(`\`${address}\` is not the address of a live recorder`, "use an address like `ws://127.0.0.1:PORT`");
  }
  const isLoopback = /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "ws:" || !isLoopback) {
    throw refusal(`can't connect to \`${address}\`: live recorders must be on this machine`, "use an address like `ws://127.0.0.1:PORT`");
  }
}

function refusal(error: string, hint: string | null): BackendError {
  return new BackendError(400, { error, hint, span: null });
}
