// Two traces side by side.

import assert from "node:assert/strict";
import { at, eventually, open, reads, section, test } from "./support.mjs";
import { layThree, NOTES, NOTES_LATER } from "./traces.mjs";

await test(async (bench) => {
  await layThree(bench);
  const server = await bench.view();
  const page = await bench.page();
  const chip = (name) => page.getByRole("group", { name: "Filter calls" }).getByRole("button", { name });
  const row = (name) => page.getByRole("listitem").filter({ has: page.getByRole("button", { name }) });
  const same = page.getByRole("button", { name: /^= same/ });

  await bench.check("calls are the same, changed, added or removed, as `wiretape diff` tells", async () => {
    await open(page, server, `?diff=${NOTES};${NOTES_LATER}`);
    for (const name of ["4 changed", "1 added", "1 removed", "6 same"]) await chip(name).waitFor();
    await reads(page.getByRole("main"), /1\s+slower/);
    await row(/added delete_note/).waitFor();
    await row(/removed create_note/).waitFor();
    assert.equal(await page.getByRole("button", { name: /changed (search_notes|read_note)/ }).count(), 4);
    const told = await bench.wiretape(["diff", NOTES, NOTES_LATER]).catch((error) => error.message);
    assert.match(told, /6 calls unchanged, 4 changed, 1 added, 1 removed, 1 slower/);
  });

  await bench.check("what the server offers has changed, too", async () => {
    const offers = section(page, "2 definition changes");
    await reads(offers, /1 breaking[^]*the argument\s`?limit`?\sis now required/);
    await offers.getByText("the server's name or version has changed").click();
    await reads(offers, /1\.8\.2[^]*1\.9\.0/);
  });

  await bench.check("a changed call shows the JSON that differs, and is a URL", async () => {
    await page.getByRole("button", { name: /changed search_notes/ }).first().click();
    await at(page, /#open=\d+$/);
    await reads(row(/changed search_notes/).first(), /params\/arguments\/limit[^]*added[^]*5/);
    await page.reload();
    await reads(row(/changed search_notes/).first(), /params\/arguments\/limit[^]*added[^]*5/);
    await page.getByRole("button", { name: /changed read_note/ }).first().click();
    await reads(row(/changed read_note/).first(), /result\/content\/0\/text[^]*- \[ \] Book the train[^]*- \[x\] Book the train/);
  });

  await bench.check("an added and a removed call say where they are", async () => {
    await page.getByRole("button", { name: /added delete_note/ }).click();
    await reads(row(/added delete_note/), "Only in B.");
    await page.getByRole("button", { name: /removed create_note/ }).click();
    await reads(row(/removed create_note/), "Only in A.");
    await page.getByRole("link", { name: /^A: call 7/ }).click();
    await at(page, new RegExp(`\\?trace=${NOTES}#view=call&call=7$`));
    await page.goBack();
    await row(/removed create_note/).waitFor();
  });

  await bench.check("what is shown is chosen, in the URL", async () => {
    await open(page, server, `?diff=${NOTES};${NOTES_LATER}`);
    await chip("6 same").click();
    await at(page, /status=/);
    await eventually("the same are there", async () => (await same.count()) === 6);
    await page.reload();
    await eventually("the same are there", async () => (await same.count()) === 6);
    await chip("6 same").click();
    await eventually("the same are not there", async () => (await same.count()) === 0);
    await page.getByRole("button", { name: /2 identical calls/ }).first().click();
    await eventually("two of them", async () => (await same.count()) === 2);
  });

  await bench.check("swapped, the added are removed", async () => {
    await open(page, server, `?diff=${NOTES};${NOTES_LATER}`);
    await page.getByRole("link", { name: "Swap" }).click();
    await at(page, new RegExp(`\\?diff=${NOTES_LATER};${NOTES}`));
    await row(/removed delete_note/).waitFor();
    await row(/added create_note/).waitFor();
    await page.goBack();
    await row(/added delete_note/).waitFor();
  });

  await bench.check("a trace compared with itself is the same", async () => {
    await open(page, server, `?diff=${NOTES};${NOTES}`);
    await page.getByRole("heading", { name: "All calls are the same" }).waitFor();
  });

  await bench.check("a call leads to the diff with another trace, and to another call", async () => {
    await open(page, server, `?trace=${NOTES}`, "view=call&call=4");
    await page.getByRole("button", { name: "Compare with…" }).click();
    const dialog = page.getByRole("dialog", { name: "Compare this call" });
    await dialog.getByRole("link", { name: "call 9" }).click();
    await reads(section(page, "Call 9 compared with call 4"), /work\/invoices-2026\.csv/);
    await page.getByRole("button", { name: "Compare with…" }).click();
    await dialog.getByRole("link", { name: "notes" }).first().click();
    await at(page, new RegExp(`\\?diff=${NOTES_LATER};${NOTES}`));
  });

  await bench.check("a trace that is not there is said to be so", async () => {
    page.expectTrouble(/status of 404/);
    await open(page, server, `?diff=${NOTES};nothing-like-it`);
    await reads(page.getByRole("alert"), "No trace nothing-like-it on this machine.");
  });

  await bench.check("the page has no trouble", () => page.quiet());
});
