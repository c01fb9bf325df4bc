// The made-up server's other answers.

import type * as Api from "../src/api/types.ts";
import { BEGIN_US, type Made } from "./data.ts";

const COMPLETE: Api.Progress = { done: 1, total: 1, isComplete: true };
const BUCKETS_US = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7];

export function toolsOf(chosen: Made[]): Api.ToolsReport {
  const all = chosen.reduce((sum, made) => sum + made.calls.length, 0);
  const rows = chosen.flatMap((made, trace) => {
    const names = new Map<string, Api.CallRow[]>();
    for (const call of made.calls) {
      const name = call.tool ?? call.method;
      names.set(name, [...(names.get(name) ?? []), call]);
    }
    return [...names].map(([name, calls]) => ({ isTool: calls[0]?.tool != null, row: toolRow(trace, name, calls, all, made) }));
  });
  const unused = toolRow(0, "delete_everything", [], all, chosen[0]);
  return {
    tools: [...rows.filter(({ isTool }) => isTool).map(({ row }) => row).toSorted((a, b) => b.calls - a.calls), unused],
    methods: rows.filter(({ isTool }) => !isTool).map(({ row }) => row),
    encoding: "o200k_base", tokens: COMPLETE, bucketsUs: BUCKETS_US,
  };
}

function toolRow(trace: number, name: string, calls: Api.CallRow[], all: number, made: Made | undefined): Api.ToolRow {
  const took = calls.flatMap((call) => (call.latencyUs === null ? [] : [call.latencyUs])).toSorted((a, b) => a - b);
  const quantile = (part: number): number | null => took[Math.min(took.length - 1, Math.floor(took.length * part))] ?? null;
  const histogram = new Array<number>(BUCKETS_US.length + 1).fill(0);
  for (const us of took) {
    const at = BUCKETS_US.findIndex((bound) => us <= bound);
    const place = at < 0 ? BUCKETS_US.length : at;
    histogram[place] = (histogram[place] ?? 0) + 1;
  }
  const sparkline = new Array<number>(40).fill(0);
  const from = made?.info.startedUs ?? 0;
  const span = Math.max(1, (made?.info.lastUs ?? 1) - from);
  for (const call of calls) {
    const place = Math.min(39, Math.floor(((call.atUs - from) / span) * 40));
    sparkline[place] = (sparkline[place] ?? 0) + 1;
  }
  const sum = (pick: (call: Api.CallRow) => number): number => calls.reduce((total, call) => total + pick(call), 0);
  return {
    trace, name, direction: calls[0]?.direction ?? "in", calls: calls.length, share: calls.length / Math.max(1, all), errors: sum((call) => Number(call.isError)),
    unanswered: sum((call) => Number(call.latencyUs === null)), meanUs: took.length > 0 ? Math.round(took.reduce((a, b) => a + b) / took.length) : null,
    p50Us: quantile(0.5), p95Us: quantile(0.95), p99Us: quantile(0.99), maxUs: took.at(-1) ?? null, histogram, sparkline,
    requestBytes: sum((call) => call.requestBytes), responseBytes: sum((call) => call.responseBytes ?? 0), definitionTokens: 180 + name.length * 7, resultTokens: sum((call) => Math.round((call.responseBytes ?? 0) / 4)),
    definition: JSON.stringify({
      name, title: name.replaceAll("_", " "), description: `Does what **${name}** says.\n\nUse it with care.`, annotations: { readOnlyHint: true },
      inputSchema: { type: "object", required: ["path"], properties: { path: { type: "string", description: "Where to look" }, depth: { type: "integer", minimum: 0, default: 3 }, kind: { enum: ["file", "folder"] }, options: { type: "object", properties: { hidden: { type: "boolean" }, tags: { type: "array", items: { type: "string" } } } } } },
    }),
  };
}

export function sessionsOf(chosen: Made[]): Api.SessionRow[] {
  return chosen.map(({ info, calls }, trace) => ({
    trace, session: trace === 0 ? null : "0197f2c4-8f3e-7c61", client: info.client, server: info.server, revision: info.revision, fromUs: info.startedUs, toUs: info.lastUs,
    calls: info.calls, errors: info.errors, unanswered: calls.filter((call) => call.latencyUs === null).length,
  }));
}

export function lintReport(): Api.LintReport {
  const finding = (line: number): Api.Finding => ({
    trace: 0, code: "W042", rule: "progress-without-token", severity: "warning", line, call: 3, pointer: "/params/progressToken", message: "there is no request with this token",
    fix: "send the token of a request that is open", before: '{"progressToken":', marked: "17", after: ',"progress":1}',
  });
  const rule = (code: string, name: string, severity: string, count: number): Api.RuleFindings => ({
    code, name, family: "progress", severity, what: "A progress notification whose token no request gave.", why: "Nobody can tell what it belongs to, so clients drop it.",
    fix: "Send the token of the request, as it was.", section: "Progress", url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress", count,
    findings: [5, 9, 22].map(finding),
  });
  return {
    progress: COMPLETE, errors: 3, warnings: 12, infos: 1,
    rules: [rule("E001", "response-without-request", "error", 3), rule("W042", "progress-without-token", "warning", 12), rule("I007", "tool-without-title", "info", 1)],
  };
}

export function diffReport(from: number, limit: number, status: string): Api.DiffReport {
  const statuses = ["same", "same", "changed", "same", "added", "removed"];
  const all = Array.from({ length: 240 }, (_, row): Api.DiffRow => {
    const side: Api.DiffSide = { call: row + 1, line: row * 2 + 1, status: row % 17 === 5 ? "tool-error" : "ok", isError: row % 17 === 5, tookUs: 1000 + row * 37, about: '{"city": "Lisbon"}' };
    const kind = statuses[row % statuses.length] ?? "same";
    return { row, status: kind, pace: row % 9 === 0 ? "slower" : null, direction: "in", method: "tools/call", name: "weather", a: kind === "added" ? null : side, b: kind === "removed" ? null : { ...side, tookUs: 2500 } };
  });
  const rows = all.filter((row) => status === "" || status.split(",").includes(row.status));
  const count = (kind: string): number => all.filter((row) => row.status === kind).length;
  return {
    progress: COMPLETE, same: count("same"), changed: count("changed"), removed: count("removed"), added: count("added"), slower: 27, faster: 0,
    definitions: [{ of: "tool", name: "weather", change: "changed", effect: "breaking", pointer: "/inputSchema/required", message: "`unit` is required now", advice: "give it a default", before: '["city"]', after: '["city","unit"]' }],
    total: rows.length, from, rows: rows.slice(from, from + limit),
  };
}

export function diffRow(): Api.DiffDetail {
  return { differences: [{ part: "result", pointer: "/structuredContent/celsius", before: "18.5", after: "19", inside: [] }], hasMore: false };
}

export function storeReport(): Api.StoreReport {
  const now = BEGIN_US / 1000;
  const call = (n: number): Api.StoreCall => ({
    atMs: now - n * 4000, server: "weather", method: "tools/call", tool: "forecast", id: String(n), status: n % 5 === 0 ? "tool-error" : "ok", isError: n % 5 === 0, error: n % 5 === 0 ? "over quota" : null,
    latencyUs: 9e6 / (n + 1), session: "0197f2c4", trace: "web",
  });
  return {
    rates: Array.from({ length: 60 }, (_, n) => ({ atMs: now - (60 - n) * 60_000, calls: 20 + ((n * 37) % 90), errors: n % 7 })),
    calls: 4210, errors: 93,
    rows: [{ server: "weather", method: "tools/call", tool: "forecast", calls: 3000, errors: 80, p50Us: 12000, p95Us: 90000, maxUs: 9e6 }, { server: "files", method: "tools/list", tool: null, calls: 1210, errors: 13, p50Us: 900, p95Us: 4000, maxUs: 1e5 }],
    slow: Array.from({ length: 10 }, (_, n) => call(n)), newest: Array.from({ length: 10 }, (_, n) => call(n + 10)),
    clients: [{ name: "claude-desktop", version: "1.2.0", sessions: 14, calls: 3100, errors: 50, lastMs: now - 3000 }],
    changes: [{ atMs: now - 86_400_000, server: "weather", method: "tools/list", change: "added", name: "forecast_week" }],
  };
}
