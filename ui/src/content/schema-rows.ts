// A JSON Schema as a list of properties. References are named, never followed.

import { Kind } from "../json/columns";
import type { JsonDocument } from "../json/document";
import { preview } from "../json/format";
import { number } from "../text/units";

/** A property, or a placeholder such as "(any other)". */
export interface SchemaRow {
  row: number;
  name: string;
  depth: number;
  type: string;
  isRequired: boolean;
  description: string | null;
  /** Its constraints: `at least 1`, `one of "a", "b"`, `default 5`. */
  limits: string[];
}

const MAX_DEPTH = 8;
const MAX_ROWS = 400;

/** The properties of a schema, nested ones below their own. */
export function schemaRows(doc: JsonDocument, row: number): SchemaRow[] {
  const rows: SchemaRow[] = [];
  addProperties(doc, row, 0, rows);
  return rows;
}

function addProperties(doc: JsonDocument, row: number, depth: number, rows: SchemaRow[]): void {
  if (row < 0 || depth > MAX_DEPTH || doc.kind(row) !== Kind.Object) return;
  const required = requiredNames(doc, row);
  const properties = doc.at(row, "properties");
  if (properties >= 0) {
    for (const child of doc.children(properties)) add(doc, child, doc.key(child) ?? "", depth, required, rows);
  }
  const items = doc.at(row, "items");
  if (items >= 0) addProperties(doc, items, depth, rows);
  const others = doc.at(row, "additionalProperties");
  if (others >= 0 && doc.kind(others) === Kind.Object) add(doc, others, "(any other)", depth, required, rows);
  for (const name of ["anyOf", "oneOf", "allOf"]) addChoices(doc, doc.at(row, name), depth, rows);
}

function addChoices(doc: JsonDocument, row: number, depth: number, rows: SchemaRow[]): void {
  if (row < 0 || doc.kind(row) !== Kind.Array) return;
  for (const choice of doc.children(row)) addProperties(doc, choice, depth, rows);
}

function add(doc: JsonDocument, row: number, name: string, depth: number, required: ReadonlySet<string>, rows: SchemaRow[]): void {
  if (rows.length >= MAX_ROWS) return;
  rows.push({
    row,
    name,
    depth,
    type: typeOf(doc, row),
    isRequired: required.has(name),
    description: doc.stringAt(row, "description") ?? doc.stringAt(row, "title"),
    limits: limitsOf(doc, row),
  });
  addProperties(doc, row, depth + 1, rows);
}

function requiredNames(doc: JsonDocument, row: number): Set<string> {
  const required = doc.at(row, "required");
  if (required < 0 || doc.kind(required) !== Kind.Array) return new Set();
  return new Set(Array.from(doc.children(required), (name) => doc.string(name) ?? ""));
}

/** The type in a few words: `string`, `array of number`, `string or null`. */
export function typeOf(doc: JsonDocument, row: number, depth = 0): string {
  if (row < 0) return "any";
  if (doc.kind(row) === Kind.True) return "any";
  if (doc.kind(row) === Kind.False) return "none";
  const reference = doc.stringAt(row, "$ref");
  if (reference !== null) return reference.replace(/^#\/(\$defs|definitions)\//, "");
  const type = doc.at(row, "type");
  if (type >= 0 && doc.kind(type) === Kind.Array) return list(Array.from(doc.children(type), (one) => doc.string(one) ?? "?"));
  const name = doc.string(type);
  if (name === "array") return depth < 4 ? `array of ${typeOf(doc, doc.at(row, "items"), depth + 1)}` : "array";
  if (name !== null) return name;
  if (depth < 4) {
    const choices = [doc.at(row, "anyOf"), doc.at(row, "oneOf")].find((at) => at >= 0 && doc.kind(at) === Kind.Array);
    if (choices !== undefined) return list(Array.from(doc.children(choices), (one) => typeOf(doc, one, depth + 1)));
  }
  if (doc.at(row, "properties") >= 0) return "object";
  return doc.at(row, "enum") >= 0 || doc.at(row, "const") >= 0 ? "enum" : "any";
}

function list(types: string[]): string {
  return [...new Set(types)].slice(0, 6).join(" or ") || "none";
}

const LIMITS: [name: string, words: string][] = [
  ["const", "constant"],
  ["format", "format"],
  ["pattern", "matches"],
  ["minimum", "at least"],
  ["exclusiveMinimum", "more than"],
  ["maximum", "at most"],
  ["exclusiveMaximum", "less than"],
  ["multipleOf", "multiple of"],
  ["minLength", "min length"],
  ["maxLength", "max length"],
  ["minItems", "min items"],
  ["maxItems", "max items"],
  ["default", "default"],
];

function limitsOf(doc: JsonDocument, row: number): string[] {
  if (doc.kind(row) !== Kind.Object) return [];
  const limits: string[] = [];
  const values = doc.at(row, "enum");
  if (values >= 0) limits.push(`one of ${listed(doc, values)}`);
  for (const [name, words] of LIMITS) {
    const at = doc.at(row, name);
    if (at >= 0) limits.push(`${words} ${preview(doc, at, 60)}`);
  }
  const uniqueItems = doc.at(row, "uniqueItems");
  if (uniqueItems >= 0 && doc.source(uniqueItems) === "true") limits.push("unique items");
  return limits;
}

function listed(doc: JsonDocument, row: number): string {
  if (doc.kind(row) !== Kind.Array) return preview(doc, row, 60);
  const values = doc.children(row);
  const shown = Array.from(values.subarray(0, 20), (value) => preview(doc, value, 40)).join(", ");
  return values.length > 20 ? `${shown} and ${number(values.length - 20)} more` : shown;
}
