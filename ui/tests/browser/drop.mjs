// Files that are dropped into the page: one is opened, two are compared, more are merged.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import { at, eventually, list, open, reads, rows, test } from "./support.mjs";
import { fixture } from "./traces.mjs";

const NOTES = fixture("view/notes.jsonl");
const LATER = fixture("view/notes-later.jsonl");
const WEATHER = fixture("view/weather.jsonl");

const NO_TRACES = [
  ["letter.txt", "Dear Ada,\nthe tram was full.\n"],
  ["empty.jsonl", ""],
  ["other.json", '{"some":"thing"}\n'],
  ["picture.png", "\u0089PNG\r\n\u001a\n"],
];

await test(async (bench) => {
  const server = await bench.view();
  const page = await bench.page();

  await bench.check("one file is opened", async () => {
    await open(page, server);
    await page.getByRole("heading", { name: "Nothing recorded yet" }).waitFor();
    await drop(page, await files(NOTES));
    await at(page, /\?trace=[^;]+#view=timeline$/);
    await page.getByRole("link", { name: /^Call 5: summarize/ }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: /^Call 5: summarize/ }).waitFor();
  });

  await bench.check("two are compared", async () => {
    await drop(page, await files(NOTES, LATER));
    await at(page, /\?diff=[^;]+;[^;]+$/);
    await page.getByRole("button", { name: "4 changed" }).waitFor();
  });

  await bench.check("three are merged", async () => {
    await drop(page, await files(NOTES, LATER, WEATHER));
    await at(page, /\?trace=[^;]+;[^;]+;[^;]+#view=timeline$/);
    await reads(page.getByRole("main"), "82 messages");
    assert.equal(await page.getByRole("group", { name: "Traces" }).getByRole("button").count(), 4);
  });

  await bench.check("a compressed file is opened, too", async () => {
    const [file] = await files(WEATHER);
    await drop(page, [{ name: "weather.jsonl.gz", bytes: [...gzipSync(Buffer.from(file.bytes))] }]);
    await page.getByRole("link", { name: /^Call 7: alerts, cancelled/ }).waitFor();
  });

  await bench.check("files can be chosen instead", async () => {
    await open(page, server);
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Open files…" }).click();
    await (await chooser).setFiles([WEATHER]);
    await page.getByRole("link", { name: /^Call 7: alerts, cancelled/ }).waitFor();
  });

  await bench.check("while files are over the page, it says what will happen", async () => {
    await drag(page, "dragover");
    await page.getByText("Drop to open.").waitFor();
    await drag(page, "dragleave");
    await eventually("it is gone", async () => (await page.getByText("Drop to open.").count()) === 0);
  });

  await bench.check("what is no trace is refused in words, and nothing else changes", async () => {
    page.expectTrouble(/status of 400/);
    await open(page, server);
    for (const [name, text] of NO_TRACES) {
      await drop(page, [{ name, bytes: [...Buffer.from(text)] }]);
      await reads(page.getByRole("alert"), new RegExp(`${name} is not a trace[^]*wiretape record`));
      await page.getByRole("button", { name: "Dismiss" }).click();
      await eventually("it is gone", async () => (await page.getByRole("alert").count()) === 0);
    }
    assert.equal(new URL(page.url()).search, "");
  });

  await bench.check("one bad file among good ones opens none", async () => {
    await drop(page, [...(await files(NOTES)), { name: "holiday.txt", bytes: [...Buffer.from("sun\n")] }]);
    await reads(page.getByRole("alert"), "holiday.txt is not a trace");
    assert.equal(new URL(page.url()).search, "");
  });

  await bench.check("text that is dropped is none of the page's business", async () => {
    await open(page, server);
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "not a file");
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    await page.getByRole("heading", { name: "Nothing recorded yet" }).waitFor();
    assert.equal(await list(page, "Traces").count() + (await rows(page, "Traces").count()), 0);
  });

  await bench.check("a name can do no harm", async () => {
    const [file] = await files(WEATHER);
    await drop(page, [{ name: "../../<img src=x onerror=alert(1)>.jsonl", bytes: file.bytes }]);
    await page.getByRole("link", { name: /^Call 7: alerts, cancelled/ }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: /^Call 7: alerts, cancelled/ }).waitFor();
  });

  await bench.check("the page has no trouble", () => page.quiet());
});

async function files(...paths) {
  const read = async (path) => ({ name: basename(path), bytes: [...(await readFile(path))] });
  return Promise.all(paths.map(read));
}

/** Drops files on the middle of the page. */
async function drop(page, files) {
  await page.evaluate((files) => {
    const data = new DataTransfer();
    for (const { name, bytes } of files) data.items.add(new File([new Uint8Array(bytes)], name));
    for (const type of ["dragenter", "dragover", "drop"]) {
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
  }, files);
}

async function drag(page, type) {
  await page.evaluate((type) => {
    const data = new DataTransfer();
    data.items.add(new File(["x"], "x.jsonl"));
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true, relatedTarget: null }));
  }, type);
}
