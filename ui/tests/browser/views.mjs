// Each view shows what the trace has, and is a URL: back, forward and reload bring it back.

import assert from "node:assert/strict";
import { active, at, eventually, list, open, reads, rows, section, tab, test } from "./support.mjs";
import { fixture, layThree, NOTES, Tape, textResult, WEATHER } from "./traces.mjs";

await test(async (bench) => {
  const empty = await bench.view();
  const page = await bench.page();
  // The page of the server that is ended asks for it again.
  page.expectTrouble(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_ABORTED|ERR_EMPTY_RESPONSE/);

  await bench.check("home says what to do when nothing is recorded", async () => {
    await open(page, empty);
    await page.getByRole("heading", { name: "Nothing recorded yet" }).waitFor();
    await page.getByText("wiretape record -- npx my-server").waitFor();
    await empty.end();
  });

  await layThree(bench);
  const server = await bench.view();
  const trace = `?trace=${NOTES}`;

  await bench.check("home lists the traces of the machine, the newest first", async () => {
    await open(page, server);
    await reads(page.getByRole("main").getByRole("status").first(), "3 traces");
    await eventually("the rows", async () => (await rows(page, "Traces").count()) === 3);
    const [later, weather, notes] = await rows(page, "Traces").all();
    await reads(later, /notes[^]*notes-server 1\.9\.0[^]*desk-assistant 2\.4\.0[^]*7\.60s[^]*10[^]*1/);
    await reads(weather, /weather[^]*weather-server 0\.6\.1[^]*6\.10s[^]*8[^]*1/);
    await reads(notes, /notes\.jsonl[^]*notes-server 1\.8\.2[^]*6\.80s[^]*10[^]*2/);
  });

  await bench.check("home searches, and opens what is chosen", async () => {
    await page.getByRole("searchbox", { name: "Search traces" }).fill("weather-server");
    await eventually("one is found", async () => (await rows(page, "Traces").count()) === 1);
    await reads(page.getByRole("main"), "1 of 3 traces");
    await rows(page, "Traces").first().click();
    await at(page, new RegExp(`\\?trace=${WEATHER}#view=timeline$`));
    await page.getByRole("group", { name: "Calls over time" }).waitFor();
    await page.goBack();
    await list(page, "Traces").waitFor();
  });

  await bench.check("home merges and compares what is marked", async () => {
    await open(page, server);
    await page.getByRole("checkbox", { name: "Select weather" }).check();
    await page.getByRole("checkbox", { name: "Select notes" }).last().check();
    await page.getByRole("button", { name: "Merge" }).click();
    await at(page, new RegExp(`\\?trace=${WEATHER};${NOTES}#`));
    await page.goBack();
    await page.getByRole("checkbox", { name: "Select notes" }).first().check();
    await page.getByRole("checkbox", { name: "Select notes" }).last().check();
    await page.getByRole("button", { name: "Compare" }).click();
    await at(page, /\?diff=/);
  });

  await bench.check("the timeline has a bar for each call, and all messages below", async () => {
    await open(page, server, trace, "view=timeline");
    const bars = page.getByRole("group", { name: "Calls over time" });
    await bars.getByRole("link", { name: "Call 5: summarize, ok, 1.57s" }).waitFor();
    assert.equal(await bars.getByRole("link").count(), 11);
    await bars.getByRole("link", { name: "Call 6: sampling/createMessage from the server, ok" }).waitFor();
    await bars.getByRole("link", { name: "Call 7: create_note, tool-error" }).waitFor();
    await bars.getByRole("link", { name: "Call 10: resources/subscribe, protocol-error" }).waitFor();
    await reads(page.getByRole("main"), "31 messages");
    await page.getByRole("slider").waitFor();
  });

  await bench.check("the timeline zooms, and the part that is seen is in the URL", async () => {
    await page.getByRole("button", { name: "Zoom in" }).click();
    await at(page, /&from=\d+&to=\d+$/);
    const zoomed = page.url();
    await page.reload();
    await page.getByRole("button", { name: "Show all" }).waitFor();
    assert.equal(page.url(), zoomed);
    await eventually("the zoom is kept", () => page.getByRole("button", { name: "Show all" }).isEnabled());
    await page.getByRole("button", { name: "Show all" }).click();
    await eventually("the whole is shown", () => !/from=/.test(page.url()));
  });

  await bench.check("a bar opens its call beside the timeline", async () => {
    await page.getByRole("link", { name: /^Call 5: summarize/ }).click();
    await at(page, /#view=timeline&call=5$/);
    const panel = page.getByRole("complementary", { name: "Call 5" });
    await panel.getByRole("heading", { name: "summarize" }).waitFor();
    await panel.getByRole("link", { name: "Full page" }).click();
    await at(page, /#view=call&call=5$/);
    await page.goBack();
    await panel.waitFor();
    await panel.getByRole("button", { name: "Close", exact: true }).first().click();
    await at(page, /#view=timeline$/);
  });

  await bench.check("the calls are listed, and sorted by the URL", async () => {
    await open(page, server, trace, "view=calls");
    await reads(page.getByRole("main").getByRole("status").first(), "11 calls");
    await reads(rows(page, "Calls").nth(4), /5[^]*summarize[^]*ok[^]*1\.57s/);
    await reads(rows(page, "Calls").nth(6), /create_note[^]*tool-error[^]*9\.10ms/);
    await page.getByRole("columnheader", { name: "Duration" }).getByRole("button").click();
    await at(page, /sort=-latency/);
    await reads(rows(page, "Calls").first(), "summarize");
    await page.getByRole("columnheader", { name: "Duration" }).getByRole("button").click();
    await at(page, /sort=latency/);
    await reads(rows(page, "Calls").first(), "resources/subscribe");
    await page.goBack();
    await reads(rows(page, "Calls").first(), "summarize");
  });

  await bench.check("a row opens its call beside the list", async () => {
    await open(page, server, trace, "view=calls");
    await rows(page, "Calls").nth(3).click();
    await at(page, /#view=calls&call=4$/);
    await page.getByRole("complementary", { name: "Call 4" }).getByRole("heading", { name: "read_note" }).waitFor();
    await page.reload();
    await page.getByRole("complementary", { name: "Call 4" }).getByRole("heading", { name: "read_note" }).waitFor();
    await page.goBack();
    await at(page, /#view=calls$/);
    await eventually("the panel is closed", async () => (await page.getByRole("complementary").count()) === 0);
  });

  await bench.check("a call is shown whole: arguments, result, timing, what came meanwhile", async () => {
    await open(page, server, trace, "view=call&call=5");
    const region = (name) => section(page, name);
    await page.getByRole("heading", { name: "summarize" }).waitFor();
    await reads(region("Arguments"), /folder[^]*travel[^]*words[^]*80/);
    await reads(region("Result"), "Two days in Lisbon");
    await reads(region("Timing"), /server[^]*128ms[^]*client[^]*1\.44s[^]*total/);
    await reads(region("During this call"), "warn: the index is 3 days old");
    await region("Server requests").getByRole("link", { name: "sampling/createMessage" }).click();
    await at(page, /call=6/);
    await reads(page.getByRole("main"), /You sum up notes[^]*small-1/);
  });

  await bench.check("Markdown is rendered, and the raw JSON is one key away", async () => {
    await open(page, server, trace, "view=call&call=4");
    const result = section(page, "Result");
    await result.getByRole("strong").filter({ hasText: "full after nine" }).waitFor();
    await result.getByRole("cell", { name: "Sintra by train" }).waitFor();
    await page.getByRole("button", { name: "Raw JSON" }).click();
    await at(page, /show=raw/);
    await reads(page.getByRole("main"), /"?jsonrpc"?[^]*2\.0/);
    await page.reload();
    await reads(page.getByRole("main"), /"?jsonrpc"?[^]*2\.0/);
  });

  await bench.check("structured content, a tool's failure and a protocol error have their looks", async () => {
    await open(page, server, trace, "view=call&call=9");
    await reads(section(page, "Result"), "structured content");
    await open(page, server, trace, "view=call&call=7");
    await reads(page.getByRole("main"), /tool error[^]*give another path/);
    await open(page, server, trace, "view=call&call=10");
    await reads(page.getByRole("main"), /-32601[^]*there is no method resources\/subscribe/);
  });

  await bench.check("a call without an answer says so", async () => {
    await open(page, server, `?trace=${WEATHER}`, "view=call&call=7");
    await reads(page.getByRole("main"), "This trace has no response to this call.");
  });

  await bench.check("the messages are in order, and open their calls", async () => {
    await open(page, server, trace, "view=messages");
    await reads(page.getByRole("main"), "31 messages");
    await reads(rows(page, "Messages").nth(1), /stderr[^]*1204 notes in 31 folders/);
    await reads(rows(page, "Messages").nth(8), /notification[^]*1\/3 folder 1 of 3/);
    await rows(page, "Messages").nth(7).click();
    await at(page, /#view=messages&call=3$/);
    await open(page, server, trace, "view=messages");
    await rows(page, "Messages").nth(1).click();
    await at(page, /#view=raw&line=2$/);
  });

  await bench.check("the tools have their numbers, and their definition", async () => {
    await open(page, server, trace, "view=tools");
    const row = page.getByRole("row").filter({ hasText: "search_notes" });
    await reads(row, /search_notes[^]*3[^]*27%[^]*0[^]*402ms[^]*423ms/);
    await eventually("tokens are counted", async () => /\b92\b[^]*\b27$/.test(await row.innerText()));
    await page.getByRole("button", { name: /^delete_note/ }).waitFor();
    await page.getByRole("link", { name: "search_notes" }).click();
    await at(page, /#view=tools&open=search_notes$/);
    const detail = page.getByRole("complementary", { name: "search_notes" });
    await reads(detail, /Finds the notes that hold all words[^]*query[^]*required[^]*How many notes at most/);
    await detail.getByRole("img", { name: /^Latency of search_notes: / }).first().waitFor();
    await page.reload();
    await detail.waitFor();
    await detail.getByRole("link", { name: "Show 3 calls" }).click();
    await at(page, /#view=calls&filter=tool:search_notes$/);
    await eventually("its calls", async () => (await rows(page, "Calls").count()) === 3);
  });

  await bench.check("the sessions tell who talked to whom", async () => {
    await open(page, server, trace, "view=sessions");
    await reads(page.getByRole("table"), /desk-assistant 2\.4\.0[^]*notes-server 1\.8\.2[^]*2025-11-25[^]*10[^]*2/);
    await page.getByRole("table").getByRole("link").first().click();
    await at(page, /#view=calls/);
  });

  await bench.check("lint lists findings by rule, each with its message", async () => {
    // With both traces there are two rules; a single one would be open from the start.
    await open(page, server, `${trace};${WEATHER}`, "view=lint");
    await reads(page.getByRole("main").getByRole("status").first(), /1 error/);
    await page.getByText("arguments-invalid").waitFor();
    await eventually("the check is done", async () => (await page.getByRole("progressbar").count()) === 0);
    await page.getByText("server-capability-missing").click();
    await at(page, /#view=lint&open=server-capability-missing$/);
    await reads(page.getByRole("main"), /`?resources\/subscribe`? needs the server capability/);
    await page.reload();
    await page.getByRole("link", { name: "call 10" }).click();
    await at(page, /#view=call&call=10$/);
    await reads(section(page, "Lint"), "L009");
    await page.goBack();
    await page.getByRole("link", { name: "line 27" }).click();
    await at(page, /#view=messages&line=27$/);
    await reads(list(page, "Messages").getByRole("row", { selected: true }), "resources/subscribe");
  });

  await bench.check("raw has every line, exactly", async () => {
    const { readFile } = await import("node:fs/promises");
    const lines = (await readFile(fixture("view/notes.jsonl"), "utf8")).trimEnd().split("\n");
    await open(page, server, trace, "view=raw");
    await reads(page.getByRole("main"), "31 lines");
    await reads(rows(page, "Lines").first(), lines[0]);
    await rows(page, "Lines").nth(13).click();
    await at(page, /#view=raw&line=14$/);
    await reads(page.getByRole("complementary", { name: "Line 14" }), lines[13]);
    await page.reload();
    await reads(page.getByRole("complementary", { name: "Line 14" }), lines[13]);
  });

  await bench.check("each tab is a step back in the history", async () => {
    await open(page, server, trace, "view=timeline");
    const views = ["Calls", "Messages", "Tools", "Sessions", "Lint", "Raw"];
    for (const view of views) {
      await tab(page, view).click();
      await at(page, new RegExp(`#view=${view.toLowerCase()}$`));
      await eventually("the tab is chosen", async () => (await tab(page, view).getAttribute("aria-selected")) === "true");
    }
    for (const view of views.toReversed().slice(1)) {
      await page.goBack();
      await at(page, new RegExp(`#view=${view.toLowerCase()}$`));
      await eventually("the tab is chosen", async () => (await tab(page, view).getAttribute("aria-selected")) === "true");
    }
    await page.goForward();
    await at(page, /#view=messages$/);
    await list(page, "Messages").waitFor();
  });

  await bench.check("a trace that is not there is said to be so", async () => {
    page.expectTrouble(/status of 404/);
    await open(page, server, "?trace=nothing-like-it");
    await reads(page.getByRole("alert"), "No trace nothing-like-it on this machine.");
    await page.getByRole("link", { name: "All traces" }).click();
    await list(page, "Traces").waitFor();
  });

  await bench.check("without a store the page says how to get one, under the old name of the view, too", async () => {
    await open(page, server, "", "view=store");
    await reads(page.getByRole("alert"), /no store on this machine[^]*wiretape record/);
  });

  await bench.check("the activity view shows calls, and links to their traces", async () => {
    await bench.wiretape(["demo", "--no-view"]);
    await open(page, server);
    await page.getByRole("link", { name: "Activity" }).click();
    await at(page, /#view=activity$/);
    await section(page, "Newest calls").getByRole("link", { name: "search_notes" }).waitFor();
    await reads(section(page, "By server and tool"), /divide[^]*1/);
    await reads(section(page, "Clients"), "wiretape-demo");
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    await at(page, /minutes=60/);
    await section(page, "Slowest calls").getByRole("link", { name: "search_notes" }).click();
    await at(page, /\?trace=[^#]+#view=calls&filter=/);
    await eventually("its call", async () => (await rows(page, "Calls").count()) === 1);
  });

  await bench.check("a trace that is given is opened at once, and home can be gone back to", async () => {
    const given = await bench.view([fixture("view/notes.jsonl")]);
    const other = await bench.page();
    const [, address] = await given.program.prints(/(http:\S+)/);
    await other.goto(address);
    await other.getByRole("link", { name: /^Call 5: summarize/ }).waitFor();
    await other.getByRole("link", { name: "Wiretape" }).click();
    await list(other, "Traces").waitFor();
    other.quiet();
    await given.end();
  });

  await bench.check("a call is copied as JSON-RPC, as its result, and as curl if it went over HTTP", async () => {
    const given = await bench.view([fixture("traces/wiretape-http.jsonl"), fixture("view/notes.jsonl")]);
    const other = await bench.page({ permissions: ["clipboard-read", "clipboard-write"] });
    const [, address] = await given.program.prints(/(http:\S+)/);
    const copied = async (button) => {
      const pressed = await other.getByRole("button", { name: button }).elementHandle();
      await pressed.click();
      await eventually("it is copied", async () => /Copied/.test(await pressed.innerText()));
      return other.evaluate(() => navigator.clipboard.readText());
    };
    await other.goto(`${address}&view=call&at=0&call=1`);
    assert.match(await copied("Copy as curl"), /^curl -X POST http:\/\/[^]*-H '[^]*--data-binary '\{/);
    await other.goto("about:blank");
    await other.goto(`${address}&view=call&at=1&call=3`);
    await other.getByRole("button", { name: "Copy as JSON-RPC" }).waitFor();
    assert.equal(await other.getByRole("button", { name: "Copy as curl" }).count(), 0);
    assert.equal(JSON.parse(await copied("Copy as JSON-RPC")).method, "tools/call");
    assert.ok(JSON.parse(await copied("Copy result")).content);
    await other.keyboard.press("r");
    const tree = other.getByRole("tree").first();
    await tree.waitFor();
    await tree.getByText('"lisbon"').click();
    assert.equal(await copied("Copy pointer"), "/params/arguments/query");
    assert.equal(await copied(/jq/), ".params.arguments.query");
    await other.goto("about:blank");
    await other.goto(`${address}&view=call&at=1&call=2`);
    await other.getByRole("button", { name: "Raw JSON" }).click();
    await other.getByRole("searchbox", { name: /^Search in/ }).last().fill("How many notes");
    await reads(other.getByRole("main"), /1 of 1|1 match/);
    await other.getByRole("tree").last().getByText(/How many notes at most/).waitFor();
    other.quiet();
    await given.end();
  });

  await bench.check("a row that is chosen before it has come opens when it comes", async () => {
    const tape = new Tape("many").greet();
    for (let n = 1; n <= 1100; n++) tape.tool(n * 10, 5, n, "count", { n }, textResult(`the answer to ${n}`));
    const given = await bench.view([await tape.end(20_000).write(bench, "many.jsonl")]);
    const [, address] = await given.program.prints(/(http:\S+)/);
    const other = await bench.page();
    let held = [];
    await other.route(/\/api\/calls\?.*\bfrom=(?!0\b)/, (route) => void held.push(route));
    const isAsked = () => eventually("the rows are asked for", () => held.length > 0);
    const release = async () => {
      await isAsked();
      for (const route of held) await route.continue().catch(() => undefined);
      held = [];
    };
    const panel = other.getByRole("complementary");
    const row = (index) => list(other, "Calls").locator(`[role=row][aria-rowindex="${index + 2}"]`);
    const scrollTo = (index) => list(other, "Calls").evaluate((grid, top) => grid.scrollTo(0, top), index * 24);
    await other.goto(`${address}&view=calls`);
    // Until then the list grows, and its end is elsewhere.
    await reads(other.getByRole("main").getByRole("status").first(), /^1,101 calls/);
    await row(2).click();
    await reads(panel, "the answer to 2");
    // The panel follows the keys, unless it was closed meanwhile.
    await other.keyboard.press("End");
    await reads(row(1100), "loading");
    await other.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    await release();
    await reads(row(1100), "count");
    assert.equal(await panel.count(), 0);
    await scrollTo(500);
    await reads(row(505), "loading");
    await row(505).click();
    await release();
    await reads(panel, "the answer to 505");
    await at(other, /call=506$/);
    await reads(active(other, "Calls"), "count");
    // What was pressed, and is no longer chosen when it comes, stays closed.
    await scrollTo(900);
    await reads(row(905), "loading");
    await row(905).click();
    await isAsked();
    await other.keyboard.press("Home");
    await reads(panel, "2025-11-25");
    held = [];
    await scrollTo(900);
    await release();
    await reads(row(905), "count");
    await reads(panel, "2025-11-25");
    other.quiet();
    await given.end();
  });

  await bench.check("a page of another run says so", async () => {
    const other = await bench.page();
    other.expectTrouble(/status of 401/);
    await other.goto(`${server.base}#token=00000000000000000000000000000000`);
    await other.getByRole("heading", { name: "This page belongs to another run of wiretape view" }).waitFor();
    other.quiet();
  });

  await bench.check("the page has no trouble", () => page.quiet());
});
