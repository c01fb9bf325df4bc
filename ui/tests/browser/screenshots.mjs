// The pictures of the documentation: made anew, and compared with those that are committed, so that they are never stale.
//
// WIRETAPE_UPDATE_DOCS=1 writes them into docs/images; WIRETAPE_SCREENSHOTS names a directory that gets a copy.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { shrunk } from "./png.mjs";
import { eventually, open, PATIENCE_MS, ROOT, test } from "./support.mjs";
import { layThree, NOTES, NOTES_LATER, WEATHER } from "./traces.mjs";

const IMAGES = join(ROOT, "docs", "images");
const LARGEST = 300_000;
/** So many of a hundred pixels may differ: fonts are not drawn the same everywhere. */
const MOST_PERCENT = 3;

/** A picture: its name, its colors, its state, and what is there when it is loaded. */
const PICTURES = [
  ["timeline", "light", `?trace=${NOTES};${WEATHER}`, "view=timeline", ["51 messages", "19 calls"]],
  ["call", "light", `?trace=${NOTES}`, "view=call&call=5", ["Two days in Lisbon", "No findings for this call"]],
  ["tools", "dark", `?trace=${NOTES};${WEATHER}`, "view=tools&open=search_notes", ["How many notes at most", "tokens of unused definitions", "\t101"]],
  ["diff", "light", `?diff=${NOTES};${NOTES_LATER}`, "open=3", ["delete_note", "[x] Book the train"]],
];

await test(async (bench) => {
  await layThree(bench);
  const server = await bench.view();
  const shots = process.env.WIRETAPE_SCREENSHOTS;
  const isUpdate = process.env.WIRETAPE_UPDATE_DOCS === "1";
  if (shots) await mkdir(shots, { recursive: true });
  if (isUpdate) await mkdir(IMAGES, { recursive: true });
  // Findings are told as soon as they were asked for once.
  await eventually("the check is done", async () => (await server.api(`lint?trace=${NOTES}`)).progress.isComplete);

  const blank = await bench.page();
  for (const [name, colorScheme, query, fragment, signs] of PICTURES) {
    await bench.check(name, async () => {
      const page = await bench.page({ colorScheme, timezoneId: "UTC", locale: "en-GB", deviceScaleFactor: 2, reducedMotion: "reduce" });
      await page.clock.setFixedTime(new Date("2026-07-02T10:00:00Z"));
      await open(page, server, query, fragment);
      for (const sign of signs) await eventually(`${sign} is there`, async () => (await page.locator("body").innerText()).includes(sign));
      const picture = await shrunk(blank, await still(page));
      page.quiet();
      await page.context().close();
      if (shots) await writeFile(join(shots, `${name}.png`), picture);
      assert.ok(picture.length < LARGEST, `${name}.png has ${picture.length} bytes`);
      if (isUpdate) await writeFile(join(IMAGES, `${name}.png`), picture);
      const kept = await readFile(join(IMAGES, `${name}.png`)).catch(() => assert.fail(`there is no docs/images/${name}.png: run this with WIRETAPE_UPDATE_DOCS=1`));
      const percent = await difference(blank, kept, picture);
      console.log(`${name}.png: ${Math.round(picture.length / 1000)} kB, ${percent.toFixed(2)} % of its pixels differ`);
      assert.ok(percent < MOST_PERCENT, `${name}.png is stale: ${percent.toFixed(2)} % of its pixels differ; make it anew with WIRETAPE_UPDATE_DOCS=1`);
    });
  }
});

/** The page as it is when nothing moves any more. */
async function still(page) {
  let before = await page.screenshot();
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    const now = await page.screenshot();
    if (now.equals(before)) return now;
    before = now;
  }
  assert.fail("the page never comes to rest");
}

/** How many of a hundred pixels differ so that a person would see it. Both are decoded by the browser. */
async function difference(page, one, other) {
  return page.evaluate(
    async (pictures) => {
      const pixels = async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
        const context = canvas.getContext("2d");
        context.drawImage(bitmap, 0, 0);
        return context.getImageData(0, 0, bitmap.width, bitmap.height);
      };
      const [a, b] = await Promise.all(pictures.map(pixels));
      if (a.width !== b.width || a.height !== b.height) return 100;
      let differ = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        const apart = (n) => Math.abs(a.data[at + n] - b.data[at + n]);
        if (Math.max(apart(0), apart(1), apart(2)) > 40) differ += 1;
      }
      return (differ / (a.data.length / 4)) * 100;
    },
    [one, other].map((picture) => picture.toString("base64")),
  );
}
