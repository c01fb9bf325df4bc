import { Lexer } from "marked";
import { expect, test } from "vitest";
import { isTame, looksLikeJson, looksLikeMarkdown } from "./tame";
import { webAddress } from "./link";

const HOSTILE: Record<string, string> = {
  quotes: ">".repeat(20_000),
  "quotes with blanks": "> ".repeat(10_000),
  lists: "1. ".repeat(7_000),
  stars: `${"*".repeat(20_000)}a`,
  "stars and lines": "_*a".repeat(7_000),
  underscores: "_a".repeat(10_000),
  brackets: "[".repeat(20_000),
  tags: "<".repeat(20_000),
  "a long word": `${"a".repeat(20_000)}@`,
  "many paragraphs of marks": `${"_*a ".repeat(70)}\n\n`.repeat(100),
  "long rows": `${"|a".repeat(10_000)}\n${"|-".repeat(10_000)}`,
  "many words": "word ".repeat(9_000),
  "many small lists": "- a *b* [c](d)\n\n".repeat(1_800),
};

test("what would take long is not read as Markdown, and the rest takes no time", () => {
  for (const [name, text] of Object.entries(HOSTILE)) {
    if (!isTame(text)) continue;
    const began = performance.now();
    new Lexer({ gfm: true }).lex(text);
    expect(performance.now() - began, name).toBeLessThan(500);
  }
  expect(isTame(HOSTILE["stars"] ?? "")).toBe(false);
  expect(isTame(HOSTILE["quotes"] ?? "")).toBe(false);
});

test("ordinary texts are tame", () => {
  expect(isTame("# Notes\n\n- one\n  - two\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n")).toBe(true);
  expect(isTame("")).toBe(true);
});

test("Markdown is guessed by its signs", () => {
  expect(looksLikeMarkdown("# Title\ntext")).toBe(true);
  expect(looksLikeMarkdown("- one\n- two")).toBe(true);
  expect(looksLikeMarkdown("see **this** and\n[that](https://example.com)")).toBe(true);
  expect(looksLikeMarkdown("18 °C and light rain")).toBe(false);
  expect(looksLikeMarkdown("- only one")).toBe(false);
  expect(looksLikeMarkdown("a * b * c")).toBe(false);
});

test("what a program printed is not Markdown", () => {
  for (const text of [
    "AssertionError: refund\n\n- Expected\n+ Received\n\n- 0\n+ 2000",
    "FAIL test/refund.test.ts\n  12 | const total = sum(items);\n> 13 | expect(total).toBe(0);\n- one\n- two",
    "Error: no such file\n    at read (node:fs:441:3)\n    at main (/app/src/index.ts:12:5)\n1. a\n2. b",
    "src/refund.ts:12:5 - error TS2322\n- one\n- two",
    'Traceback:\n  File "app.py", line 3, in main\n- one\n- two',
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n- one\n- two",
  ]) {
    expect(looksLikeMarkdown(text), text).toBe(false);
  }
  expect(looksLikeMarkdown("# Release 1.2\n\n- faster\n- version 2.0 of the API")).toBe(true);
  expect(looksLikeMarkdown("| a | b |\n|---|---|\n| 1 | 2 |\n\n- one")).toBe(true);
});

test("JSON is guessed by its ends", () => {
  expect(looksLikeJson(' {"a":1}\n')).toBe(true);
  expect(looksLikeJson("[1]")).toBe(true);
  expect(looksLikeJson("[note] hello")).toBe(false);
  expect(looksLikeJson("12")).toBe(false);
});

test("only addresses of the web are links", () => {
  expect(webAddress("https://example.com/a?b#c")).toBe("https://example.com/a?b#c");
  for (const text of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//example.com", "http://", " https://x"]) {
    expect(webAddress(text), text).toBeNull();
  }
});
