// Several traces merged by time, and traces that are not as they should be.

import assert from "node:assert/strict";
import { eventually, list, open, reads, rows, tab, test } from "./support.mjs";
import { fixture, lay, layThree, NOTES, Tape, textResult, WEATHER } from "./traces.mjs";

await test(async (bench) => {
  await layThree(bench);
  await lay(bench, "traces/batch.jsonl", "traces/torn-last-line.jsonl", "traces/missing-end.jsonl", "traces/newer-producers.jsonl");
  await lay(bench, "traces/bom-and-crlf.jsonl", "traces/colliding-ids.jsonl");
  const packed = new Tape("packed").greet("packed-server").tool(10, 5, 1, "squeeze", { by: 2 }, textResult("half as large"));
  await packed.end(50).write(bench, "packed.jsonl.gz");
  const strange = new Tape("strange").greet();
  strange.timed(10, { type: "hologram", beam: [1, 2, 3] });
  strange.line({ type: "annotation", words: "no time at all" });
  strange.line("this is no JSON");
  strange.line('{"t":"2026-07-01T12:00:00.020Z","dir":"sideways","raw":{"jsonrpc":"2.0","method":"x"}}');
  strange.tool(30, 5, 1, "still_here", {}, textResult("yes"));
  await strange.end(50).write(bench, "strange.jsonl");

  const server = await bench.view();
  const page = await bench.page();
  const { traces } = await server.api("home");
  const keyOf = (file) => traces.find((trace) => trace.file === file)?.key ?? assert.fail(`${file} is not at home`);
  const look = (file, view) => open(page, server, `?trace=${encodeURIComponent(keyOf(file))}`, `view=${view}`);

  await bench.check("two traces are merged by time, with a lane each", async () => {
    await open(page, server, `?trace=${NOTES};${WEATHER}`, "view=timeline");
    const lanes = page.getByRole("group", { name: "Calls over time" });
    await lanes.getByRole("group", { name: "notes" }).getByRole("link", { name: /^Call 5: summarize/ }).waitFor();
    const calls = (name) => lanes.getByRole("group", { name }).getByRole("link").count();
    await eventually("all calls of notes", async () => (await calls("notes")) === 11);
    await eventually("all calls of weather", async () => (await calls("weather")) === 8);
    await reads(page.getByRole("main"), "51 messages");
    await tab(page, "Messages").click();
    await reads(page.getByRole("main"), "51 messages");
    const times = [];
    const servers = new Set();
    for (const row of await rows(page, "Messages").all()) {
      const [, time, after, name] = await row.getByRole("gridcell").allInnerTexts();
      times.push(time);
      servers.add(name.trim());
      assert.match(after, /^\+\d+\.\d{3}s$/);
    }
    assert.ok(times.length > 15);
    assert.deepEqual(times, times.toSorted(), "in the order of time");
    assert.deepEqual([...servers].sort(), ["notes", "weather"]);
  });

  await bench.check("a call of the second trace opens as that one's", async () => {
    await open(page, server, `?trace=${NOTES};${WEATHER}`, "view=timeline");
    await page.getByRole("group", { name: "weather" }).getByRole("link", { name: /^Call 5: forecast/ }).click();
    await reads(page.getByRole("complementary", { name: "Call 5" }), /weather[^]*days must be 7 at most/);
  });

  await bench.check("raw shows one file or the other", async () => {
    await open(page, server, `?trace=${NOTES};${WEATHER}`, "view=raw");
    await reads(page.getByRole("main"), "31 lines");
    await page.getByRole("navigation", { name: "Files" }).getByRole("link", { name: "weather.jsonl" }).click();
    await reads(page.getByRole("main"), "20 lines");
    await reads(rows(page, "Lines").first(), "uvx");
  });

  await bench.check("a compressed trace is like any other", async () => {
    await look("packed.jsonl.gz", "calls");
    await reads(rows(page, "Calls").last(), /squeeze[^]*ok/);
    await look("packed.jsonl.gz", "raw");
    await reads(rows(page, "Lines").first(), '"label":"packed"');
    await open(page, server, `?trace=${keyOf("packed.jsonl.gz")};${NOTES}`, "view=timeline");
    await page.getByRole("group", { name: "packed" }).getByRole("link", { name: /squeeze/ }).waitFor();
  });

  await bench.check("lines of unknown types are tolerated, and seen", async () => {
    await look("strange.jsonl", "messages");
    await reads(rows(page, "Messages").filter({ hasText: "hologram" }), "unknown");
    await reads(rows(page, "Messages").filter({ hasText: "this is no JSON" }), "damaged");
    await tab(page, "Calls").click();
    await reads(rows(page, "Calls").last(), /still_here[^]*ok/);
    await tab(page, "Raw").click();
    await reads(list(page, "Lines"), "this is no JSON");
    await look("newer-producers.jsonl", "messages");
    await list(page, "Messages").waitFor();
  });

  await bench.check("a trace that never ended says so", async () => {
    await look("missing-end.jsonl", "timeline");
    await page.getByRole("banner").getByText("recording was cut off").waitFor();
    await open(page, server);
    await reads(rows(page, "Traces").filter({ hasText: "missing-end.jsonl" }), "cut off");
  });

  await bench.check("a torn last line is told, and the rest is there", async () => {
    await look("torn-last-line.jsonl", "calls");
    await reads(rows(page, "Calls").first(), /ping[^]*ok/);
    await page.getByRole("banner").getByText("recording was cut off").waitFor();
    await reads(page.locator("body"), /torn|broken off|last line/i);
    await tab(page, "Raw").click();
    await reads(rows(page, "Lines").last(), "tools/ca");
  });

  await bench.check("calls of a batch are calls, each with its own part of the line", async () => {
    await look("batch.jsonl", "calls");
    await reads(rows(page, "Calls").filter({ hasText: "add" }), /protocol-error -32602/);
    await reads(rows(page, "Calls").filter({ hasText: "tools/list" }), "ok");
    await rows(page, "Calls").filter({ hasText: "add" }).click();
    const panel = page.getByRole("complementary");
    await reads(panel, /a[^]*1[^]*b is missing/);
    await tab(page, "Messages").click();
    await reads(rows(page, "Messages").nth(1), "batch");
  });

  await bench.check("ids that collide in both directions are kept apart", async () => {
    await look("colliding-ids.jsonl", "calls");
    const told = await server.api(`calls?trace=${keyOf("colliding-ids.jsonl")}`);
    await eventually("all calls", async () => (await rows(page, "Calls").count()) === told.total);
  });

  await bench.check("a byte order mark and Windows line ends do no harm", async () => {
    await look("bom-and-crlf.jsonl", "calls");
    await rows(page, "Calls").first().waitFor();
  });

  await bench.check("a trace on another host is fetched by the browser, and merged; no other host can be reached", async () => {
    const other = await bench.page();
    // Every other request to another host stays trouble.
    other.expectTrouble(/^request: https:\/\/traces\.example\/weather\.jsonl$/);
    const asked = [];
    await other.route("https://*.example/**", async (route) => {
      asked.push(route.request().url());
      const headers = { "access-control-allow-origin": "*", "content-type": "text/plain" };
      await route.fulfill({ path: fixture("view/weather.jsonl"), headers });
    });
    const address = encodeURIComponent("https://traces.example/weather.jsonl");
    await open(other, server, `?trace=${NOTES};${address}`, "view=messages");
    await reads(other.getByRole("main"), "51 messages");
    assert.deepEqual(asked, ["https://traces.example/weather.jsonl"]);
    other.expectTrouble(/Content Security Policy|violates/);
    const refused = await other.evaluate(() => fetch("https://elsewhere.example/x").then(() => "reached", () => "refused"));
    assert.equal(refused, "refused");
    assert.equal(asked.length, 1);
    other.quiet();
  });

  await bench.check("the page has no trouble", () => page.quiet());
});
