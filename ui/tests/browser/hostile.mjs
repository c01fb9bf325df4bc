// Traces that want to do harm: nothing of them is executed, and nothing freezes the page.

import assert from "node:assert/strict";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { feel } from "./pulse.mjs";
import { at, eventually, list, open, reads, rows, tab, test } from "./support.mjs";
import { Tape, textResult } from "./traces.mjs";

const HUGE = 100_000_000;

const SCRIPTS = [
  "<script>harm('script')</script>",
  "<img src=x onerror=harm('img')>",
  "<svg onload=harm('svg')><animate onbegin=harm('animate') attributeName=x dur=1s>",
  "<iframe srcdoc=\"<script>parent.harm('frame')</script>\"></iframe>",
  "<details open ontoggle=harm('details')>",
  "<style>@import url(http://127.0.0.1:9/harm.css)</style>",
  "<a href=\"javascript:harm('a')\">click</a>",
  "[click me](javascript:harm('md'))",
  "[click me](data:text/html,<script>harm('data')</script>)",
  "![picture](http://127.0.0.1:9/harm.png)",
  "<https://safe.example/\u202egpj.exe>",
  "</script></style></title></textarea><script>harm('end')</script>",
  "{{constructor.constructor('harm(1)')()}}",
  "${harm('template')}",
];
const HIDDEN = "pay\u202etxt.exe\u202c \u200bzero\u200d \u0007bell \u001b[31mred \u2066isolate\u2069 \u{e0041}tag";

await test(async (bench) => {
  await wicked().write(bench, "wicked.jsonl");
  const started = performance.now();
  await huge(join(bench.traces, "huge.jsonl"));
  console.log(`the large trace was made in ${Math.round(performance.now() - started)} ms`);
  const server = await bench.view();
  const page = await bench.page();
  const harms = [];
  await page.exposeFunction("harm", (what) => harms.push(what));
  const pulse = await feel(page);
  const key = (label) => new Tape(label).id;

  await bench.check("every view of a wicked trace is only text", async () => {
    for (const view of ["timeline", "calls", "messages", "tools", "sessions", "lint", "raw"]) {
      await open(page, server, `?trace=${key("<b>wicked</b>")}`, `view=${view}`);
      await eventually("it is there", async () => (await page.getByRole("main").innerText()).length > 100);
      await eventually("it is loaded", async () => (await page.locator("[aria-busy=true]").count()) === 0);
      await nothingExecuted(page, harms);
    }
  });

  await bench.check("every call of it is only text, readable and raw", async () => {
    const { total } = await server.api(`calls?trace=${key("<b>wicked</b>")}`);
    for (let call = 1; call <= total; call++) {
      for (const show of ["", "&show=raw"]) {
        await open(page, server, `?trace=${key("<b>wicked</b>")}`, `view=call&call=${call}${show}`);
        await page.getByRole("heading", { name: "Timing" }).waitFor();
        await nothingExecuted(page, harms);
      }
    }
  });

  await bench.check("only addresses of the web are links, and they tell nobody where from", async () => {
    const bad = await page.evaluate(() =>
      [...document.querySelectorAll("a[href]")]
        .filter((link) => link.origin !== location.origin)
        .filter((link) => !/^https?:$/.test(link.protocol) || !/noreferrer/.test(link.rel) || !/noopener/.test(link.rel))
        .map((link) => link.outerHTML),
    );
    assert.deepEqual(bad, []);
  });

  await bench.check("hidden and turned characters are written out", async () => {
    await open(page, server, `?trace=${key("<b>wicked</b>")}`, "view=calls");
    await reads(page.getByRole("main"), "pay\\u{202e}txt.exe");
    for (const view of ["calls", "messages", "raw", "timeline"]) {
      await open(page, server, `?trace=${key("<b>wicked</b>")}`, `view=${view}`);
      await reads(page.getByRole("main"), "\\u{202e}");
      const text = await page.evaluate(() => document.body.innerText + document.title);
      const found = /[\u202a-\u202e\u2066-\u2069\u200b\u0007\u001b]/.exec(text);
      assert.equal(found, null, `${view}: U+${found?.[0].codePointAt(0).toString(16)} in ${text.slice(found?.index - 40, found?.index + 40)}`);
    }
  });

  await bench.check("a wicked filter in the URL is only text, too", async () => {
    page.expectTrouble(/status of 400/);
    await open(page, server, `?trace=${key("<b>wicked</b>")}`, `view=calls&filter=${encodeURIComponent("x:<img src=x onerror=harm(1)>")}`);
    await page.getByRole("alert").first().waitFor();
    await open(page, server, `?trace=${encodeURIComponent("<img src=x onerror=harm(1)>")}`);
    page.expectTrouble(/status of 404/);
    await page.getByRole("alert").first().waitFor();
    await nothingExecuted(page, harms);
  });

  await bench.check("deep JSON opens, level by level", async () => {
    await open(page, server, `?trace=${key("deep")}`, "view=calls");
    await rows(page, "Calls").last().click();
    await page.getByRole("heading", { name: "Timing" }).waitFor();
    await page.keyboard.press("r");
    await reads(page.getByRole("complementary"), "jsonrpc");
    await pulse("20,000 levels");
  });

  await bench.check("a result of 100 MB is opened without a pause", async () => {
    await open(page, server, `?trace=${key("huge")}`, "view=calls");
    await reads(rows(page, "Calls").last(), /enormous[^]*MB/);
    await rows(page, "Calls").last().click();
    await page.getByRole("heading", { name: "Timing" }).waitFor();
    await reads(page.getByRole("complementary"), /Showing the first [^]* of 100 MB/);
    await page.keyboard.press("r");
    await at(page, /show=raw/);
    await reads(page.getByRole("complementary"), "jsonrpc");
    await tab(page, "Raw").click();
    await reads(list(page, "Lines"), "MB");
    await rows(page, "Lines").nth(4).click();
    await page.getByRole("complementary", { name: "Line 5" }).waitFor();
    await pulse("100 MB");
    await open(page, server, `?trace=${key("huge")}`, "view=tools");
    await reads(page.getByRole("main"), "enormous");
    await pulse("tools of 100 MB");
  });

  await bench.check("nothing was executed", () => nothingExecuted(page, harms));
  await bench.check("the page has no trouble", () => page.quiet());
});

async function nothingExecuted(page, harms) {
  assert.deepEqual(harms, [], "something was executed");
  const alien = await page.evaluate(() => document.querySelectorAll("#app script, #app iframe, #app object, #app embed, #app style, #app link").length);
  assert.equal(alien, 0, "elements of the trace are in the page");
}

/** A trace that says bad things wherever something can be said. */
function wicked() {
  const tape = new Tape("<b>wicked</b>").greet("<img src=x onerror=harm('server')>");
  const all = SCRIPTS.join("\n\n");
  const tools = SCRIPTS.map((text, n) => ({
    name: n === 0 ? HIDDEN : `${text} ${n}`,
    title: text,
    description: `# ${text}\n\n${all}`,
    inputSchema: { type: "object", properties: { [text]: { type: "string", description: text } }, required: [text] },
    annotations: { [text]: true, title: text },
  }));
  tape.call(5, 1, 1, "tools/list", {}, { result: { tools } });
  const contents = [
    { type: "text", text: `# Markdown\n\n${all}\n\n| ${SCRIPTS[1]} |\n|---|\n| ${SCRIPTS[7]} |\n` },
    { type: "text", text: HIDDEN },
    { type: "image", mimeType: "image/svg+xml", data: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="harm('svg')"/>`).toString("base64") },
    { type: "image", mimeType: "text/html", data: Buffer.from(SCRIPTS[0]).toString("base64") },
    { type: "resource_link", uri: "javascript:harm('link')", name: SCRIPTS[1], mimeType: "text/html" },
    { type: "resource", resource: { uri: "file:///etc/passwd", mimeType: "text/html", text: all } },
    { type: SCRIPTS[0], text: all },
  ];
  tape.tool(10, 5, 2, HIDDEN, { [SCRIPTS[0]]: SCRIPTS, path: HIDDEN }, { content: contents, structuredContent: { [SCRIPTS[1]]: SCRIPTS } });
  tape.call(20, 1, SCRIPTS[1], SCRIPTS[0], { uri: "javascript:harm('uri')" }, { error: { code: -32000, message: all, data: SCRIPTS } });
  tape.call(25, 1, 4, "resources/read", { uri: "javascript:harm('read')" }, { result: { contents: [{ uri: "javascript:harm(1)", mimeType: "text/html", text: all }] } });
  tape.call(30, 1, 5, "prompts/get", { name: SCRIPTS[0] }, { result: { description: all, messages: [{ role: SCRIPTS[1], content: { type: "text", text: all } }] } });
  tape.message(40, "out", { jsonrpc: "2.0", id: "e", method: "elicitation/create", params: { message: all, mode: "url", url: "javascript:harm('ask')" } });
  tape.message(41, "out", { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: all } });
  tape.timed(42, { type: "stderr", text: `${HIDDEN} ${all}` });
  tape.timed(43, { type: SCRIPTS[0], text: all });
  return tape.end(50);
}

/** A trace with an answer of 100 MB, and one with 20,000 levels. */
async function huge(path) {
  const tape = new Tape("huge").greet();
  tape.message(5, "in", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "enormous", arguments: {} } });
  const file = await openFile(path, "w");
  await file.write(tape.text);
  await file.write('{"t":"2026-07-01T12:00:00.009Z","dir":"out","seq":5,"us":9000,"raw":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
  const piece = "all work and no play makes a dull page, line after line\\n".repeat(20_000);
  for (let written = 0; written < HUGE; written += piece.length) await file.write(piece);
  await file.write('"}]}}}\n');
  await file.close();
  const deep = new Tape("deep").greet();
  const levels = 20_000;
  const value = `${"[".repeat(levels)}${"]".repeat(levels)}`;
  deep.message(5, "in", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "deep", arguments: {} } });
  deep.line(`{"t":"2026-07-01T12:00:00.009Z","dir":"out","seq":5,"us":9000,"raw":{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"deep":${value}}}}}`);
  await deep.end(20).write({ traces: join(path, "..") }, "deep.jsonl");
}
