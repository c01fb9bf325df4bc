// What could come next in the filter box.

import { FIELDS, STATUSES } from "../report/filter";

export type Known = { tools: readonly string[]; methods: readonly string[]; servers: readonly string[] };
export type Option = { insert: string; about: string };
/** The options, and the part of the text that one of them replaces. */
export type Completion = { from: number; to: number; options: Option[] };

const ABOUT_FIELDS: Record<string, string> = {
  tool: "calls of such tools; * and ? stand for anything",
  method: "such methods",
  status: "what became of it",
  dir: "who asked",
  session: "of such sessions",
  server: "of the trace with this label",
  id: "with this id",
  latency: "how long it took",
  request: "how large the request is",
  response: "how large the response is",
  text: "payloads with that text",
};
const COMPARED = ["latency", "request", "response"];
const MOST = 9;

export function complete(text: string, caret: number, known: Known): Completion {
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

function fieldOption(field: string, mark: string): Option {
  const operator = COMPARED.includes(field) ? ">" : ":";
  return { insert: `${mark}${field}${operator}`, about: ABOUT_FIELDS[field] ?? "" };
}

function valuesOf(field: string, known: Known): Option[] {
  const plain = (values: readonly string[], about = ""): Option[] => values.map((insert) => ({ insert, about }));
  switch (field) {
    case "tool":
      return plain(known.tools);
    case "method":
      return plain(known.methods);
    case "server":
      return plain(known.servers);
    case "status":
      return [
        { insert: "error", about: "all that failed" },
        { insert: "answered", about: "all with an answer" },
        ...plain(STATUSES),
      ];
    case "dir":
      return [
        { insert: "in", about: "the client asked" },
        { insert: "out", about: "the server asked" },
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

/** Where the word at a place begins; blanks within quotes are part of it. */
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

/** A filter with one more word; a word of the same name is replaced, and an empty value takes it out. */
export function withWord(filter: string, field: string, value: string): string {
  const rest = filter
    .split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .filter((word) => word !== "" && !word.startsWith(`${field}:`));
  if (value !== "") rest.push(`${field}:${quoted(value)}`);
  return rest.join(" ");
}
