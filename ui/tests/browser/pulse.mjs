// Whether a page stands still, and for how long.

import assert from "node:assert/strict";

/** As long the page may stand still: what is promised, and what a busy machine is allowed here. */
const PROMISED_MS = 200;
const ALLOWED_MS = 1000;

/** Feels the pulse of a page from its next load on. What is returned tells, and checks, the longest pause since it was last asked. */
export async function feel(page) {
  await page.addInitScript(watchThePulse);
  return async (what) => {
    const { worst, where } = await page.evaluate(() => window.pulse.take());
    console.log(`${what}: the page stood still for ${Math.round(worst)} ms at most (${where})`);
    if (worst > PROMISED_MS) console.log(`${what}: that is over ${PROMISED_MS} ms`);
    assert.ok(worst < ALLOWED_MS, `${what}: ${worst} ms (${where})`);
  };
}

/** Measures, in the page, how long it stands still: by what the browser calls a long task, and by a clock that is late. */
function watchThePulse() {
  const now = { worst: 0, where: "nothing" };
  const note = (ms, where) => {
    if (ms > now.worst) Object.assign(now, { worst: ms, where });
  };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) note(duration, "a long task");
  }).observe({ type: "longtask", buffered: true });
  let last = performance.now();
  setInterval(() => {
    note(performance.now() - last - 50, "a late clock");
    last = performance.now();
  }, 50);
  window.pulse = {
    take() {
      const taken = { ...now };
      Object.assign(now, { worst: 0, where: "nothing" });
      return taken;
    },
  };
}
