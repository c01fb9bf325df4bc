// A client that talks to the sample server through the recorder.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "./support.mjs";

export class Session {
  /** When the last request was sent. */
  sentAt = 0;
  /** By which the trace goes in URLs. */
  key = "";
  #next = 0;
  #bench;

  constructor(bench, label, options = []) {
    this.#bench = bench;
    this.label = label;
    this.program = bench.start(["record", "--label", label, ...options, "--", process.env.WIRETAPE_BINARY, "sample-server"]);
  }

  /** Begins the session. */
  async greet() {
    const clientInfo = { name: "tester", version: "1.0.0" };
    await this.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    this.program.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    this.key = await eventually("the trace", () => this.#find());
  }

  async tool(name, args) {
    await this.ask("tools/call", { name, arguments: args });
  }

  /** Sends a request, and waits for its answer. */
  async ask(method, params) {
    const id = this.#next;
    this.#next += 1;
    this.sentAt = Date.now();
    this.program.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    await this.program.prints(new RegExp(`"id":${id},"(result|error)"`));
  }

  /** Hangs up, as a client does. */
  async end() {
    this.program.child.stdin.end();
    await this.program.ended;
  }

  async #find() {
    const names = await readdir(this.#bench.traces);
    const name = names.find((name) => name.endsWith(`-${this.label}.jsonl`));
    const [first] = (await readFile(join(this.#bench.traces, name), "utf8")).split("\n", 1);
    return JSON.parse(first).id;
  }
}
