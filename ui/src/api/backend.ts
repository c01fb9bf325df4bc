// The source of the page's data: the server (http.ts), or the contents of an exported report (report/backend.ts).

import type {
  CallDetail,
  CallPage,
  Change,
  Density,
  DiffDetail,
  DiffReport,
  Home,
  LintReport,
  MessagePage,
  Opened,
  PendingRow,
  Problem,
  RawPage,
  SessionRow,
  StoreReport,
  Timeline,
  ToolsReport,
  TraceSet,
} from "./types";

/** A range of rows. */
export type Slice = { from: number; limit: number };

export type CallsQuery = Slice & { filter: string; sort: string };
export type MessagesQuery = Slice & { filter: string };
export type TimelineQuery = { filter: string; fromUs: number; toUs: number; limit: number };
export type PositionQuery = { at: number; line: number; filter: string };
export type DiffQuery = Slice & { status: string };

/** Reports changes until it is stopped. */
export type Watch = { stop(): void };
export type WatchHandlers = {
  onChange(change: Change): void;
  /** Whether there is a connection. */
  onLink(isUp: boolean): void;
};

/** `keys` are the traces of the set (`keys.value` of state/set.ts); `at` is the index of one of them. */
export interface Backend {
  /** Whether this is an exported report: no home, diff, store, upload or live. */
  readonly isReport: boolean;
  /** The traces that match all words of `search`. */
  home(search: string, signal?: AbortSignal): Promise<Home>;
  /** The calls in flight in all running recordings, oldest first. */
  pending(signal?: AbortSignal): Promise<PendingRow[]>;
  set(keys: string[], signal?: AbortSignal): Promise<TraceSet>;
  watch(keys: string[], handlers: WatchHandlers): Watch;
  calls(keys: string[], query: CallsQuery, signal?: AbortSignal): Promise<CallPage>;
  timeline(keys: string[], query: TimelineQuery, signal?: AbortSignal): Promise<Timeline>;
  density(keys: string[], buckets: number, signal?: AbortSignal): Promise<Density>;
  messages(keys: string[], query: MessagesQuery, signal?: AbortSignal): Promise<MessagePage>;
  /** The index of a line in the list of messages. */
  position(keys: string[], query: PositionQuery, signal?: AbortSignal): Promise<number>;
  call(keys: string[], at: number, call: number, signal?: AbortSignal): Promise<CallDetail>;
  raw(keys: string[], at: number, slice: Slice, signal?: AbortSignal): Promise<RawPage>;
  /** A complete line. It may have hundreds of megabytes: use `raw` to display lines, and this only for short ones. */
  line(keys: string[], at: number, line: number, signal?: AbortSignal): Promise<string>;
  /** The complete payload of a line; `call` selects a message of a batch. */
  payload(keys: string[], at: number, line: number, call: number | null, signal?: AbortSignal): Promise<string>;
  /** Lines and payloads as files to save, without turning them into strings. */
  lineFile(keys: string[], at: number, line: number): Promise<Blob>;
  payloadFile(keys: string[], at: number, line: number, call: number | null): Promise<Blob>;
  tools(keys: string[], signal?: AbortSignal): Promise<ToolsReport>;
  sessions(keys: string[], signal?: AbortSignal): Promise<SessionRow[]>;
  lint(keys: string[], signal?: AbortSignal): Promise<LintReport>;
  diff(a: string, b: string, query: DiffQuery, signal?: AbortSignal): Promise<DiffReport>;
  diffRow(a: string, b: string, row: number, signal?: AbortSignal): Promise<DiffDetail>;
  store(minutes: number, signal?: AbortSignal): Promise<StoreReport>;
  upload(name: string, body: Blob): Promise<Opened>;
  live(url: string): Promise<Opened>;
}

/** An error response of a backend. */
export class BackendError extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(status: number, problem: Problem) {
    super(problem.error);
    this.name = "BackendError";
    this.status = status;
    this.problem = problem;
  }
}

/** Any error as a problem that can be shown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof BackendError) return error.problem;
  const words = error instanceof Error ? error.message : String(error);
  return { error: words, hint: null, span: null };
}
