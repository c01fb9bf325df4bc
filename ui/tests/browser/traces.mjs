// Traces for tests: those of the repository, and some that are made up here.

import { createWriteStream } from "node:fs";
import { copyFile, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { ROOT } from "./support.mjs";

/** Two servers that one client talked to at the same time, and one of them a day later. */
export const NOTES = "0b6f8c1e-52a7-4c1d-9d3e-7a41f0c2b901";
export const WEATHER = "c1a4e5d2-90b3-4e7f-a6d8-5f0e1b2c3d03";
export const NOTES_LATER = "6d20c7f4-1be9-4f6a-8c55-23e9a4d7f802";

export function fixture(name) {
  return join(ROOT, "fixtures", name);
}

/** Puts traces of the repository among those of a test. */
export async function lay(bench, ...names) {
  for (const name of names) await copyFile(fixture(name), join(bench.traces, basename(name)));
}

/** Puts the traces of `fixtures/view` among those of a test. */
export async function layThree(bench) {
  await lay(bench, "view/notes.jsonl", "view/weather.jsonl", "view/notes-later.jsonl");
}

const START_MS = Date.parse("2026-07-01T12:00:00Z");

/** Writes a trace line by line, as a recorder does. Times are in milliseconds since its start. */
export class Tape {
  #lines = [];
  #seq = 0;

  constructor(label, { startMs = START_MS, id = idOf(label) } = {}) {
    this.startMs = startMs;
    this.id = id;
    const startedAt = new Date(startMs).toISOString();
    const producer = { name: "wiretape", version: "0.1.0" };
    this.line({ v: 1, type: "meta", startedAt, label, command: ["./server"], id, producer, transport: "stdio", redacted: true });
  }

  /** Any line, as it is. */
  line(value) {
    this.#lines.push(typeof value === "string" ? value : JSON.stringify(value));
    return this;
  }

  timed(ms, value) {
    this.#seq += 1;
    const t = new Date(this.startMs + Math.floor(ms)).toISOString();
    return this.line({ t, seq: this.#seq, us: Math.round(ms * 1000), ...value });
  }

  message(ms, dir, raw) {
    return this.timed(ms, { dir, raw });
  }

  /** A request of the client and its answer. */
  call(ms, took, id, method, params, answer) {
    this.message(ms, "in", { jsonrpc: "2.0", id, method, params });
    if (answer !== undefined) this.message(ms + took, "out", { jsonrpc: "2.0", id, ...answer });
    return this;
  }

  tool(ms, took, id, name, args, result) {
    return this.call(ms, took, id, "tools/call", { name, arguments: args }, { result });
  }

  greet(name = "server") {
    const hello = { protocolVersion: "2025-11-25", capabilities: {} };
    const answer = { ...hello, capabilities: { tools: {} }, serverInfo: { name, version: "1.0.0" } };
    this.call(1, 1, "hello", "initialize", { ...hello, clientInfo: { name: "tester", version: "1.0.0" } }, { result: answer });
    return this.message(3, "in", { jsonrpc: "2.0", method: "notifications/initialized" });
  }

  end(ms) {
    return this.timed(ms, { type: "end", exitCode: 0, durationMs: Math.floor(ms) });
  }

  get text() {
    return `${this.#lines.join("\n")}\n`;
  }

  async write(bench, name) {
    const path = join(bench.traces, name);
    await writeFile(path, name.endsWith(".gz") ? gzipSync(this.text) : this.text);
    return path;
  }
}

export function textResult(text) {
  return { content: [{ type: "text", text }] };
}

/** An id that is the same in every run. */
function idOf(label) {
  let hash = 0x811c9dc5;
  for (const char of label) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193) >>> 0;
  return `${hash.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
}

/** Writes many lines without holding them all; `lineOf` makes the n-th. */
export async function writeLines(path, head, count, lineOf) {
  const file = createWriteStream(path);
  file.write(head);
  let piece = "";
  for (let n = 0; n < count; n++) {
    piece += `${lineOf(n)}\n`;
    if (piece.length > 1_000_000) {
      if (!file.write(piece)) await once(file, "drain");
      piece = "";
    }
  }
  file.end(piece);
  await once(file, "close");
  return path;
}
