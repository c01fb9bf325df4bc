// A server that crashed is red wherever it is shown, with its exit code and its last words.

import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { eventually, open, reads, rows, test } from "./support.mjs";
import { Tape, textResult } from "./traces.mjs";

const LAST = "FATAL: out of memory";

/** A real server: it answers `initialize`, and dies of the second call. */
const DYING = [
  `read -r line; printf '%s\\n' '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"acme","version":"1"}}}'`,
  `read -r line`,
  `echo 'worker 3: heap at 512 MB' >&2`,
  `echo '${LAST}' >&2`,
  `exit 137`,
].join("; ");

await test(async (bench) => {
  const tape = new Tape("healthy").greet();
  tape.tool(10, 5, 1, "add", { a: 1 }, textResult("2"));
  await tape.end(50).write(bench, "healthy.jsonl");
  const recorded = await crash(bench);
  const server = await bench.view();
  const page = await bench.page();

  await bench.check("home has it in red, with exit code and last words", async () => {
    await open(page, server);
    const row = rows(page, "Traces").filter({ hasText: "acme" });
    await reads(row, /crashed \(exit 137\)[^]*FATAL: out of memory/);
    await looksFailed(row.getByText("crashed (exit 137)"));
    await looksFailed(row.getByText(LAST));
    assert.equal(await row.locator(".trace-file").getAttribute("title"), `worker 3: heap at 512 MB\n${LAST}`);
    await eventually("the row is marked", async () => (await row.getAttribute("class")).includes("error"));
    const healthy = rows(page, "Traces").filter({ hasText: "healthy" });
    assert.equal((await healthy.getAttribute("class")).includes("error"), false);
  });

  for (const view of ["timeline", "calls", "messages", "lint"]) {
    await bench.check(`${view} says how it ended`, async () => {
      await open(page, server, `?trace=${recorded}`, `view=${view}`);
      await saysSo(page);
    });
  }

  await bench.check("a call that was in flight says why it has no response", async () => {
    await open(page, server, `?trace=${recorded}`, "view=call&call=2");
    await inFlight(page);
  });

  await bench.check("so does a report", async () => {
    const file = join(bench.home, "crash.html");
    await bench.wiretape(["export", "html", recorded, "-o", file]);
    const offline = await bench.offlinePage();
    await offline.goto(`${pathToFileURL(file)}#view=calls`);
    await saysSo(offline);
    await offline.goto("about:blank");
    await offline.goto(`${pathToFileURL(file)}#view=call&call=2`);
    await inFlight(offline);
    offline.quiet();
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** Records the server's death; the id of the trace. */
async function crash(bench) {
  const program = bench.start(["record", "--label", "acme", "--", "sh", "-c", DYING]);
  const send = (id, method, params) => program.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  const clientInfo = { name: "tester", version: "1.0.0" };
  send(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  await program.prints(/"id":1,"result"/);
  send(2, "tools/call", { name: "deploy", arguments: {} });
  assert.equal(await program.ended, 137);
  const listed = await bench.wiretape(["ls", "--json"]);
  const trace = listed.split("\n").filter(Boolean).map(JSON.parse).find(({ label }) => label === "acme");
  return trace.id;
}

/** The top bar and the banner. */
async function saysSo(page) {
  await looksFailed(page.getByRole("banner").getByText("crashed (exit 137)"));
  const banner = page.getByRole("region", { name: "Notices" });
  await reads(banner, `acme: crashed (exit 137) with 1 call in flight: ${LAST}`);
  await banner.getByText("acme: crashed").click();
  await banner.getByText("worker 3: heap at 512 MB").waitFor();
}

async function inFlight(page) {
  await page.getByRole("heading", { name: "deploy" }).waitFor();
  const notice = page.getByRole("main").getByText("The server crashed (exit 137) before it responded.");
  await looksFailed(notice);
  await reads(page.getByRole("main").getByRole("group", { name: "The server's last lines on standard error" }), /worker 3: heap at 512 MB\s+FATAL: out of memory/);
}

/** It has the colour of errors. */
async function looksFailed(locator) {
  await locator.first().waitFor();
  const [own, error] = await locator.first().evaluate((node) => {
    const probe = document.createElement("span");
    probe.style.color = "var(--error)";
    document.body.append(probe);
    const colours = [getComputedStyle(node).color, getComputedStyle(probe).color];
    probe.remove();
    return colours;
  });
  assert.equal(own, error);
}
