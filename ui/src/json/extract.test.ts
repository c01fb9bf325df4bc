import { expect, test } from "vitest";
import { extract } from "./extract";

test("a member comes out as it stands in the line", () => {
  const line = '{"t":"msg","raw": {"id":1.0, "x":"}\\"]"} ,"seq":3}';
  expect(extract(line, "raw")).toBe('{"id":1.0, "x":"}\\"]"}');
  expect(extract(line, "seq")).toBe("3");
  expect(extract(line, "none")).toBeNull();
});

test("of a batch one message comes out", () => {
  const line = '{"raw":[{"id":1}, {"id":2,"params":[1,2]} ,3]}';
  expect(extract(line, "raw", 0)).toBe('{"id":1}');
  expect(extract(line, "raw", 1)).toBe('{"id":2,"params":[1,2]}');
  expect(extract(line, "raw", 2)).toBe("3");
  expect(extract(line, "raw", 3)).toBeNull();
  expect(extract('{"raw":{"id":1}}', "raw", 0)).toBeNull();
});

test("nothing is made of damaged lines", () => {
  for (const line of ["", "x", "[1]", '{"raw', '{"raw":', '{"raw":{"a":1', '{"raw":"abc', "{,}", '{"raw":,1}']) {
    expect(extract(line, "raw"), line).toBeNull();
  }
});

test("names may be escaped, and the last of several counts", () => {
  expect(extract('{"r\\u0061w":1}', "raw")).toBe("1");
  expect(extract('{"raw":1,"raw":2}', "raw")).toBe("2");
  expect(extract('\ufeff{"raw":1}', "raw")).toBe("1");
});
