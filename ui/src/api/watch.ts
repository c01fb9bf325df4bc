// Follows changes on the server: an event stream over fetch, because EventSource can't send a token.

import { BackendError, type Watch, type WatchHandlers } from "./backend";
import { EventReader } from "./events";
import { ask } from "./http";
import type { Change } from "./types";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

export function watch(address: string, handlers: WatchHandlers): Watch {
  const controller = new AbortController();
  void follow(address, handlers, controller.signal);
  return { stop: () => controller.abort() };
}

async function follow(address: string, handlers: WatchHandlers, signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      await read(address, handlers, signal, () => (wait = FIRST_WAIT_MS));
    } catch (error) {
      // A 4xx response would not change on a retry.
      if (error instanceof BackendError && error.status >= 400 && error.status < 500) return;
    }
    if (signal.aborted) return;
    handlers.onLink(false);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function read(
  address: string,
  handlers: WatchHandlers,
  signal: AbortSignal,
  connected: () => void,
): Promise<void> {
  const response = await ask(address, { signal, headers: { Accept: "text/event-stream" } });
  const stream = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (stream === undefined) return;
  connected();
  handlers.onLink(true);
  const events = new EventReader();
  for (;;) {
    const { done, value } = await stream.read();
    if (done || signal.aborted) return;
    for (const data of events.push(value)) handlers.onChange(JSON.parse(data) as Change);
  }
}
