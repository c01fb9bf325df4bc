// The backend that uses the HTTP API of the server.

import { signal } from "@preact/signals";
import {
  BackendError,
  type Backend,
  type CallsQuery,
  type DiffQuery,
  type MessagesQuery,
  type PositionQuery,
  type Slice,
  type TimelineQuery,
  type Watch,
  type WatchHandlers,
} from "./backend";
import { token } from "./token";
import type * as Api from "./types";
import { watch } from "./watch";

type Parameters = Record<string, string | number | null>;

/** Whether the server has refused this page's token: it belongs to another run. */
export const isForeign = signal(false);

export class HttpBackend implements Backend {
  readonly isReport = false;

  home(search: string, signal?: AbortSignal): Promise<Api.Home> {
    return get(url("home", { search }), signal);
  }

  pending(signal?: AbortSignal): Promise<Api.PendingRow[]> {
    return get(url("pending", {}), signal);
  }

  set(keys: string[], signal?: AbortSignal): Promise<Api.TraceSet> {
    return get(url("set", {}, keys), signal);
  }

  watch(keys: string[], handlers: WatchHandlers): Watch {
    return watch(url("watch", {}, keys), handlers);
  }

  calls(keys: string[], query: CallsQuery, signal?: AbortSignal): Promise<Api.CallPage> {
    return get(url("calls", { ...query, sort: query.sort || "time" }, keys), signal);
  }

  timeline(keys: string[], query: TimelineQuery, signal?: AbortSignal): Promise<Api.Timeline> {
    const { filter, fromUs, toUs, limit } = query;
    return get(url("timeline", { filter, from_us: fromUs, to_us: toUs, limit }, keys), signal);
  }

  density(keys: string[], buckets: number, signal?: AbortSignal): Promise<Api.Density> {
    return get(url("density", { buckets }, keys), signal);
  }

  messages(keys: string[], query: MessagesQuery, signal?: AbortSignal): Promise<Api.MessagePage> {
    return get(url("messages", query, keys), signal);
  }

  position(keys: string[], query: PositionQuery, signal?: AbortSignal): Promise<number> {
    return get(url("messages/position", query, keys), signal);
  }

  call(keys: string[], at: number, call: number, signal?: AbortSignal): Promise<Api.CallDetail> {
    return get(url("call", { at, call }, keys), signal);
  }

  raw(keys: string[], at: number, slice: Slice, signal?: AbortSignal): Promise<Api.RawPage> {
    return get(url("raw", { at, ...slice }, keys), signal);
  }

  async line(keys: string[], at: number, line: number, signal?: AbortSignal): Promise<string> {
    return (await ask(url("line", { at, line }, keys), { signal: signal ?? null })).text();
  }

  async payload(
    keys: string[],
    at: number,
    line: number,
    call: number | null,
    signal?: AbortSignal,
  ): Promise<string> {
    return (await ask(url("payload", { at, line, call }, keys), { signal: signal ?? null })).text();
  }

  async lineFile(keys: string[], at: number, line: number): Promise<Blob> {
    return (await ask(url("line", { at, line }, keys), {})).blob();
  }

  async payloadFile(keys: string[], at: number, line: number, call: number | null): Promise<Blob> {
    return (await ask(url("payload", { at, line, call }, keys), {})).blob();
  }

  tools(keys: string[], signal?: AbortSignal): Promise<Api.ToolsReport> {
    return get(url("tools", {}, keys), signal);
  }

  sessions(keys: string[], signal?: AbortSignal): Promise<Api.SessionRow[]> {
    return get(url("sessions", {}, keys), signal);
  }

  lint(keys: string[], signal?: AbortSignal): Promise<Api.LintReport> {
    return get(url("lint", {}, keys), signal);
  }

  diff(a: string, b: string, query: DiffQuery, signal?: AbortSignal): Promise<Api.DiffReport> {
    return get(url("diff", { a, b, ...query }), signal);
  }

  diffRow(a: string, b: string, row: number, signal?: AbortSignal): Promise<Api.DiffDetail> {
    return get(url("diff/row", { a, b, row }), signal);
  }

  store(minutes: number, signal?: AbortSignal): Promise<Api.StoreReport> {
    return get(url("store", { minutes }), signal);
  }

  async upload(name: string, body: Blob): Promise<Api.Opened> {
    const headers = { "Content-Type": "application/octet-stream" };
    return (await ask(url("upload", { name }), { method: "POST", body, headers })).json() as Promise<Api.Opened>;
  }

  async live(address: string): Promise<Api.Opened> {
    const body = JSON.stringify({ url: address } satisfies Api.LiveRequest);
    const headers = { "Content-Type": "application/json" };
    return (await ask(url("live", {}), { method: "POST", body, headers })).json() as Promise<Api.Opened>;
  }
}

function url(path: string, parameters: Parameters, keys: string[] = []): string {
  const parts: string[] = [];
  if (keys.length > 0) parts.push(`trace=${keys.map(encodeURIComponent).join(";")}`);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== "") parts.push(`${name}=${encodeURIComponent(String(value))}`);
  }
  return parts.length > 0 ? `/api/${path}?${parts.join("&")}` : `/api/${path}`;
}

async function get<T>(address: string, signal: AbortSignal | undefined): Promise<T> {
  const response = await ask(address, { signal: signal ?? null });
  return (await response.json()) as T;
}

/** Sends a request; an error response becomes a `BackendError` with the message of the server. */
export async function ask(address: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${token()}`);
  let response: Response;
  try {
    response = await fetch(address, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new BackendError(0, {
      error: "can't reach `wiretape view`",
      hint: "start `wiretape view` again and use the address that it prints",
      span: null,
    });
  }
  if (response.status === 401) isForeign.value = true;
  if (!response.ok) throw new BackendError(response.status, await problem(response));
  return response;
}

async function problem(response: Response): Promise<Api.Problem> {
  try {
    const body = (await response.json()) as Partial<Api.Problem>;
    if (typeof body.error === "string") {
      return { error: body.error, hint: body.hint ?? null, span: body.span ?? null };
    }
  } catch {
    // Not JSON: the status is all there is.
  }
  return { error: `the server responded with ${response.status} ${response.statusText}`.trim(), hint: null, span: null };
}
