// A million messages: they scroll, and nothing freezes.

import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { feel } from "./pulse.mjs";
import { at, eventually, filterBox, list, reads, rows, tab, test } from "./support.mjs";
import { Tape, writeLines } from "./traces.mjs";

const MILLION = 1_000_000;

await test(async (bench) => {
  const started = performance.now();
  const path = await many(join(bench.home, "many.jsonl"));
  console.log(`the trace was made in ${Math.round(performance.now() - started)} ms`);
  const server = await bench.view([path]);
  const page = await bench.page();
  const pulse = await feel(page);

  await bench.check("a million messages are there soon, and scroll", async () => {
    const began = performance.now();
    const { given } = await server.api("home");
    await page.goto(server.address(`?trace=${encodeURIComponent(given[0])}`, "view=messages"));
    await rows(page, "Messages").first().waitFor();
    console.log(`a million messages: the first rows after ${Math.round(performance.now() - began)} ms`);
    await eventually("all are counted", async () => /1\D?000\D?\d\d\d messages/.test(await page.getByRole("main").innerText()), 90_000);
    console.log(`a million messages: all are counted after ${Math.round(performance.now() - began)} ms`);
    await pulse("reading a million messages");
    const grid = list(page, "Messages");
    for (const part of [0.1, 0.35, 0.8, 0.5]) {
      await grid.evaluate((grid, part) => grid.scrollTo(0, grid.scrollHeight * part), part);
      await eventually("rows are there", async () => !/loading/i.test(await rows(page, "Messages").nth(15).innerText()));
    }
    for (let n = 0; n < 30; n++) {
      await grid.hover();
      await page.mouse.wheel(0, 600);
    }
    await page.keyboard.press("End");
    await reads(rows(page, "Messages").last(), "end");
    await page.keyboard.press("Home");
    await reads(rows(page, "Messages").first(), "start");
    await pulse("scrolling a million messages");
  });

  await bench.check("its timeline, calls and filters don't freeze either", async () => {
    await tab(page, "Timeline").click();
    await page.getByRole("group", { name: "Calls over time" }).getByRole("link").first().waitFor();
    for (let n = 0; n < 6; n++) await page.keyboard.press("+");
    await at(page, /from=\d+/);
    await pulse("the timeline of a million messages");
    await page.keyboard.press("0");
    await tab(page, "Calls").click();
    await rows(page, "Calls").first().waitFor();
    await filterBox(page).fill("tool:tool-3 status:error");
    await filterBox(page).blur();
    await reads(page.getByRole("main").getByRole("status").first(), /of [\d,]+ calls/);
    await pulse("the calls of a million messages");
    await tab(page, "Tools").click();
    await reads(page.getByRole("main"), "tool-3");
    await pulse("the tools of a million messages");
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** A trace of a million messages: mostly pings, and a tool call now and then. */
async function many(path) {
  const head = new Tape("many").greet().text;
  const start = Date.parse("2026-07-01T12:00:01Z");
  const line = (n) => {
    const id = n >> 1;
    const t = new Date(start + n).toISOString();
    const isTool = id % 20 === 0;
    const asked = isTool ? `"method":"tools/call","params":{"name":"tool-${id % 9}","arguments":{}}` : '"method":"ping"';
    const answered = id % 60 === 0 ? '"error":{"code":-32000,"message":"no"}' : '"result":{}';
    const isAsked = n % 2 === 0;
    return `{"t":"${t}","dir":"${isAsked ? "in" : "out"}","raw":{"jsonrpc":"2.0","id":${id},${isAsked ? asked : answered}}}`;
  };
  await writeLines(path, head, MILLION, line);
  const file = await openFile(path, "a");
  await file.write(`{"t":"${new Date(start + MILLION).toISOString()}","type":"end","exitCode":0,"durationMs":${MILLION + 1000}}\n`);
  await file.close();
  return path;
}
