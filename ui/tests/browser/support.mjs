// What all browser tests share: a data directory of their own, the server, the browser, and a strict eye on the page.
//
// A test is a plain script. It prints what failed and ends with a status other than 0.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

/** The repository. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** How long something may take that is expected to happen. */
export const PATIENCE_MS = 10_000;

const BROWSER_ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

function binary() {
  const path = process.env.WIRETAPE_BINARY;
  assert.ok(path, "WIRETAPE_BINARY names the wiretape to test");
  return path;
}

/** A browser of Chromium's kind: the one that is named, or the first that is installed. */
function chromiumPath() {
  const named = process.env.WIRETAPE_CHROMIUM;
  const names = named ? [named] : ["chromium", "chromium-browser", "google-chrome"];
  const places = names.flatMap((name) => [name, ...(process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name))]);
  return places.find((place) => isAbsolute(place) && existsSync(place)) ?? assert.fail("no browser is installed: WIRETAPE_CHROMIUM names one");
}

/** Runs a test: `body` gets a bench that is cleared away at the end, whatever happens. */
export async function test(body) {
  const bench = await Bench.set();
  giveUpInTime(bench);
  try {
    await body(bench);
  } catch (error) {
    bench.failed("the script itself", error);
  } finally {
    await bench.clear();
  }
  const { failures, checks } = bench;
  console.log(failures === 0 ? `ok: ${checks} checks` : `FAILED: ${failures} of ${checks} checks`);
  process.exit(failures === 0 ? 0 : 1);
}

/** A script that hangs, or that is told to stop, clears away what it started, too. */
function giveUpInTime(bench) {
  const giveUp = async (why) => {
    console.log(`FAILED: ${why}`);
    await bench.clear();
    process.exit(1);
  };
  const seconds = Number(process.env.WIRETAPE_TEST_SECONDS ?? 300);
  setTimeout(() => void giveUp(`not done within ${seconds} s`), seconds * 1000).unref();
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void giveUp(`stopped by ${signal}`));
}

class Bench {
  failures = 0;
  checks = 0;
  #programs = [];
  #browser = null;
  #contexts = [];

  constructor(home) {
    /** A directory for this test alone. */
    this.home = home;
    /** Where its traces lie. */
    this.traces = join(home, "data", "traces");
  }

  static async set() {
    // Never beside real traces, even if a person has set the variable for themselves.
    const home = await mkdtemp(join(process.env.WIRETAPE_DATA_DIR ?? tmpdir(), "wiretape-view-"));
    const bench = new Bench(home);
    await mkdir(bench.traces, { recursive: true });
    return bench;
  }

  async clear() {
    for (const context of this.#contexts) await context.close().catch(() => undefined);
    await this.#browser?.close();
    for (const program of this.#programs) await program.end();
    await rm(this.home, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Checks one thing. A failure is printed, and the next thing is checked. */
  async check(what, body) {
    this.checks += 1;
    const began = performance.now();
    try {
      await body();
    } catch (error) {
      this.failed(what, error);
    }
    if (process.env.WIRETAPE_TEST_TIMES) console.log(`${Math.round(performance.now() - began)} ms: ${what}`);
  }

  failed(what, error) {
    this.failures += 1;
    console.log(`FAILED ${what}\n${indented(error?.stack ?? String(error))}`);
  }

  /** Starts wiretape with this test's data directory. */
  start(args, options = {}) {
    const program = new Program(args, { home: this.home, ...options });
    this.#programs.push(program);
    return program;
  }

  /** Runs wiretape to its end; what it printed. */
  async wiretape(args) {
    const program = this.start(args);
    const status = await program.ended;
    assert.equal(status, 0, `wiretape ${args.join(" ")}: ${program.printed}`);
    return program.printed;
  }

  /** Starts `wiretape view`, and waits until it can be asked. */
  async view(args = []) {
    const program = this.start(["view", "--no-open", ...args]);
    const [, base, token] = await program.prints(/(http:\/\/[^\s#?]+)\S*#token=([0-9a-f]+)/);
    return new Server(program, base, token);
  }

  async browser() {
    this.#browser ??= await chromium.launch({
      executablePath: chromiumPath(),
      // The bench closes it; its own way would leave the rest behind.
      handleSIGINT: false,
      handleSIGTERM: false,
      args: BROWSER_ARGS,
    });
    return this.#browser;
  }

  async context(options = {}) {
    const browser = await this.browser();
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    this.#contexts.push(context);
    return context;
  }

  /** A page that is watched: whatever goes wrong in it is among its `troubles`. */
  async page(options = {}) {
    return watched(await (await this.context(options)).newPage());
  }

  /** The same without a network: a request for anything is trouble. */
  async offlinePage(options = {}) {
    const context = await this.context(options);
    await context.setOffline(true);
    await context.route(/^(https?|wss?|ftp):/, (route) => route.abort());
    return watched(await context.newPage(), { requests: "none" });
  }
}

/** A running wiretape. */
class Program {
  printed = "";
  #listeners = new Set();

  constructor(args, { home, env = {} }) {
    this.child = spawn(binary(), args, {
      cwd: home,
      env: { ...process.env, WIRETAPE_DATA_DIR: join(home, "data"), ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.stdout = "";
    this.child.stdout.on("data", (data) => {
      this.stdout += data;
      this.#heard(data);
    });
    this.child.stderr.on("data", (data) => this.#heard(data));
    // Its input may be closed already when it ends.
    this.child.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => this.#heard(String(error)));
      this.child.on("close", (status) => resolve(status));
    });
  }

  #heard(data) {
    this.printed += data;
    for (const listener of this.#listeners) listener();
  }

  /** Waits until it has printed something. */
  async prints(pattern) {
    const found = () => pattern.exec(this.printed);
    await new Promise((resolve, reject) => {
      const failed = () => reject(new Error(`wiretape printed no ${pattern}: ${this.printed}`));
      const timer = setTimeout(failed, PATIENCE_MS);
      const look = () => {
        if (found() === null) return;
        clearTimeout(timer);
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      void this.ended.then(failed);
      look();
    });
    return found();
  }

  write(line) {
    this.child.stdin.write(`${line}\n`);
  }

  async end() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGTERM");
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 3000);
    await this.ended;
    clearTimeout(timer);
  }
}

/** A running `wiretape view`. */
class Server {
  constructor(program, base, token) {
    this.program = program;
    /** Where it is, with a slash at the end. */
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.token = token;
  }

  /** The address of a state, with the token: as the program prints it. */
  address(query = "", fragment = "") {
    const parts = [fragment, `token=${this.token}`].filter((part) => part !== "");
    return `${this.base}${query}#${parts.join("&")}`;
  }

  /** Asks the API, as the page does. */
  async api(path) {
    const response = await fetch(`${this.base}api/${path}`, { headers: { Authorization: `Bearer ${this.token}` } });
    return response.json();
  }

  async end() {
    await this.program.end();
  }
}

/** Watches a page: errors, what it logs as an error (as broken policies are), dialogs, and requests to elsewhere. */
export function watched(page, { requests = "own" } = {}) {
  const troubles = [];
  const expected = [];
  page.troubles = troubles;
  page.expectTrouble = (pattern) => expected.push(pattern);
  const note = (what) => {
    if (!expected.some((pattern) => pattern.test(what))) troubles.push(what);
  };
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error") note(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("dialog", (dialog) => {
    note(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isInside = ["data:", "blob:", "about:"].includes(url.protocol);
    const isOwn = requests === "own" && url.hostname === "127.0.0.1";
    if (!isInside && !isOwn && !request.isNavigationRequest()) note(`request: ${request.url()}`);
  });
  page.quiet = () => assert.deepEqual(troubles, [], "the page has trouble");
  return page;
}

/** Waits until something holds, and says what it was like if it doesn't. */
export async function eventually(what, holds, limit = PATIENCE_MS) {
  const end = performance.now() + limit;
  let last;
  for (;;) {
    try {
      last = await holds();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`${what}: not within ${limit} ms; last it was ${last?.message ?? JSON.stringify(last)}`);
}

/** Waits until the text of something fits. */
export async function reads(locator, pattern) {
  let text = "";
  const fits = async () => {
    text = await locator.innerText({ timeout: 2000 }).catch((error) => `(${error.message.split("\n", 1)[0]})`);
    return typeof pattern === "string" ? text.includes(pattern) : pattern.test(text);
  };
  await eventually("it reads so", fits).catch(() => assert.fail(`${pattern} is not in: ${text.slice(0, 2000)}`));
}

/** Waits until the address of a page fits. */
export async function at(page, pattern) {
  await eventually("the address", () => pattern.test(page.url()), 5000).catch(() =>
    assert.fail(`${pattern} is not the address ${page.url()}`),
  );
}

/** Opens a state of the page anew, as a printed address does. */
export async function open(page, server, query = "", fragment = "") {
  // From one fragment to another nothing would be loaded.
  await page.goto("about:blank");
  await page.goto(server.address(query, fragment));
}

/** A list of the page, by its name. */
export function list(page, name) {
  return page.getByRole("grid", { name, exact: true });
}

/** The rows of a list, without its head. */
export function rows(page, name) {
  return list(page, name).getByRole("row").filter({ has: page.getByRole("gridcell") });
}

/** The row that the keyboard is at. */
export function active(page, name) {
  return list(page, name).getByRole("row", { selected: true });
}

/** A part of the page, by its heading. */
export function section(page, name) {
  // Around it may be others; the innermost comes last.
  return page.locator("section").filter({ has: page.getByRole("heading", { name, exact: true }) }).last();
}

export function tab(page, name) {
  return page.getByRole("tab", { name, exact: true });
}

export function filterBox(page) {
  return page.getByRole("combobox", { name: "Filter" });
}

function indented(text) {
  return text.replace(/^/gm, "    ");
}
