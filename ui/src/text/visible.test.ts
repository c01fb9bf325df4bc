import { expect, test } from "vitest";
import { visible, visiblePieces } from "./visible";

test("plain text stays as it is", () => {
  expect(visiblePieces("Pastéis de Belém, 18 °C, 東京")).toEqual([
    { text: "Pastéis de Belém, 18 °C, 東京", isEscape: false },
  ]);
  expect(visiblePieces("")).toEqual([]);
});

test("what reorders or hides text is written out", () => {
  expect(visible("a\u202eb")).toBe("a\\u{202e}b");
  expect(visible("\u2066x\u2069")).toBe("\\u{2066}x\\u{2069}");
  expect(visible("zero\u200bwidth")).toBe("zero\\u{200b}width");
  expect(visible("\ufeffbom")).toBe("\\u{feff}bom");
  expect(visible("tag\u{e0041}")).toBe("tag\\u{e0041}");
  expect(visible("bell\u0007 del\u007f c1\u009b")).toBe("bell\\u{7} del\\u{7f} c1\\u{9b}");
  expect(visible("\ud800 alone")).toBe("\\u{d800} alone");
});

test("line breaks are kept where they are wanted", () => {
  expect(visible("a\nb\tc")).toBe("a\\nb\\tc");
  expect(visible("a\nb\tc\r", "keep")).toBe("a\nb\tc\\r");
});

test("a family is one picture", () => {
  expect(visible("👩\u200d👧")).toBe("👩\u200d👧");
  expect(visible("❤\ufe0f")).toBe("❤\ufe0f");
  expect(visible("a\ufe0fb\ufe01")).toBe("a\\u{fe0f}b\\u{fe01}");
  expect(visible("a\u200db")).toBe("a\\u{200d}b");
});

test("pieces tell what is an escape", () => {
  expect(visiblePieces("x\u0000y")).toEqual([
    { text: "x", isEscape: false },
    { text: "\\u{0}", isEscape: true },
    { text: "y", isEscape: false },
  ]);
});

test("escapes in a row are one piece", () => {
  expect(visiblePieces("\u0000\u0001a\u0002").map((piece) => piece.text)).toEqual(["\\u{0}\\u{1}", "a", "\\u{2}"]);
});
