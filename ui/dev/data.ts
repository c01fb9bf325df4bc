// Made-up traces for development: no server is needed to work on the page.

import type { CallDetail, CallRow, Dir, LineKind, MessageRow, TraceInfo } from "../src/api/types.ts";

export const BEGIN_US = Date.UTC(2026, 10, 15, 13, 0, 0) * 1000;

/** The same numbers each time. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const TOOLS = ["search_files", "read_file", "write_file", "list_directory", "run_query", "fetch_page", "summarize"];
const ABOUTS: Record<string, string> = {
  search_files: '{"pattern": "**/*.rs", "query": "fn main"}',
  read_file: '{"path": "/home/ada/notes/lisbon.md"}',
  write_file: '{"path": "/tmp/out.txt", "content": "\u202eevil\u202c <script>alert(1)</script>"}',
  list_directory: '{"path": "/home/ada"}',
  run_query: '{"sql": "select count(*) from orders where total > 100"}',
  fetch_page: '{"url": "https://example.com/a/long/path/to/something?with=parameters&and=more"}',
  summarize: '{"text": "Tram 28 is full after nine. Pastéis de Belém are best warm.", "words": 40}',
};

export type Made = { info: TraceInfo; calls: CallRow[]; messages: MessageRow[] };

export function makeTrace(key: string, label: string, calls: number, seed: number, live = false): Made {
  const roll = dice(seed);
  const rows: CallRow[] = [];
  const messages: MessageRow[] = [];
  let at = BEGIN_US + Math.floor(roll() * 4e6);
  const line = (row: Omit<MessageRow, "line" | "trace">): number => {
    messages.push({ ...row, trace: 0, line: 0 });
    return messages.length;
  };
  line(message(at, "unknown", "meta", { about: `${label}: npx ${label}-server`, bytes: 412 }));
  let parent: number | null = null;
  let parentEnd = 0;
  for (let n = 1; n <= calls; n++) {
    const isNested = parent !== null && roll() < 0.5;
    const method = n === 1 ? "initialize" : n === 2 ? "tools/list" : isNested ? "sampling/createMessage" : roll() < 0.85 ? "tools/call" : "resources/read";
    const tool = method === "tools/call" ? (TOOLS[Math.floor(roll() ** 2 * TOOLS.length)] ?? null) : null;
    at += Math.floor(roll() ** 4 * (isNested ? 2e5 : 6e6)) + 800;
    let latency = Math.floor(400 + roll() ** 6 * 4e6);
    if (isNested) latency = Math.min(latency, Math.max(500, parentEnd - at - 500));
    const luck = roll();
    const status = luck < 0.88 ? "ok" : luck < 0.94 ? "tool-error" : luck < 0.97 ? "protocol-error" : luck < 0.985 ? "cancelled" : "unanswered";
    const answered = status === "ok" || status.endsWith("error");
    const direction: Dir = isNested ? "out" : "in";
    const about = method === "initialize" ? "2025-11-25 claude-desktop 1.2.0" : tool === null ? "" : (ABOUTS[tool] ?? "");
    const row: CallRow = {
      trace: 0, call: n, line: 0, responseLine: null, atUs: at, direction, id: String(n), session: null, method, tool, status,
      isError: status.endsWith("error"), isOpen: live && n === calls, code: status === "protocol-error" ? -32602 : null,
      latencyUs: answered ? latency : null, personUs: 0, clientUs: 0, requestBytes: 80 + Math.floor(roll() * 400),
      responseBytes: answered ? Math.floor(60 + roll() ** 5 * 900_000) : null, progress: tool === "run_query" ? 4 : 0,
      nested: 0, parent: isNested ? parent : null, operation: null, about,
    };
    rows.push(row);
    if (!isNested) {
      parent = latency > 8e5 && answered ? n : null;
      parentEnd = at + latency;
    } else {
      const holder = rows[(parent ?? 1) - 1];
      if (holder) holder.nested += 1;
      if (at + latency > parentEnd - 1e5) parent = null;
    }
    const base = { method, tool, id: row.id, call: n };
    line(message(at, direction, "request", { ...base, about, bytes: row.requestBytes }));
    if (roll() < 0.15) line(message(at + 300, "out", "stderr", { about: `[info] handling request ${n}`, bytes: 60 }));
    for (let p = 1; p <= row.progress; p++) {
      line(message(at + (latency * p) / 5, "out", "notification", { method: "notifications/progress", call: n, about: `${p}/4 looked into part ${p}`, bytes: 120 }));
    }
    if (answered) {
      const words = status === "ok" ? "Tram 28 is full after nine. Pastéis de Belém…" : status === "tool-error" ? "can't divide by zero" : "-32602 unknown argument `colour`";
      line(message(at + latency, direction === "in" ? "out" : "in", "response", { ...base, status, isError: row.isError, about: words, bytes: row.responseBytes ?? 0 }));
    }
  }
  if (!live) line(message(at + 5e6, "unknown", "end", { about: "exit 0", bytes: 90 }));
  messages.sort((a, b) => a.atUs - b.atUs);
  messages.forEach((row, index) => {
    row.line = index + 1;
    const call = row.call === null ? undefined : rows[row.call - 1];
    if (call && row.kind === "request") call.line = row.line;
    if (call && row.kind === "response") call.responseLine = row.line;
  });
  return { info: infoOf(key, label, rows, messages, live), calls: rows, messages };
}

function message(atUs: number, direction: Dir, kind: LineKind, more: Partial<MessageRow>): Omit<MessageRow, "line" | "trace"> {
  return { atUs: Math.floor(atUs), direction, kind, method: null, tool: null, id: null, call: null, status: null, isError: false, bytes: 0, about: "", ...more };
}

export function infoOf(key: string, label: string, calls: CallRow[], messages: MessageRow[], live: boolean): TraceInfo {
  return {
    key, label, file: `${label}.mcptrace.jsonl`, client: "claude-desktop 1.2.0", server: `${label}-server 0.4.1`, revision: "2025-11-25", transport: "stdio",
    command: `npx -y @example/${label}-server /home/ada`, startedUs: messages[0]?.atUs ?? BEGIN_US, lastUs: messages.at(-1)?.atUs ?? BEGIN_US,
    state: live ? "running" : "ended", stateText: live ? "recording" : "exit 0", failure: null, notices: [], lines: messages.length, messages: messages.length,
    calls: calls.length, errors: calls.filter((call) => call.isError).length, progress: { done: 1e6, total: 1e6, isComplete: true },
  };
}

/** A line of a trace of a million, without keeping a million. */
export function hugeMessage(index: number): MessageRow {
  const isAnswer = index % 2 === 1;
  const call = Math.floor(index / 2) + 1;
  const tool = TOOLS[call % TOOLS.length] ?? "read_file";
  return {
    trace: 0, line: index + 1, atUs: BEGIN_US + index * 900, direction: isAnswer ? "out" : "in", kind: isAnswer ? "response" : "request", method: "tools/call",
    tool, id: String(call), call, status: isAnswer ? (call % 31 === 0 ? "tool-error" : "ok") : null, isError: isAnswer && call % 31 === 0, bytes: 100 + (index % 977),
    about: isAnswer ? `result ${call}` : (ABOUTS[tool] ?? ""),
  };
}

export function hugeCall(index: number): CallRow {
  const row = hugeMessage(index * 2);
  const isError = (index + 1) % 31 === 0;
  return {
    trace: 0, call: index + 1, line: row.line, responseLine: row.line + 1, atUs: row.atUs, direction: "in", id: row.id, session: null, method: "tools/call", tool: row.tool,
    status: isError ? "tool-error" : "ok", isError, isOpen: false, code: null, latencyUs: 200 + ((index * 7919) % 700), personUs: 0, clientUs: 0, requestBytes: row.bytes,
    responseBytes: row.bytes + 1, progress: 0, nested: 0, parent: null, operation: null, about: row.about,
  };
}

export function rawText(row: MessageRow): string {
  return JSON.stringify({ type: "message", seq: row.line, ts: new Date(row.atUs / 1000).toISOString(), dir: row.direction, raw: payloadOf(row) });
}

function payloadOf(row: MessageRow): unknown {
  if (row.kind === "stderr") return row.about;
  if (row.kind === "response") {
    const content = [{ type: "text", text: `# Result\n\n${row.about}\n\n- one\n- two\n\n\`\`\`rust\nfn main() {}\n\`\`\`\n` }];
    if (row.status === "protocol-error") return { jsonrpc: "2.0", id: Number(row.id), error: { code: -32602, message: row.about } };
    return { jsonrpc: "2.0", id: Number(row.id), result: { content, isError: row.isError, structuredContent: { celsius: 18.5, sky: "light clouds", days: [1, 2, 3] } } };
  }
  if (row.kind === "request") {
    let args: unknown = {};
    try {
      args = JSON.parse(row.about);
    } catch {
      // Not every about is JSON.
    }
    return { jsonrpc: "2.0", id: Number(row.id), method: row.method, params: row.tool === null ? {} : { name: row.tool, arguments: args } };
  }
  return { jsonrpc: "2.0", method: row.method ?? "", params: { message: row.about } };
}

export function detailOf(trace: Made, call: CallRow): CallDetail {
  const text = (line: number): string => {
    const row = trace.messages[line - 1];
    return row ? JSON.stringify(payloadOf(row)) : "{}";
  };
  const request = text(call.line);
  const response = call.responseLine === null ? null : text(call.responseLine);
  return {
    row: call,
    request: { line: call.line, text: request, bytes: request.length, isCut: false },
    response: response === null ? null : { line: call.responseLine ?? 0, text: response, bytes: response.length, isCut: false },
    meanwhile: trace.messages
      .filter((row) => row.call === call.call && row.kind === "notification")
      .map((row) => ({ line: row.line, afterUs: row.atUs - call.atUs, kind: "progress" as const, call: null, about: row.about })),
    more: 0,
    nested: trace.calls.filter((other) => other.parent === call.call),
    operation: null, findings: [], http: null, curl: null,
    previous: call.call > 1 ? call.call - 1 : null,
    next: call.call < trace.calls.length ? call.call + 1 : null,
  };
}
