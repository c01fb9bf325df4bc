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
