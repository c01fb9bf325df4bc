// The filter grammar in the page: what passes, what makes no sense, and that it is in the URL.

import assert from "node:assert/strict";
import { at, eventually, filterBox, open, reads, rows, tab, test } from "./support.mjs";
import { lay, layThree, NOTES, WEATHER } from "./traces.mjs";

/** Filters and the numbers of the calls of `notes.jsonl` that pass. */
const PASSES = [
  ["tool:search*", [3, 8, 11]],
  ["tool:search_notes,read_note", [3, 4, 8, 9, 11]],
  ["method:tools/list", [2]],
  ["method:resources/*", [10]],
  ["status:error", [7, 10]],
  ["status:tool-error", [7]],
  ["status:protocol-error", [10]],
  ["dir:out", [6]],
  ["dir:in tool:read_note", [4, 9]],
  ["latency>1s", [5, 6]],
  ["latency>=400ms latency<1s", [3, 11]],
  ["latency<1ms", [10]],
  ["response>1kB", [2]],
  ["request>200B", [1, 6]],
  ["id:s-1", [6]],
  ["server:notes tool:summarize", [5]],
  ["text:\"full after nine\"", [4, 6]],
  ["pastéis", [4]],
  ["!method:tools/call !dir:out", [1, 2, 10]],
  ["-tool:* dir:in", [1, 2, 10]],
  ["tool:search_notes !text:lisbon", [8, 11]],
];

/** Filters that make no sense, and the place that is marked. */
const MISTAKES = [
  ["latency>soon", "latency>soon"],
  ["tool:read_note status:wrong", "status:wrong"],
  ["tool:grüß dir:up tool:x", "dir:up"],
  ["color:red", "color:red"],
  ["dir:in tool:\"open", "tool:\"open"],
];

await test(async (bench) => {
  await layThree(bench);
  await lay(bench, "traces/wiretape-http.jsonl");
  const server = await bench.view();
  const page = await bench.page();
  const numbers = async () => {
    const found = [];
    for (const row of await rows(page, "Calls").all()) found.push(Number(await row.getByRole("gridcell").first().innerText()));
    return found;
  };

  await bench.check("every word of the grammar passes what it should", async () => {
    for (const [filter, calls] of PASSES) {
      await open(page, server, `?trace=${NOTES}`, `view=calls&filter=${encodeURIComponent(filter)}`);
      await eventually(filter, async () => {
        const found = await numbers();
        return JSON.stringify(found) === JSON.stringify(calls) || assert.fail(`${filter}: ${found}, not ${calls}`);
      });
      assert.equal(await filterBox(page).inputValue(), filter);
    }
  });

  await bench.check("what is typed is in the URL, and survives a reload", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls");
    await filterBox(page).fill("status:error");
    await at(page, /#view=calls&filter=status:error$/);
    await reads(page.getByRole("main").getByRole("status").first(), "2 of 11 calls");
    await page.reload();
    await reads(page.getByRole("main").getByRole("status").first(), "2 of 11 calls");
    assert.equal(await filterBox(page).inputValue(), "status:error");
  });

  await bench.check("the filter goes along to other views", async () => {
    await tab(page, "Messages").click();
    await at(page, /#view=messages&filter=status:error$/);
    await reads(page.getByRole("main"), "4 of 31 messages");
    await tab(page, "Timeline").click();
    await eventually("two bars", async () => (await page.getByRole("group", { name: "Calls over time" }).getByRole("link").count()) === 2);
  });

  await bench.check("esc clears the filter, and going back brings it back", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls&filter=status:error");
    await eventually("filtered", async () => (await rows(page, "Calls").count()) === 2);
    await page.keyboard.press("Escape");
    await at(page, /#view=calls$/);
    await eventually("all", async () => (await rows(page, "Calls").count()) === 11);
    assert.equal(await filterBox(page).inputValue(), "");
    await page.goBack();
    await eventually("filtered", async () => (await rows(page, "Calls").count()) === 2);
  });

  await bench.check("esc in the box clears it, too", async () => {
    await filterBox(page).fill("tool:read_note");
    await at(page, /filter=tool:read_note$/);
    await eventually("filtered", async () => (await rows(page, "Calls").count()) === 2);
    // The first one may close what is offered.
    await filterBox(page).press("Escape");
    if ((await filterBox(page).inputValue()) !== "") await filterBox(page).press("Escape");
    await at(page, /#view=calls$/);
    await eventually("all", async () => (await rows(page, "Calls").count()) === 11);
  });

  await bench.check("nothing that passes is said, with a way out", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls&filter=tool:nothing");
    await page.getByRole("heading", { name: "No calls match this filter" }).waitFor();
    await page.getByRole("button", { name: "Clear filter" }).click();
    await at(page, /#view=calls$/);
    await eventually("all", async () => (await rows(page, "Calls").count()) === 11);
  });

  await bench.check("a filter that makes no sense shows its place, and changes nothing", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls");
    await eventually("all", async () => (await rows(page, "Calls").count()) === 11);
    for (const [filter, place] of MISTAKES) {
      await filterBox(page).fill(filter);
      // What is offered hides the mistake until the box is left.
      await filterBox(page).blur();
      const mistake = page.getByRole("alert");
      await mistake.waitFor();
      await reads(mistake, filter);
      assert.equal(await mistake.locator("mark").innerText(), place, filter);
      assert.equal(await filterBox(page).getAttribute("aria-invalid"), "true");
      assert.ok(!page.url().includes("filter="), page.url());
      assert.equal(await rows(page, "Calls").count(), 11);
    }
  });

  await bench.check("a wrong filter in the URL is told with its place", async () => {
    page.expectTrouble(/status of 400/);
    for (const view of ["calls", "messages", "timeline"]) {
      await open(page, server, `?trace=${NOTES}`, `view=${view}&filter=latency%3Esoon`);
      await reads(page.getByRole("alert").first(), "soon");
      await page.locator("mark").filter({ hasText: "soon" }).first().waitFor();
    }
  });

  await bench.check("what could come next is offered", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls");
    await eventually("all", async () => (await rows(page, "Calls").count()) === 11);
    await filterBox(page).focus();
    await filterBox(page).pressSequentially("tool:sum");
    await page.getByRole("option", { name: /summarize/ }).click();
    await at(page, /filter=tool:summarize$/);
    await eventually("its call", async () => (await numbers()).join() === "5");
  });

  await bench.check("of merged traces, a button shows one, by a word of the filter", async () => {
    await open(page, server, `?trace=${NOTES};${WEATHER}`, "view=calls");
    await reads(page.getByRole("main").getByRole("status").first(), "19 calls");
    await page.getByRole("group", { name: "Traces" }).getByRole("button", { name: "weather" }).click();
    await at(page, /filter=server:weather/);
    await reads(page.getByRole("main").getByRole("status").first(), "8 of 19 calls");
    await page.getByRole("group", { name: "Traces" }).getByRole("button", { name: "All" }).click();
    await reads(page.getByRole("main").getByRole("status").first(), "19 calls");
  });

  await bench.check("sessions are filtered by their id", async () => {
    const { traces } = await server.api("home");
    const { key } = traces.find((trace) => trace.file === "wiretape-http.jsonl");
    const sessions = await server.api(`sessions?trace=${key}`);
    const named = sessions.find((one) => one.session !== null);
    await open(page, server, `?trace=${key}`, `view=calls&filter=session:${named.session}`);
    await eventually("its calls", async () => (await rows(page, "Calls").count()) === named.calls);
  });

  await bench.check("the page has no trouble", () => page.quiet());
});
