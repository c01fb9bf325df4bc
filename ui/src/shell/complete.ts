// Suggestions for the filter box.

import { FIELDS, STATUSES } from "../report/filter";

export type KnownNames = { tools: readonly string[]; methods: readonly string[]; servers: readonly string[] };
export type Suggestion = { insert: string; about: string };
/** The suggestions, and the range of the text that a suggestion replaces. */
export type Completion = { from: number; to: number; options: Suggestion[] };

const ABOUT_FIELDS: Record<string, string> = {
  tool: "tool name; * and ? are wildcards",
  method: "JSON-RPC method; * and ? are wildcards",
  status: "outcome: ok, error, cancelled …",
  dir: "direction of the request: in or out",
  session: "session ID",
  server: "label of the trace",
  id: "JSON-RPC request ID",
  latency: "duration, such as 200ms or 1.5s",
  request: "request size, such as 10kB",
  response: "response size, such as 1MB",
  text: "text in the payload",
};
const COMPARED = ["latency", "request", "response"];
const MOST = 9;

export function complete(text: string, caret: number, known: KnownNames): Completion {
  const from = wordStart(text, caret);
  const word = text.slice(from, caret);
  const mark = /^[-!]/.test(word) ? word.slice(0, 1) : "";
  const body = word.slice(mark.length);
  const operator = /[:<>]=?/.exec(body);
  if (operator === null) {
    const options = FIELDS.filter((field) => field.startsWith(body)).map((field) => fieldOption(field, mark));
    return { from, to: caret, options: options.slice(0, 11) };
  }
  const field = body.slice(0, operator.index);
  const behind = operator.index + operator[0].length;
  const comma = body.lastIndexOf(",");
  const at = mark.length + Math.max(behind, comma + 1);
  const typed = word.slice(at).replace(/^"/, "").toLowerCase();
  const options = valuesOf(field, known)
    .filter(({ insert }) => insert.toLowerCase().includes(typed) && insert.toLowerCase() !== typed)
    .slice(0, MOST)
    .map(({ insert, about }) => ({ insert: `${quoted(insert)} `, about }));
  return { from: from + at, to: caret, options };
}

function fieldOption(field: string, mark: string): Suggestion {
  const operator = COMPARED.includes(field) ? ">" : ":";
  return { insert: `${mark}${field}${operator}`, about: ABOUT_FIELDS[field] ?? "" };
}

function valuesOf(field: string, known: KnownNames): Suggestion[] {
  const plain = (values: readonly string[], about = ""): Suggestion[] => values.map((insert) => ({ insert, about }));
  switch (field) {
    case "tool":
      return plain(known.tools);
    case "method":
      return plain(known.methods);
    case "server":
      return plain(known.servers);
    case "status":
      return [
        { insert: "error", about: "any failure" },
        { insert: "answered", about: "any response" },
        ...plain(STATUSES),
      ];
    case "dir":
      return [
        { insert: "in", about: "client to server" },
        { insert: "out", about: "server to client" },
      ];
    case "latency":
      return plain(["10ms", "100ms", "1s", "10s"]);
    case "request":
    case "response":
      return plain(["1kB", "10kB", "100kB", "1MB"]);
    default:
      return [];
  }
}

/** The start of the term at the caret; spaces within quotes belong to the term. */
function wordStart(text: string, caret: number): number {
  let start = 0;
  let inQuotes = false;
  for (let at = 0; at < caret; at++) {
    if (text[at] === '"') inQuotes = !inQuotes;
    else if (!inQuotes && /\s/.test(text[at] ?? "")) start = at + 1;
  }
  return start;
}

export function quoted(value: string): string {
  return /[\s",]/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

/** Sets the term of a field, replacing an existing one; an empty value removes it. */
export function withWord(filter: string, field: string, value: string): string {
  const rest = filter
    .split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .filter((word) => word !== "" && !word.startsWith(`${field}:`));
  if (value !== "") rest.push(`${field}:${quoted(value)}`);
  return rest.join(" ");
}
