import { expect, test } from "vitest";
import { Kind } from "./columns";
import { indented, preview } from "./format";
import { JsonReader, parseJson } from "./parse";
import { jqOf, pointerOf, resolve, steps } from "./path";
import { searchStep } from "./search";
import { slicesOf, slicesTo } from "./slices";

test("values keep their places, digits and repeated keys", () => {
  const doc = parseJson(' {"a": 12345678901234567890, "b": [1.0, -0e+2], "a": "\\u00e9\\n"} ');
  expect(doc.problem).toBeNull();
  const members = [...doc.children(0)];
  expect(members.map((row) => doc.key(row))).toEqual(["a", "b", "a"]);
  expect(doc.source(members[0] ?? -1)).toBe("12345678901234567890");
  expect([...doc.children(members[1] ?? -1)].map((row) => doc.source(row))).toEqual(["1.0", "-0e+2"]);
  expect(doc.stringAt(0, "a")).toBe("é\n");
  expect([...doc.repeatedKeys(0)]).toEqual(["a"]);
});

test("what JSON.parse takes is read without a problem, and the reverse", () => {
  const good = ["0", "-1.5e10", '""', "null", "true", "[]", "{}", '[[],{"":[]}]', '"\\\\"', '"\\\\\\""', " [1 , 2] "];
  for (const text of good) expect(parseJson(text).problem, text).toBeNull();
  const bad = ["", "[", "[1,]", "[,1]", "{a:1}", '{"a"}', '{"a":}', "01", "+1", "tru", '"a', "[1 2]", "{} {}", "]", "1.", ".5", '{"a":1,}'];
  for (const text of bad) {
    expect(() => JSON.parse(text), text).toThrow();
    expect(parseJson(text).problem, text).not.toBeNull();
  }
});

test("a cut text shows what is there", () => {
  const doc = parseJson('{"result":{"content":[{"type":"text","text":"abc');
  expect(doc.problem?.message).toBe("unterminated string");
  const text = resolve(doc, "/result/content/0/text");
  expect(doc.string(text)).toBe("abc");
  expect(doc.span(0)).toEqual([0, doc.text.length]);
});

test("depth is no limit", () => {
  const deep = 200_000;
  const doc = parseJson("[".repeat(deep) + "]".repeat(deep));
  expect(doc.problem).toBeNull();
  expect(doc.size).toBe(deep);
  expect(preview(doc, 0)).toContain("[[[");
});

test("two megabytes take no time to speak of", () => {
  const row = '{"id":1234,"name":"a name","tags":["x","y"],"on":true},';
  const text = `[${row.repeat(40_000)}null]`;
  const began = performance.now();
  const doc = parseJson(text);
  expect(doc.problem).toBeNull();
  expect(performance.now() - began).toBeLessThan(1000);
});

test("a place has a pointer and a path for jq", () => {
  const doc = parseJson('{"a/b":{"c~d":[{"x y":1},{"z":2}]},"plain":{"k":[3]}}');
  const odd = resolve(doc, "/a~1b/c~0d/0/x y");
  expect(doc.source(odd)).toBe("1");
  expect(pointerOf(steps(doc, odd))).toBe("/a~1b/c~0d/0/x y");
  expect(jqOf(steps(doc, odd))).toBe('.["a/b"]["c~d"][0]["x y"]');
  expect(jqOf(steps(doc, resolve(doc, "/plain/k/0")))).toBe(".plain.k[0]");
  expect(jqOf([])).toBe(".");
  expect(jqOf([0, "a"])).toBe(".[0].a");
  expect(resolve(doc, "/nothing")).toBe(-1);
  expect(resolve(doc, "/plain/k/01")).toBe(-1);
  expect(resolve(doc, "")).toBe(0);
});

test("indenting keeps the source of every value", () => {
  const doc = parseJson('{"a":[1.0,{}],"a":"x\\u0041","n":{"b":[]}}');
  expect(indented(doc, 0)).toBe(
    '{\n  "a": [\n    1.0,\n    {}\n  ],\n  "a": "x\\u0041",\n  "n": {\n    "b": []\n  }\n}',
  );
  expect(indented(doc, doc.at(0, "n"))).toBe('{\n  "b": []\n}');
});

test("a preview is short", () => {
  const doc = parseJson(`{"city":"Lisbon","days":[1,2,3],"long":"${"x".repeat(500)}"}`);
  const text = preview(doc, 0, 60);
  expect(text.startsWith('{city: "Lisbon", days: [1, 2, 3], long: "xxx')).toBe(true);
  expect(text.length).toBe(61);
});

test("search finds names and values, whatever their escapes", () => {
  const doc = parseJson('{"Quota":1,"b":["over \\u0071uota",true],"c":null}');
  const found = searchStep(doc, "quota", { hits: [], next: 0 });
  expect(found.next).toBeNull();
  expect(found.hits.map((row) => pointerOf(steps(doc, row)))).toEqual(["/Quota", "/b/0"]);
  expect(searchStep(doc, "tru", { hits: [], next: 0 }).hits.length).toBe(1);
});

test("long lists come in slices", () => {
  expect(slicesOf({ from: 0, to: 100 })).toEqual([]);
  expect(slicesOf({ from: 0, to: 250 })).toEqual([
    { from: 0, to: 100 },
    { from: 100, to: 200 },
    { from: 200, to: 250 },
  ]);
  expect(slicesOf({ from: 0, to: 1_000_000 }).length).toBe(100);
  expect(slicesTo(7, 20_000, 12_345)).toEqual(["7:10000-20000", "7:12300-12400"]);
  expect(slicesTo(7, 50, 12)).toEqual([]);
});

test("kinds are told apart", () => {
  const doc = parseJson('[{},[],"",0,true,false,null]');
  expect([...doc.children(0)].map((row) => doc.kind(row))).toEqual([
    Kind.Object,
    Kind.Array,
    Kind.String,
    Kind.Number,
    Kind.True,
    Kind.False,
    Kind.Null,
  ]);
});

test("reading in steps gives the same", () => {
  for (const text of ['{"a":[1,{"b":null}],"c":"x"}', "[1,", "12", "", "[] x"]) {
    const reader = new JsonReader(text);
    while (!reader.step(1));
    const [stepped, whole] = [reader.document(), parseJson(text)];
    expect(stepped.problem).toEqual(whole.problem);
    expect(stepped.size).toBe(whole.size);
    for (let row = 0; row < whole.size; row += 1) expect(stepped.span(row)).toEqual(whole.span(row));
  }
});
