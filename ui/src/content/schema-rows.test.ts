import { expect, test } from "vitest";
import { parseJson } from "../json/parse";
import { schemaRows } from "./schema-rows";

const of = (schema: unknown) => schemaRows(parseJson(JSON.stringify(schema)), 0);

test("properties come with type, need and limits", () => {
  const rows = of({
    type: "object",
    required: ["city"],
    properties: {
      city: { type: "string", description: "Which city", minLength: 1 },
      days: { type: ["integer", "null"], minimum: 1, maximum: 14, default: 3 },
      unit: { enum: ["c", "f"] },
      tags: { type: "array", items: { type: "string" }, uniqueItems: true },
    },
  });
  expect(rows.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
    ["city", "string", true],
    ["days", "integer or null", false],
    ["unit", "enum", false],
    ["tags", "array of string", false],
  ]);
  expect(rows[0]?.description).toBe("Which city");
  expect(rows[1]?.limits).toEqual(["at least 1", "at most 14", "default 3"]);
  expect(rows[2]?.limits).toEqual(['one of "c", "f"']);
  expect(rows[3]?.limits).toEqual(["unique items"]);
});

test("what is nested stands below its own", () => {
  const rows = of({
    properties: {
      where: { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] },
      list: { type: "array", items: { type: "object", properties: { id: { $ref: "#/$defs/Id" } } } },
      map: { type: "object", additionalProperties: { type: "boolean" } },
      either: { anyOf: [{ type: "string" }, { type: "object", properties: { x: true } }] },
    },
  });
  expect(rows.map(({ name, depth, type }) => [depth, name, type])).toEqual([
    [0, "where", "object"],
    [1, "lat", "number"],
    [0, "list", "array of object"],
    [1, "id", "Id"],
    [0, "map", "object"],
    [1, "(any other)", "boolean"],
    [0, "either", "string or object"],
    [1, "x", "any"],
  ]);
});

test("schemas that make no sense do no harm", () => {
  expect(of(true)).toEqual([]);
  expect(of({ properties: [1, 2], required: "x" }).length).toBe(2);
  expect(of({ properties: { a: 5, b: null, c: "x" } }).map((row) => row.type)).toEqual(["any", "any", "any"]);
  let deep: unknown = { type: "string" };
  for (let level = 0; level < 500; level += 1) deep = { properties: { a: deep } };
  expect(of(deep).length).toBeLessThan(20);
});
