// Calls in flight, on Home: across all running recordings, also when a recording was rotated since.

import assert from "node:assert/strict";
import { at, eventually, open, reads, section, test } from "./support.mjs";

/** A server that never answers, until it is told `answer`. */
const HANGING = `while read -r line; do case "$line" in *'"answer"'*) printf '%s\\n' '{"jsonrpc":"2.0","id":1,"result":{}}';; esac; done`;

await test(async (bench) => {
  const server = await bench.view();
  const page = await bench.page();
  const slow = bench.start(["record", "--label", "slow", "--", "sh", "-c", HANGING]);
  const rotated = bench.start(["record", "--label", "rotated", "--max-bytes", "2kB", "--", "sh", "-c", HANGING]);
  const send = (program, message) => program.write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const call = (program, id, name) => send(program, { id, method: "tools/call", params: { name, arguments: {} } });
  const lines = section(page, "In flight").getByRole("listitem");

  await bench.check("home without calls in flight has no such section", async () => {
    await open(page, server);
    await page.getByRole("main").getByRole("status").first().waitFor();
    assert.equal(await section(page, "In flight").count(), 0);
  });

  await bench.check("calls in flight appear, the oldest first", async () => {
    call(slow, 1, "deploy");
    await reads(lines.first(), "deploy");
    call(rotated, 1, "migrate");
    await eventually("both", async () => (await lines.count()) === 2);
    await reads(lines.nth(0), /deploy[^]*slow/);
    await reads(lines.nth(1), /migrate[^]*rotated/);
  });

  await bench.check("their age ticks while nothing happens", async () => {
    const first = await lines.first().innerText();
    const age = (text) => Number(/^([\d.]+)s/.exec(text)?.[1] ?? 0);
    await eventually("older", async () => age(await lines.first().innerText()) >= Math.max(2, age(first) + 1));
  });

  await bench.check("one from an earlier file of a rotated recording stays, and is a link into that file", async () => {
    const note = { method: "notifications/message", params: { data: "x".repeat(900) } };
    for (let n = 0; n < 6; n++) send(rotated, note);
    await eventually("it was rotated", async () => (await server.api("home")).found >= 3);
    await reads(lines.nth(1), /migrate[^]*rotated/);
    await lines.nth(1).getByRole("link").click();
    await at(page, /#view=call&call=1$/);
    await page.getByRole("heading", { name: "migrate" }).waitFor();
    await page.goBack();
  });

  await bench.check("what was answered, or whose recording ended, is gone", async () => {
    send(rotated, { method: "answer" });
    await eventually("one is left", async () => (await lines.count()) === 1);
    await reads(lines.first(), "deploy");
    slow.child.stdin.end();
    await slow.ended;
    await eventually("none is left", async () => (await section(page, "In flight").count()) === 0);
    rotated.child.stdin.end();
    await rotated.ended;
  });

  await bench.check("the page has no trouble", () => page.quiet());
});
