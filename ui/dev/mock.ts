// A made-up server inside `npm run dev`. Never part of the build.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import type { CallRow, Change, MessageRow, Problem, TraceInfo, TraceSet } from "../src/api/types.ts";
import { FilterError, matches, parse } from "../src/report/filter.ts";
import { BEGIN_US, detailOf, hugeCall, hugeMessage, makeTrace, rawText, type Made } from "./data.ts";
import { diffReport, diffRow, lintReport, sessionsOf, storeReport, toolsOf } from "./reports.ts";

const HUGE = 1_000_000;
const traces: Made[] = [
  makeTrace("demo", "files", 300, 7),
  makeTrace("web", "weather", 120, 42),
  makeTrace("live", "notes", 12, 3, true),
  { info: hugeInfo(), calls: [], messages: [] },
  makeTrace("empty", "silent", 0, 5),
];
let version = 1;

/** The live trace gets a call a second. */
function grow(): void {
  const live = traces[2];
  if (live === undefined) return;
  const made = makeTrace("live", "notes", live.calls.length + 1, 3, true);
  const shift = Date.now() * 1000 - made.info.lastUs;
  for (const row of [...made.calls, ...made.messages]) row.atUs += shift;
  made.info.startedUs += shift;
  made.info.lastUs += shift;
  traces[2] = made;
  version += 1;
}

type Ask = { url: URL; chosen: Made[]; number(name: string, otherwise: number): number; text(name: string): string };

const ANSWERS: Record<string, (ask: Ask) => unknown> = {
  home: () => ({
    version: "0.2.0", found: traces.length, total: traces.length, hasStore: true, given: [], unreadable: ["broken.mcptrace.jsonl: the first line is not a trace's"],
    traces: traces.toSorted((a, b) => Number(b.info.state === "running") - Number(a.info.state === "running")).map(({ info }) => ({
      ...info, durationUs: info.lastUs - info.startedUs, bytes: info.lines * 512,
    })),
  }),
  pending: () => [{ trace: "live", label: "notes", call: 1, atUs: Date.now() * 1000 - 42e6, ageUs: 42e6, direction: "in", method: "tools/call", tool: "run_tests", session: null, progress: 3 }],
  set: ({ chosen }) => setOf(chosen),
  calls: (ask) => callsOf(ask),
  timeline: (ask) => timelineOf(ask),
  density: (ask) => densityOf(ask),
  messages: (ask) => messagesOf(ask),
  "messages/position": (ask) => ask.number("line", 1) - 1,
  call: ({ chosen, number }) => {
    const at = number("at", 0);
    const made = chosen[at];
    const row = made?.calls[number("call", 1) - 1];
    if (made === undefined || row === undefined) throw new Refused(404, "there is no such call");
    const detail = detailOf(made, { ...row, trace: at });
    return { ...detail, nested: detail.nested.map((nested) => ({ ...nested, trace: at })) };
  },
  raw: ({ chosen, number }) => {
    const made = chosen[number("at", 0)];
    const from = number("from", 0);
    const total = made?.info.lines ?? 0;
    const rows = made ? slice(made, from, Math.min(number("limit", 200), total - from)) : [];
    return { total, lines: rows.map((row) => ({ line: row.line, text: rawText(row), bytes: rawText(row).length, isCut: false })) };
  },
  tools: ({ chosen }) => toolsOf(chosen),
  sessions: ({ chosen }) => sessionsOf(chosen),
  lint: () => lintReport(),
  diff: ({ number, text }) => diffReport(number("from", 0), number("limit", 200), text("status")),
  "diff/row": () => diffRow(),
  store: () => storeReport(),
};

class Refused extends Error {
  constructor(readonly status: number, what: string, readonly span: [number, number] | null = null) {
    super(what);
  }
}

export function mock(): Plugin {
  return {
    name: "wiretape-mock",
    configureServer(server) {
      const timer = setInterval(grow, 1000);
      server.httpServer?.on("close", () => clearInterval(timer));
      server.middlewares.use("/api", (request, response) => answer(request, response));
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://mock");
  const path = url.pathname.slice(1);
  try {
    if (path === "upload" || path === "live") return send(response, 200, { key: path === "live" ? "live" : "web" });
    const keys = (/[?&]trace=([^&]*)/.exec(url.search)?.[1] ?? "").split(";").filter((key) => key !== "").map(decodeURIComponent);
    const chosen = keys.map((key) => {
      const found = traces.find(({ info }) => info.key === key);
      if (found === undefined) throw new Refused(404, `there is no trace ${key}`);
      return found;
    });
    if (path === "watch") return watch(request, response, keys);
    const text = (name: string): string => url.searchParams.get(name) ?? "";
    const ask: Ask = { url, chosen, text, number: (name, otherwise) => Number(text(name) || otherwise) };
    if (path === "line" || path === "payload") {
      const row = chosen[ask.number("at", 0)]?.messages[ask.number("line", 1) - 1];
      response.end(row ? rawText(row) : "");
      return;
    }
    const found = ANSWERS[path];
    if (found === undefined) throw new Refused(404, `there is no ${path}`);
    send(response, 200, found(ask));
  } catch (error) {
    const known = error instanceof Refused ? error : null;
    const words = error instanceof Error ? error.message : String(error);
    send(response, known?.status ?? 500, { error: words, hint: null, span: known?.span ?? null } satisfies Problem);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
}

function watch(request: IncomingMessage, response: ServerResponse, keys: string[]): void {
  response.setHeader("Content-Type", "text/event-stream");
  let told = "";
  const tell = (): void => {
    const change: Change = {
      home: version,
      traces: keys.flatMap((key) => traces.filter(({ info }) => info.key === key)).map(({ info }) => ({
        lines: info.lines, calls: info.calls, version: info.state === "running" ? version : 1, progress: info.progress,
        lint: null, tokens: null, state: info.state,
      })),
    };
    const text = JSON.stringify(change);
    if (text !== told) response.write(`data: ${text}\n\n`);
    told = text;
  };
  const timer = setInterval(tell, 200);
  tell();
  request.on("close", () => clearInterval(timer));
}

function setOf(chosen: Made[]): TraceSet {
  const infos = chosen.map(({ info }) => info);
  return {
    traces: infos, isReport: false,
    fromUs: Math.min(...infos.map((info) => info.startedUs)),
    toUs: Math.max(...infos.map((info) => info.lastUs)),
  };
}

function test(ask: Ask): (row: CallRow | MessageRow) => boolean {
  const text = ask.text("filter");
  try {
    const filter = parse(text);
    return (row) => matches(filter, { ...row, server: ask.chosen[row.trace]?.info.label ?? "" }, (wanted) => `${row.method} ${row.tool} ${row.about}`.toLowerCase().includes(wanted));
  } catch (error) {
    throw error instanceof FilterError ? new Refused(400, error.message, error.span) : error;
  }
}

const isHuge = (made: Made | undefined): boolean => made?.info.key === "huge";

function slice(made: Made, from: number, limit: number): MessageRow[] {
  if (!isHuge(made)) return made.messages.slice(from, from + limit);
  return Array.from({ length: Math.max(0, Math.min(limit, HUGE - from)) }, (_, n) => hugeMessage(from + n));
}

function callsOf(ask: Ask): unknown {
  const from = ask.number("from", 0);
  const limit = ask.number("limit", 200);
  const passes = test(ask);
  if (isHuge(ask.chosen[0])) {
    const rows = Array.from({ length: Math.max(0, Math.min(limit, HUGE / 2 - from)) }, (_, n) => hugeCall(from + n));
    return { total: HUGE / 2, all: HUGE / 2, from, rows };
  }
  const all = ask.chosen.flatMap(({ calls }, trace) => calls.map((call) => ({ ...call, trace })));
  const rows = all.filter(passes).toSorted(order(ask.text("sort")));
  return { total: rows.length, all: all.length, from, rows: rows.slice(from, from + limit) };
}

function order(sort: string): (a: CallRow, b: CallRow) => number {
  const sign = sort.startsWith("-") ? -1 : 1;
  const by: Record<string, (row: CallRow) => number | string> = {
    time: (row) => row.atUs, latency: (row) => row.latencyUs ?? -1, name: (row) => row.tool ?? row.method, status: (row) => row.status,
    request: (row) => row.requestBytes, response: (row) => row.responseBytes ?? -1,
  };
  const value = by[sort.replace("-", "")] ?? ((row: CallRow) => row.atUs);
  return (a, b) => (value(a) < value(b) ? -sign : value(a) > value(b) ? sign : 0);
}

function messagesOf(ask: Ask): unknown {
  const from = ask.number("from", 0);
  const limit = ask.number("limit", 200);
  const passes = test(ask);
  const [first] = ask.chosen;
  if (first !== undefined && isHuge(first)) return { total: HUGE, all: HUGE, from, rows: slice(first, from, limit) };
  const all = ask.chosen.flatMap(({ messages }, trace) => messages.map((row) => ({ ...row, trace }))).toSorted((a, b) => a.atUs - b.atUs);
  const rows = all.filter(passes);
  return { total: rows.length, all: all.length, from, rows: rows.slice(from, from + limit) };
}

function timelineOf(ask: Ask): unknown {
  const fromUs = ask.number("from_us", 0);
  const toUs = ask.number("to_us", Infinity);
  const passes = test(ask);
  const made = isHuge(ask.chosen[0]) ? Array.from({ length: 5000 }, (_, n) => hugeCall(Math.max(0, Math.floor((fromUs - BEGIN_US) / 1800)) + n)) : null;
  const all = made ?? ask.chosen.flatMap(({ calls }, trace) => calls.map((call) => ({ ...call, trace })));
  const inside = all.filter((row) => row.atUs <= toUs && row.atUs + (row.latencyUs ?? 0) >= fromUs && passes(row));
  const longest = inside.toSorted((a, b) => (b.latencyUs ?? 0) - (a.latencyUs ?? 0)).slice(0, ask.number("limit", 2000));
  const bars = longest.toSorted((a, b) => a.atUs - b.atUs).map((row) => ({
    trace: row.trace, call: row.call, atUs: row.atUs, latencyUs: row.latencyUs, status: row.status, isError: row.isError,
    direction: row.direction, name: row.tool ?? row.method, parent: row.parent, progress: row.progress,
  }));
  return { bars, total: inside.length };
}

function densityOf(ask: Ask): unknown {
  const buckets = ask.number("buckets", 200);
  const { fromUs, toUs } = setOf(ask.chosen);
  const empty = (): number[] => new Array<number>(buckets).fill(0);
  const density = { fromUs, toUs, calls: empty(), errors: empty(), stderr: empty() };
  const place = (atUs: number): number => Math.min(buckets - 1, Math.floor(((atUs - fromUs) / Math.max(1, toUs - fromUs)) * buckets));
  const add = (counts: number[], atUs: number): void => {
    counts[place(atUs)] = (counts[place(atUs)] ?? 0) + 1;
  };
  for (const { calls, messages } of ask.chosen) {
    for (const call of calls) {
      add(density.calls, call.atUs);
      if (call.isError) add(density.errors, call.atUs);
    }
    for (const row of messages) if (row.kind === "stderr") add(density.stderr, row.atUs);
  }
  if (isHuge(ask.chosen[0])) density.calls = density.calls.map((_, n) => 1000 + ((n * 7919) % 900));
  return density;
}

function hugeInfo(): TraceInfo {
  return {
    key: "huge", label: "million", file: "million.mcptrace.jsonl", client: "loadtest 1.0", server: "echo 1.0", revision: "2025-11-25", transport: "http",
    command: "http://localhost:9000/mcp", startedUs: BEGIN_US, lastUs: BEGIN_US + HUGE * 900, state: "no-end", stateText: "no end", failure: null, notices: ["The recording was cut off: there is no end line."],
    lines: HUGE, messages: HUGE, calls: HUGE / 2, errors: 16129, progress: { done: 640e6, total: 1000e6, isComplete: false },
  };
}
