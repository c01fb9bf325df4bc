// Extracts the source text of a member of a line, without parsing the rest.

import { decodeString, skipSpace, skipString, skipValue } from "./scan";

/** The text of the member `name` of the object in `line`; of an array, its element `index`. Null if it isn't there. */
export function extract(line: string, name: string, index: number | null = null): string | null {
  const span = memberSpan(line, name);
  if (span === null) return null;
  const inner = index === null ? span : elementSpan(line, span, index);
  return inner === null ? null : line.slice(...inner);
}

function memberSpan(line: string, name: string): [number, number] | null {
  let at = skipSpace(line, line.charCodeAt(0) === 0xfeff ? 1 : 0);
  if (line[at] !== "{") return null;
  let found: [number, number] | null = null;
  for (at += 1; ; at += 1) {
    const key = skipSpace(line, at);
    const keyEnd = line[key] === '"' ? skipString(line, key) : null;
    if (keyEnd === null) return found;
    const colon = skipSpace(line, keyEnd);
    if (line[colon] !== ":") return found;
    const start = skipSpace(line, colon + 1);
    const end = skipValue(line, start);
    if (end === null) return found;
    if (decodeString(line, key, keyEnd) === name) found = [start, end];
    at = skipSpace(line, end);
    if (line[at] !== ",") return found;
  }
}

function elementSpan(line: string, [from, to]: [number, number], index: number): [number, number] | null {
  if (line[from] !== "[") return null;
  let start = skipSpace(line, from + 1);
  for (let element = 0; start < to; element += 1) {
    const end = line[start] === "]" ? null : skipValue(line, start);
    if (end === null) return null;
    if (element === index) return [start, end];
    const comma = skipSpace(line, end);
    if (line[comma] !== ",") return null;
    start = skipSpace(line, comma + 1);
  }
  return null;
}
