// Every view, checked by axe-core: light and dark, wide and narrow.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { eventually, open, test } from "./support.mjs";
import { lay, layThree, NOTES, NOTES_LATER, WEATHER } from "./traces.mjs";

const BOTH = `?trace=${NOTES};${WEATHER}`;
const ONE = `?trace=${NOTES}`;

/** A state of the page, and something that is there when it is loaded. */
const STATES = [
  ["", "", "[3-6] traces"],
  [BOTH, "view=timeline", "51 messages"],
  [ONE, "view=timeline&call=5", "Timing"],
  [BOTH, "view=calls", "19 calls"],
  [ONE, "view=calls&call=4", "Timing"],
  [ONE, "view=calls&filter=tool:nothing", "No calls match this filter"],
  [ONE, "view=calls&filter=latency%3Esoon", "is not a time"],
  [ONE, "view=call&call=4", "Timing"],
  [ONE, "view=call&call=5&show=raw", "Timing"],
  [ONE, "view=call&call=7", "Timing"],
  [ONE, "view=call&call=9", "Timing"],
  [ONE, "view=messages", "31 messages"],
  [BOTH, "view=tools", "Other methods"],
  [ONE, "view=tools&open=search_notes", "Definition"],
  [BOTH, "view=sessions", "2 sessions"],
  [ONE, "view=lint&open=server-capability-missing", "Why"],
  [ONE, "view=raw&line=14", "Line 14"],
  [`?diff=${NOTES};${NOTES_LATER}`, "", "changed"],
  [`?diff=${NOTES};${NOTES_LATER}`, "open=3", "changed"],
  ["", "view=activity", "Newest calls"],
  ["?trace=bad", "view=calls", "crashed \\(exit 1\\)"],
  ["?trace=bad", "view=call&call=2", "before it responded"],
  ["?trace=nothing-like-it", "", "No trace nothing-like-it"],
];

const SIZES = [
  { width: 1280, height: 800 },
  { width: 640, height: 800 },
];

await test(async (bench) => {
  await layThree(bench);
  await lay(bench, "traces/missing-end.jsonl", "lint/server-crashed/bad.jsonl");
  await bench.wiretape(["demo", "--no-view"]);
  const server = await bench.view();
  const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

  const page = await bench.page({ bypassCSP: true, reducedMotion: "reduce" });
  page.expectTrouble(/status of 40[04]/);

  for (const [query, fragment, sign] of STATES) {
    await bench.check(`${query}#${fragment}`, async () => {
      await page.setViewportSize(SIZES[0]);
      await open(page, server, query, fragment);
      await eventually(`${sign} is there`, async () => new RegExp(sign).test(await page.locator("body").innerText()));
      await page.evaluate(axe);
      await everyLook(page, () => clean(page));
    });
  }

  await bench.check("the help", async () => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await everyLook(page, () => clean(page));
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** Looks at the page light and dark, wide and narrow. */
async function everyLook(page, look) {
  for (const viewport of SIZES) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await look().catch((error) => {
        throw new Error(`${colorScheme} at ${viewport.width} px: ${error.message}`);
      });
    }
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `the page is ${over} px wider than ${viewport.width} px`);
  }
}

/** Nothing serious is found. */
async function clean(page) {
  const found = await page.evaluate(async () => {
    // The dark page differs in nothing but its colors.
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const only = isDark ? { runOnly: { type: "rule", values: ["color-contrast"] } } : {};
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...only });
    return violations.map(({ id, impact, help, nodes }) => ({
      id,
      impact,
      help,
      count: nodes.length,
      nodes: nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary?.slice(0, 300)}`),
    }));
  });
  const grave = found.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(grave, [], "axe finds nothing serious");
}
