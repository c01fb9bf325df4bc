// The page without a mouse.

import assert from "node:assert/strict";
import { active, at, eventually, filterBox, list, open, reads, rows, tab, test } from "./support.mjs";
import { layThree, NOTES, NOTES_LATER } from "./traces.mjs";

/** What the help must name, as the keys stand there. */
const KEYS = ["j", "k", "↓", "↑", "Enter", "Esc", "/", "?", "[", "]", "+", "-", "0", "e", "r", "d"].concat(
  ["h", "t", "c", "m", "o", "s", "l", "r"].map((key) => `g ${key}`),
);

const STOPS = [
  ["", ""],
  [`?trace=${NOTES}`, "view=timeline"],
  [`?trace=${NOTES}`, "view=calls&call=4"],
  [`?trace=${NOTES}`, "view=call&call=5"],
  [`?trace=${NOTES}`, "view=tools&open=search_notes"],
  [`?trace=${NOTES}`, "view=sessions"],
  [`?trace=${NOTES}`, "view=lint&open=server-capability-missing"],
  [`?trace=${NOTES}`, "view=raw&line=3"],
  [`?diff=${NOTES};${NOTES_LATER}`, "open=2"],
];

await test(async (bench) => {
  await layThree(bench);
  const server = await bench.view();
  const page = await bench.page({ colorScheme: "light" });
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const calls = async () => {
    await open(page, server, `?trace=${NOTES}`, "view=calls");
    await eventually("the calls", async () => (await rows(page, "Calls").count()) === 11);
  };
  const activeReads = (name, pattern) => reads(active(page, name), pattern);

  await bench.check("j, k and the arrows move through the calls, enter opens, esc closes", async () => {
    await calls();
    await press("j", "j", "j");
    await activeReads("Calls", "search_notes");
    await press("ArrowDown", "k", "ArrowDown");
    await activeReads("Calls", "read_note");
    await press("ArrowUp", "Enter");
    await at(page, /call=3$/);
    await page.getByRole("complementary", { name: "Call 3" }).waitFor();
    await press("j");
    await at(page, /call=4$/);
    await press("Escape");
    await at(page, /#view=calls$/);
    await press("End");
    await activeReads("Calls", "packing");
    await press("Home");
    await activeReads("Calls", "initialize");
  });

  await bench.check("[ and ] go to the previous and the next call", async () => {
    await calls();
    await press("j", "j", "j", "Enter");
    await at(page, /call=3$/);
    await press("]");
    await at(page, /call=4$/);
    await press("[", "[");
    await at(page, /call=2$/);
    await open(page, server, `?trace=${NOTES}`, "view=call&call=5");
    await page.getByRole("heading", { name: "summarize" }).waitFor();
    await press("]");
    await at(page, /view=call&call=6$/);
    await page.getByRole("heading", { name: "sampling/createMessage" }).waitFor();
    await press("[");
    await at(page, /view=call&call=5$/);
    await page.getByRole("heading", { name: "summarize" }).waitFor();
    await press("Escape");
    await at(page, /#view=calls$/);
  });

  await bench.check("e goes to the next error", async () => {
    await calls();
    await press("e");
    await activeReads("Calls", "create_note");
    await press("e");
    await activeReads("Calls", "resources/subscribe");
    await open(page, server, `?trace=${NOTES}`, "view=messages");
    await reads(page.getByRole("main"), "31 messages");
    await press("e");
    await activeReads("Messages", "give another path");
  });

  await bench.check("r shows the raw JSON of a call, and again the other", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=call&call=4");
    await page.getByRole("heading", { name: "read_note" }).waitFor();
    await press("r");
    await at(page, /show=raw/);
    await press("r");
    await eventually("readable again", () => !page.url().includes("show=raw"));
  });

  await bench.check("/ goes to the filter, and what is typed there is no command", async () => {
    await calls();
    await press("/");
    await eventually("the box has the focus", () => filterBox(page).evaluate((box) => box === document.activeElement));
    await page.keyboard.type("jedgr?");
    assert.equal(await filterBox(page).inputValue(), "jedgr?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await open(page, server);
    await list(page, "Traces").waitFor();
    await press("/");
    const search = page.getByRole("searchbox", { name: "Search traces" });
    await eventually("the search has the focus", () => search.evaluate((box) => box === document.activeElement));
    await page.keyboard.type("weather");
    await eventually("one is found", async () => (await rows(page, "Traces").count()) === 1);
    await press("Escape");
    await eventually("all again", async () => (await rows(page, "Traces").count()) === 3);
  });

  await bench.check("home goes by j, k and enter, too", async () => {
    await open(page, server);
    await list(page, "Traces").waitFor();
    await press("j", "j", "Enter");
    await at(page, /\?trace=c1a4/);
  });

  await bench.check("g and a letter go to each view", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=timeline");
    await list(page, "Messages").waitFor();
    const views = { c: "Calls", m: "Messages", o: "Tools", s: "Sessions", l: "Lint", r: "Raw", t: "Timeline" };
    for (const [key, view] of Object.entries(views)) {
      await press("g", key);
      await at(page, new RegExp(`#view=${view.toLowerCase()}$`));
      await eventually(view, async () => (await tab(page, view).getAttribute("aria-selected")) === "true");
    }
    await press("g", "h");
    await list(page, "Traces").waitFor();
  });

  await bench.check("+, - and 0 zoom the timeline", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=timeline");
    await list(page, "Messages").waitFor();
    await press("+");
    await at(page, /from=\d+&to=\d+/);
    const near = page.url();
    await press("+");
    await eventually("nearer", () => page.url() !== near);
    await press("-");
    await eventually("farther", () => /from=/.test(page.url()));
    await press("0");
    await eventually("all", () => !/from=/.test(page.url()));
  });

  await bench.check("d changes between light and dark, and that is kept", async () => {
    await calls();
    const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await shade();
    await press("d");
    await eventually("another color", async () => (await shade()) !== before);
    await page.reload();
    await list(page, "Calls").waitFor();
    assert.notEqual(await shade(), before);
    await press("d");
    await eventually("the color before", async () => (await shade()) === before);
  });

  await bench.check("? lists every key; esc closes it", async () => {
    await calls();
    await press("?");
    const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.waitFor();
    const text = (await help.innerText()).replaceAll("\n", " ");
    const listed = await help.locator("kbd").allInnerTexts();
    for (const key of KEYS) assert.ok(listed.includes(key), `${key} is not among ${listed} in ${text}`);
    await press("Escape");
    await eventually("it is closed", async () => (await help.count()) === 0);
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await help.getByRole("button", { name: "Close" }).click();
    await eventually("it is closed", async () => (await help.count()) === 0);
    assert.ok(page.url().endsWith("#view=calls"));
  });

  await bench.check("the diff goes by j and k, too", async () => {
    await open(page, server, `?diff=${NOTES};${NOTES_LATER}`);
    await page.getByRole("button", { name: /changed search_notes/ }).first().waitFor();
    await press("j");
    await at(page, /open=\d+/);
    const first = page.url();
    await press("j");
    await eventually("the next", () => page.url() !== first);
    await press("k");
    await eventually("the one before", () => page.url() === first);
    await press("Escape");
    await eventually("closed", () => !page.url().includes("open="));
  });

  await bench.check("in the timeline, arrows go from bar to bar, and enter opens", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=timeline");
    const bars = page.getByRole("group", { name: "Calls over time" });
    await bars.getByRole("link", { name: /^Call 1:/ }).focus();
    await press("ArrowRight");
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    await eventually("the next bar", async () => (await focused()).startsWith("Call 2:"));
    await press("Enter");
    await at(page, /call=2$/);
  });

  await bench.check("everything can be reached by Tab, and what has the focus is seen to", async () => {
    for (const [query, fragment] of STOPS) {
      await open(page, server, query, fragment);
      await page.getByRole("main").getByRole("status").first().or(page.getByRole("heading").first()).first().waitFor();
      await eventually("it is loaded", async () => (await page.locator("[aria-busy=true]").count()) === 0);
      await reachAll(page, `${query}#${fragment}`);
    }
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** What a person can press; of groups that the arrows move in, one is enough. */
async function reachAll(page, where) {
  await page.evaluate(() => {
    document.activeElement?.blur();
    const pressable = "a[href], button:not([disabled]), input:not([disabled]), summary, [role=slider], [role=grid]";
    const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    window.wanted = new Set([...document.querySelectorAll(pressable)].filter((element) => isSeen(element) && element.tabIndex >= 0));
    window.unseen = [];
  });
  const total = await page.evaluate(() => window.wanted.size);
  for (let n = 0; n < total * 2 + 20; n++) {
    await page.keyboard.press("Tab");
    const left = await page.evaluate(() => {
      const now = document.activeElement;
      window.wanted.delete(now);
      const style = getComputedStyle(now);
      const hasRing = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
      const isMarked = hasRing || style.boxShadow !== "none";
      if (now !== document.body && !isMarked) window.unseen.push(now.outerHTML.slice(0, 160));
      return window.wanted.size;
    });
    if (left === 0) break;
  }
  const { unreached, unseen } = await page.evaluate(() => ({
    unreached: [...window.wanted].filter((element) => element.isConnected).map((element) => element.outerHTML.slice(0, 160)),
    unseen: window.unseen,
  }));
  assert.deepEqual(unreached, [], `${where}: not reached by Tab`);
  assert.deepEqual(unseen, [], `${where}: has the focus, and doesn't look so`);
}
