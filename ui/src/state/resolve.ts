// What a URL names becomes keys that the server knows: traces on the web are fetched by the browser and handed over.

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

const handedOver = new Map<string, string>();

async function fetched(backend: Backend, address: string, signal: AbortSignal): Promise<string> {
  const known = handedOver.get(address);
  if (known !== undefined) return known;
  const url = new URL(address);
  if (url.protocol !== "https:" && url.origin !== location.origin) {
    throw refusal(`${address} is not fetched: only https addresses are`, "download it, and drop the file into this page");
  }
  let response: Response;
  try {
    response = await fetch(url, { signal, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (signal.aborted) throw error;
    throw refusal(
      `${address} can't be fetched`,
      "its server must be reachable and allow other pages to read it (CORS); or download it, and drop the file into this page",
    );
  }
  if (!response.ok) throw refusal(`${address} answers ${response.status}`, null);
  const name = decodeURIComponent(url.pathname.split("/").pop() ?? "") || url.host;
  const { key } = await backend.upload(name, await response.blob());
  handedOver.set(address, key);
  return key;
}

/** Live recorders are listened to on this machine only. */
export function refuseRemote(address: string): void {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw refusal(`${address} is no address of a live recorder`, "write ws://127.0.0.1:PORT");
  }
  const isLoopback = /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "ws:" || !isLoopback) {
    throw refusal(`${address} is not listened to: live recorders are on this machine only`, "write ws://127.0.0.1:PORT");
  }
}

function refusal(error: string, hint: string | null): BackendError {
  return new BackendError(400, { error, hint, span: null });
}
