// The path of a value, as a JSON pointer or for jq.

import type { JsonDocument } from "./document";

/** The names and indices from the root down to a value. */
export function steps(doc: JsonDocument, row: number): (string | number)[] {
  return [...doc.ancestors(row), row].slice(1).map((at) => doc.key(at) ?? doc.indexOf(at));
}

/** A JSON pointer (RFC 6901). */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A path for jq: `.result.content[0]["odd name"]`. */
export function jqOf(path: readonly (string | number)[]): string {
  const text = path.map(jqStep).join("");
  return text.startsWith(".") ? text : `.${text}`;
}

function jqStep(step: string | number, index: number): string {
  if (typeof step === "number") return `[${step}]`;
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(step)) return `.${step}`;
  return `${index === 0 ? "." : ""}[${JSON.stringify(step)}]`;
}

/** The steps of a JSON pointer. */
export function stepsOf(pointer: string): string[] {
  if (pointer === "") return [];
  const parts = pointer.startsWith("/") ? pointer.slice(1) : pointer;
  return parts.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value that a JSON pointer names, or -1. */
export function resolve(doc: JsonDocument, pointer: string): number {
  let at = doc.size > 0 ? 0 : -1;
  for (const step of stepsOf(pointer)) {
    if (at < 0 || !doc.isContainer(at)) return -1;
    const byName = doc.member(at, step);
    at = byName >= 0 ? byName : elementAt(doc, at, step);
  }
  return at;
}

function elementAt(doc: JsonDocument, row: number, step: string): number {
  const children = doc.children(row);
  const first = children[0];
  if (first === undefined || doc.key(first) !== null || !/^(0|[1-9]\d*)$/.test(step)) return -1;
  return children[Number(step)] ?? -1;
}
