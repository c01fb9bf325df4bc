// The exported file: the same page from disk, with the network off.

import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at, filterBox, list, reads, rows, section, tab, test } from "./support.mjs";
import { fixture, Tape, textResult, writeLines } from "./traces.mjs";

/** How soon a report of 10 MB shows its rows: what is promised, and what a busy machine is allowed here. */
const PROMISED_MS = 2000;
const ALLOWED_MS = 10_000;
const LARGE = 10_000_000;
const LARGEST_REPORT = 15_000_000;

/** Put together here, so that no search for secrets finds one in this file. */
const SECRETS = ["ghp_", "sk-ant-api03-"].map((prefix) => prefix + "a1B2c3D4e5".repeat(4));
const PASSWORD = ["correct", "horse", "staple"].join("-");

await test(async (bench) => {
  const both = join(bench.home, "both.html");
  await bench.wiretape(["export", "html", fixture("view/notes.jsonl"), fixture("view/weather.jsonl"), "-o", both]);
  const page = await bench.offlinePage();
  const show = async (file, fragment) => {
    await page.goto("about:blank");
    await page.goto(`${pathToFileURL(file)}#${fragment}`);
  };

  await bench.check("it opens from disk with the network off, and says what it is", async () => {
    await show(both, "");
    await page.getByText(/This report was created on .* by wiretape/).waitFor();
    await page.getByText(/scanned for secrets again/).waitFor();
    const lanes = page.getByRole("group", { name: "Calls over time" });
    await lanes.getByRole("group", { name: "notes" }).getByRole("link", { name: /^Call 5: summarize/ }).waitFor();
    assert.equal(await lanes.getByRole("link").count(), 19);
    await reads(page.getByRole("main"), "51 messages");
  });

  await bench.check("every view is there", async () => {
    await tab(page, "Calls").click();
    await reads(page.getByRole("main").getByRole("status").first(), "19 calls");
    await tab(page, "Messages").click();
    await reads(rows(page, "Messages").nth(1), "1204 notes in 31 folders");
    await tab(page, "Tools").click();
    await reads(page.getByRole("row").filter({ hasText: "search_notes" }), /3[^]*402ms[^]*423ms[^]*92[^]*27/);
    await tab(page, "Sessions").click();
    await reads(page.getByRole("table"), /notes-server 1\.8\.2[^]*weather-server 0\.6\.1/);
    await tab(page, "Lint").click();
    await reads(page.getByRole("main"), /server-capability-missing[^]*arguments-invalid/);
    await tab(page, "Raw").click();
    const [first] = (await readFile(fixture("view/notes.jsonl"), "utf8")).split("\n", 1);
    await reads(rows(page, "Lines").first(), first);
    await page.getByRole("navigation", { name: "Files" }).getByRole("link", { name: "weather.jsonl" }).click();
    await reads(page.getByRole("main"), "20 lines");
    await page.goBack();
    await reads(page.getByRole("main"), "31 lines");
  });

  await bench.check("a call is whole, with what came meanwhile and its findings", async () => {
    await show(both, "view=call&call=5");
    await page.getByRole("heading", { name: "summarize" }).waitFor();
    await reads(section(page, "Arguments"), /folder[^]*travel/);
    await reads(section(page, "Result"), "Two days in Lisbon");
    await reads(section(page, "During this call"), "warn: the index is 3 days old");
    await page.keyboard.press("r");
    await reads(page.getByRole("main"), /jsonrpc[^]*2\.0/);
    await show(both, "view=call&call=10");
    await reads(section(page, "Lint"), "L009");
    await show(both, "view=call&call=5&at=1");
    await reads(page.getByRole("main"), "days must be 7 at most");
  });

  await bench.check("the filter works, and shows what makes no sense", async () => {
    await show(both, "view=calls");
    await reads(page.getByRole("main").getByRole("status").first(), "19 calls");
    for (const [filter, words] of [
      ["status:error", "3 of 19 calls"],
      ["server:weather latency>500ms", "3 of 19 calls"],
      ['text:"full after nine"', "2 of 19 calls"],
      ["!tool:* dir:in", "5 of 19 calls"],
    ]) {
      await filterBox(page).fill(filter);
      await filterBox(page).blur();
      await reads(page.getByRole("main").getByRole("status").first(), words);
    }
    await at(page, /#view=calls&filter=/);
    await page.reload();
    await reads(page.getByRole("main").getByRole("status").first(), "5 of 19 calls");
    await filterBox(page).fill("latency>soon");
    await filterBox(page).blur();
    await reads(page.getByRole("alert"), "soon");
  });

  await bench.check("it sorts, and goes by the keyboard", async () => {
    await show(both, "view=calls&sort=-latency");
    await reads(rows(page, "Calls").first(), "summarize");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "Call 5" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await at(page, /#view=tools$/);
  });

  await bench.check("what needs a server is not offered", async () => {
    await show(both, "view=call&call=4");
    await page.getByRole("heading", { name: "read_note" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Wiretape" }).count(), 0);
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.getByRole("button", { name: "Compare with…" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "call 9" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Another trace" }).count(), 0);
    await page.keyboard.press("Escape");
    await show(both, "view=activity");
    await page.getByRole("group", { name: "Calls over time" }).waitFor();
  });

  await bench.check("secrets are taken out again", async () => {
    const tape = new Tape("leaky").greet();
    const login = { user: "ada", password: PASSWORD };
    tape.tool(10, 5, 1, "login", login, textResult(`Your tokens are ${SECRETS.join(" and ")}, ada.`));
    const trace = await tape.end(50).write(bench, "leaky.jsonl");
    const leaky = join(bench.home, "leaky.html");
    await bench.wiretape(["export", "html", trace, "-o", leaky]);
    await show(leaky, "view=calls&call=2");
    await page.getByText(/secrets were redacted in 2 lines/).waitFor();
    await reads(page.getByRole("complementary"), /REDACTED/);
    const told = await everything(page, leaky);
    assert.ok(told.includes("Your tokens are"), "what is packed was looked into");
    for (const secret of [...SECRETS, PASSWORD]) assert.ok(!told.includes(secret), `${secret.slice(0, 8)}… is still there`);
  });

  await bench.check("text that would end the data does no harm", async () => {
    const tape = new Tape("</script><script>alert(1)</script>").greet("<!--<script>");
    tape.tool(10, 5, 1, "x", { text: "</script><img src=x onerror=alert(1)>" }, textResult("<!-- --> </SCRIPT> ]]>"));
    const trace = await tape.end(50).write(bench, "tags.jsonl");
    const file = join(bench.home, "tags.html");
    await bench.wiretape(["export", "html", trace, "-o", file]);
    await show(file, "view=calls&call=2");
    await reads(page.getByRole("complementary"), "<!-- --> </SCRIPT> ]]>");
  });

  await bench.check("10 MB give at most 15 MB, and open soon", async () => {
    const trace = await large(bench);
    const file = join(bench.home, "large.html");
    await bench.wiretape(["export", "html", trace, "-o", file]);
    const [before, after] = [(await stat(trace)).size, (await stat(file)).size];
    assert.ok(before >= LARGE, `${before}`);
    assert.ok(after <= LARGEST_REPORT, `${after} bytes`);
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(`${pathToFileURL(file)}#view=calls`);
    await rows(page, "Calls").first().waitFor();
    await reads(rows(page, "Calls").first(), "initialize");
    const took = Math.round(performance.now() - began);
    console.log(`a trace of ${(before / 1e6).toFixed(1)} MB: a report of ${(after / 1e6).toFixed(1)} MB, its rows after ${took} ms`);
    if (took > PROMISED_MS) console.log(`that is over ${PROMISED_MS} ms`);
    assert.ok(took < ALLOWED_MS, `${took} ms`);
    await list(page, "Calls").evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
    const last = list(page, "Calls").locator('[role=row][aria-rowindex="9002"]');
    await last.click();
    await reads(page.getByRole("complementary"), "the answer to 8999:");
    await reads(last, "tool-4");
    await filterBox(page).fill('text:"answer to 7777"');
    await reads(page.getByRole("main").getByRole("status").first(), /^1 of /);
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** A trace of 10 MB whose texts don't shrink well. */
async function large(bench) {
  let seed = 1;
  const noise = () => {
    let text = "";
    while (text.length < 800) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      text += `${seed.toString(36)} `;
    }
    return text;
  };
  const head = new Tape("large").greet().text;
  const call = (n) => {
    const [t, us] = [new Date(Date.parse("2026-07-01T12:00:01Z") + n * 10).toISOString(), 1_000_000 + n * 10_000];
    const asked = { jsonrpc: "2.0", id: n, method: "tools/call", params: { name: `tool-${n % 7}`, arguments: { n } } };
    const answered = { jsonrpc: "2.0", id: n, result: textResult(`the answer to ${n}: ${noise()}`) };
    const lines = [
      { t, dir: "in", seq: n * 2 + 4, us, raw: asked },
      { t, dir: "out", seq: n * 2 + 5, us: us + 4000, raw: answered },
    ];
    return lines.map((line) => JSON.stringify(line)).join("\n");
  };
  return writeLines(join(bench.traces, "large.jsonl"), head, 9000, call);
}

/** All that a report holds, packed or not. */
async function everything(page, file) {
  const html = await readFile(file, "utf8");
  const unpacked = await page.evaluate(async () => {
    const texts = [];
    const unpack = async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      texts.push(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
    };
    for (const script of document.querySelectorAll("script[type='application/json']")) {
      const found = script.textContent.match(/[A-Za-z0-9+/]{60,}=*/g) ?? [];
      for (const base64 of found) await unpack(base64).catch(() => texts.push(base64));
    }
    return texts.join("\n");
  });
  return html + unpacked;
}
