// The open traces, and their changes.

import { batch, computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { Watch, WatchHandlers } from "../api/backend";
import type { Change, Problem, TraceSet } from "../api/types";
import { problemOf } from "../api/backend";
import { route } from "../router";
import { backend } from "./backend";
import { noteOpened } from "./given";
import { resolveTraces } from "./resolve";

const keysNow = signal<string[]>([]);
const setNow = signal<TraceSet | null>(null);
const changeNow = signal<Change | null>(null);
const problemNow = signal<Problem | null>(null);
const linkNow = signal(true);

/** The API keys of the open traces; the two of a diff in order. Empty without traces, or while they are being fetched. */
export const keys: ReadonlySignal<string[]> = keysNow;

/** The open traces; null until they are loaded. */
export const traceSet: ReadonlySignal<TraceSet | null> = setNow;

/** The last change that the server reported; null until then. */
export const change: ReadonlySignal<Change | null> = changeNow;

/** Why the traces can't be opened. */
export const setProblem: ReadonlySignal<Problem | null> = problemNow;

/** Whether the server is connected. */
export const isLinked: ReadonlySignal<boolean> = linkNow;

/** Grows with every change of the traces: the `refresh` of a resource. */
export const version: ReadonlySignal<number> = computed(() => {
  const traces = changeNow.value?.traces ?? [];
  return traces.reduce((sum, trace) => sum + trace.version + trace.lines + trace.progress.done, 0);
});

/** Whether any trace is still being recorded. */
export const isLive: ReadonlySignal<boolean> = computed(
  () => setNow.value?.traces.some((trace) => trace.state === "running") ?? false,
);

/** Whether there is more than one trace, so that rows name theirs. */
export const isMerged: ReadonlySignal<boolean> = computed(() => (setNow.value?.traces.length ?? 0) > 1);

/** The label of a trace of the set. */
export function labelOf(trace: number): string {
  return setNow.value?.traces[trace]?.label ?? String(trace + 1);
}

/** The traces of the URL: changes only when the URL names other traces. */
const named = computed(() => {
  const { trace, diff, live } = route.value;
  return JSON.stringify({ trace: diff ?? trace, live });
});

/** Starts following the traces that the URL names. */
export function startSet(): void {
  effect(() => {
    const wanted = JSON.parse(named.value) as { trace: string[]; live: string | null };
    const controller = new AbortController();
    let watch: Watch | undefined;
    batch(() => {
      keysNow.value = [];
      setNow.value = null;
      changeNow.value = null;
      problemNow.value = null;
    });
    void open(wanted.trace, wanted.live, controller.signal, (started) => (watch = started));
    return () => {
      controller.abort();
      watch?.stop();
    };
  });
}

async function open(
  trace: string[],
  live: string | null,
  signal: AbortSignal,
  started: (watch: Watch) => void,
): Promise<void> {
  try {
    const found = await resolveTraces(backend, trace, live, signal);
    if (signal.aborted) return;
    if (found.length > 0) noteOpened();
    if (found.length > 0 || backend.isReport) {
      const set = await backend.set(found, signal);
      if (signal.aborted) return;
      batch(() => {
        keysNow.value = backend.isReport ? set.traces.map((trace) => trace.key) : found;
        setNow.value = set;
      });
    }
    started(backend.watch(found, watcher(found, signal)));
  } catch (error) {
    if (!signal.aborted) problemNow.value = problemOf(error);
  }
}

/** A trace that is being read changes constantly, so the page updates once a second; a live trace updates at once. */
const READING_MS = 1000;
const LIVE_MS = 100;

function watcher(found: string[], signal: AbortSignal): WatchHandlers {
  let waiting: Change | null = null;
  let lastAt = -Infinity;
  const show = async (): Promise<void> => {
    const next = waiting;
    if (next === null || signal.aborted) return;
    lastAt = performance.now();
    try {
      const set = found.length > 0 ? await backend.set(found, signal) : null;
      if (signal.aborted) return;
      batch(() => {
        if (set !== null) setNow.value = set;
        changeNow.value = next;
      });
    } catch {
      // The next change fetches again; `isLinked` shows a lost connection.
    }
    if (waiting === next) waiting = null;
    else schedule();
  };
  const schedule = (): void => {
    const isReading = waiting?.traces.some((trace) => !trace.progress.isComplete) ?? false;
    const wait = lastAt + (isReading ? READING_MS : LIVE_MS) - performance.now();
    setTimeout(() => void show(), Math.max(0, wait));
  };
  return {
    onChange(next: Change): void {
      if (signal.aborted) return;
      const isScheduled = waiting !== null;
      waiting = next;
      if (!isScheduled) schedule();
    },
    onLink(isUp: boolean): void {
      if (!signal.aborted) linkNow.value = isUp;
    },
  };
}
