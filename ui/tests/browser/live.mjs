// A trace that is being recorded, watched as it grows.

import assert from "node:assert/strict";
import { Session } from "./session.mjs";
import { at, eventually, list, open, reads, rows, test } from "./support.mjs";
import { layThree } from "./traces.mjs";

/** As late a call may appear: what is promised, and what a busy machine is allowed here. */
const PROMISED_MS = 500;
const ALLOWED_MS = 2000;
const TRIES = 5;

await test(async (bench) => {
  await layThree(bench);
  const server = await bench.view();
  const page = await bench.page();
  const session = new Session(bench, "sample");
  await session.greet();

  await bench.check("home shows the running trace on top", async () => {
    await open(page, server);
    await reads(rows(page, "Traces").first(), /sample[^]*live/);
    await reads(rows(page, "Traces").nth(1), "notes");
  });

  await bench.check("home counts its calls as they happen", async () => {
    await session.tool("divide", { a: 1, b: 2 });
    await reads(rows(page, "Traces").first(), /sample[^]*\b2\b/);
  });

  await bench.check("the open trace says that it is live", async () => {
    await rows(page, "Traces").first().click();
    await at(page, /#view=timeline$/);
    await page.getByRole("banner").getByText("live", { exact: true }).waitFor();
    await page.getByRole("link", { name: /^Call 2: divide/ }).waitFor();
  });

  for (const [view, grid] of [["timeline", "Messages"], ["calls", "Calls"], ["messages", "Messages"]]) {
    await bench.check(`a call appears in ${view} as it happens`, async () => {
      await page.keyboard.press("g");
      await page.keyboard.press(view[0]);
      await at(page, new RegExp(`#view=${view}$`));
      await list(page, grid).waitFor();
      const late = [];
      for (let n = 0; n < TRIES; n++) {
        const city = `${view}-${n}`;
        const seen = appears(page, city);
        await session.tool("weather", { city });
        late.push((await seen) - session.sentAt);
      }
      const worst = Math.round(Math.max(...late));
      console.log(`${view}: a call was seen ${Math.round(Math.min(...late))} to ${worst} ms after it was sent`);
      if (worst > PROMISED_MS) console.log(`${view}: that is over ${PROMISED_MS} ms`);
      assert.ok(worst < ALLOWED_MS, `${worst} ms`);
    });
  }

  await bench.check("an open call waits for its answer, which then appears", async () => {
    // The notes are read for 30 ms each: the page sees the call before its answer, or at once with it.
    await session.tool("search_notes", { query: "lisbon" });
    await open(page, server, `?trace=${session.key}`, "view=calls");
    await reads(rows(page, "Calls").filter({ hasText: "search_notes" }), "ok");
  });

  await bench.check("the list stays at its end while it grows, and where it is once it was scrolled", async () => {
    await open(page, server, `?trace=${session.key}`, "view=messages");
    await list(page, "Messages").waitFor();
    for (let n = 0; n < 40; n++) await session.tool("divide", { a: n, b: 1 });
    await session.tool("weather", { city: "the-last-one" });
    await page.getByText("the-last-one").first().waitFor();
    await list(page, "Messages").evaluate((grid) => grid.scrollTo(0, 0));
    await reads(rows(page, "Messages").first(), "start");
    await session.tool("weather", { city: "one-more" });
    await eventually("it was counted", async () => (await server.api(`calls?trace=${session.key}&filter=one-more`)).total === 1);
    await reads(rows(page, "Messages").first(), "start");
  });

  await bench.check("a live recorder is listened to by its address", async () => {
    const served = new Session(bench, "served", ["--serve"]);
    const [, address] = await served.program.prints(/(ws:\/\/\S+)/);
    await served.greet();
    await open(page, server, `?live=${encodeURIComponent(address)}`, "view=calls");
    await reads(rows(page, "Calls").first(), "initialize");
    await page.getByRole("banner").getByText("live", { exact: true }).waitFor();
    const seen = appears(page, "over-the-socket");
    await served.tool("weather", { city: "over-the-socket" });
    console.log(`socket: a call was seen ${Math.round((await seen) - served.sentAt)} ms after it was sent`);
    await served.end();
    await eventually("it is no longer live", async () => (await page.getByRole("banner").getByText("live", { exact: true }).count()) === 0);
    await page.getByText("over-the-socket").first().waitFor();
  });

  await bench.check("recorders of other machines are refused in words", async () => {
    for (const address of ["ws://192.0.2.7:7317/abc", "ws://recorder.example:7317", "wss://127.0.0.1:7317/", "http://127.0.0.1:7317/"]) {
      await open(page, server, `?live=${encodeURIComponent(address)}`);
      await reads(page.getByRole("alert"), /live recorders must be on this machine/);
    }
    await open(page, server, "?live=nonsense");
    await reads(page.getByRole("alert"), "is not the address of a live recorder");
  });

  await bench.check("a recorder that isn't there is said to be so", async () => {
    page.expectTrouble(/status of 502/);
    await open(page, server, `?live=${encodeURIComponent("ws://127.0.0.1:9/abc")}`);
    await reads(page.getByRole("alert"), /No recorder is listening on port 9[^]*wiretape record --serve/);
  });

  await bench.check("when the recorder ends, so does the badge, here and at home", async () => {
    await open(page, server, `?trace=${session.key}`, "view=timeline");
    const badge = page.getByRole("banner").getByText("live", { exact: true });
    await badge.waitFor();
    await session.end();
    await eventually("the badge is gone", async () => (await badge.count()) === 0);
    await open(page, server);
    await reads(named(page, "sample"), /\bsample\b/);
    await eventually("it is not live", async () => !/\blive\b/.test(await named(page, "sample").innerText()));
  });

  await bench.check("home tells of a trace that begins and ends while it is looked at", async () => {
    await open(page, server);
    await list(page, "Traces").waitFor();
    const later = new Session(bench, "began-later");
    await later.greet();
    await reads(rows(page, "Traces").first(), /began-later[^]*live/);
    await later.end();
    await eventually("it has ended", async () => !/\blive\b/.test(await named(page, "began-later").innerText()));
  });

  await bench.check("a server that is gone is told, and what it said stays", async () => {
    page.expectTrouble(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_ABORTED|ERR_EMPTY_RESPONSE/);
    await open(page, server, `?trace=${session.key}`, "view=calls");
    await rows(page, "Calls").first().waitFor();
    await server.end();
    await page.getByText("Showing the last data received.").waitFor();
    await rows(page, "Calls").first().waitFor();
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

/** The row of a trace at home. */
function named(page, label) {
  return rows(page, "Traces").filter({ has: page.getByRole("checkbox", { name: `Select ${label}`, exact: true }) });
}

/** When a text is first in the page: told by the page itself, which looks each time that it is painted. */
function appears(page, text) {
  return page.evaluate(
    (text) =>
      new Promise((resolve) => {
        const look = () => {
          if (document.body.innerText.includes(text)) resolve(Date.now());
          else requestAnimationFrame(look);
        };
        look();
      }),
    text,
  );
}
