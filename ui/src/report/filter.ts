// The filter of `wiretape calls`, for the filter box and for reports, which have no server. The grammar must match the server's:
// filter-vectors.json checks both.

import type { Dir } from "../api/types";
import { GlobError, globMatches, parseGlob, type Glob } from "./glob";
import { FilterError, splitWords, type Word } from "./words";

export { FilterError } from "./words";

/** The facts of a call, or of a message and its call. A term on an unknown fact does not match. */
export type Subject = {
  method?: string | null;
  tool?: string | null;
  status?: string | null;
  direction?: Dir | null;
  session?: string | null;
  /** The label of the trace. */
  server?: string | null;
  id?: string | null;
  latencyUs?: number | null;
  requestBytes?: number | null;
  responseBytes?: number | null;
};

/** Whether the subject contains a text, given in lower case. */
export type HasText = (text: string) => boolean;

export type Filter = { terms: Term[] };

type Term = { negated: boolean; holds(subject: Subject, hasText: HasText): boolean; texts: string[] };
type Condition = Omit<Term, "negated">;

export const STATUSES = [
  "ok",
  "tool-error",
  "protocol-error",
  "http-error",
  "timed-out",
  "cancelled",
  "disconnected",
  "crashed",
  "unanswered",
  "pending",
];
const FAILED = ["tool-error", "protocol-error", "http-error", "timed-out", "crashed"];
const UNANSWERED = ["timed-out", "cancelled", "disconnected", "crashed", "unanswered", "pending"];

export const FIELDS = [
  "tool",
  "method",
  "status",
  "dir",
  "session",
  "server",
  "id",
  "latency",
  "request",
  "response",
  "text",
];

/** Parses a filter; throws a FilterError. */
export function parse(text: string): Filter {
  return { terms: splitWords(text).map(termOf) };
}

/** Whether all terms match. */
export function matches(filter: Filter, subject: Subject, hasText: HasText): boolean {
  return filter.terms.every((term) => term.holds(subject, hasText) !== term.negated);
}

/** The texts that the filter searches for. */
export function needles(filter: Filter): string[] {
  return filter.terms.flatMap((term) => term.texts);
}

function termOf(word: Word): Term {
  try {
    return { negated: word.negated, ...conditionOf(word) };
  } catch (error) {
    if (error instanceof FilterError || !(error instanceof Error)) throw error;
    throw new FilterError(error.message, word.span);
  }
}

function conditionOf(word: Word): Condition {
  if (word.values.includes("")) throw new Error(`\`${word.field}${word.operator}\` needs a value`);
  switch (word.field) {
    case "latency":
      return compared(word, (subject) => subject.latencyUs, parseDuration);
    case "request":
      return compared(word, (subject) => subject.requestBytes, parseBytes);
    case "response":
      return compared(word, (subject) => subject.responseBytes, parseBytes);
  }
  const condition = namedCondition(word);
  if (word.operator !== "" && word.operator !== ":") {
    throw new Error(`\`${word.field}\` takes \`:\`, not \`${word.operator}\``);
  }
  return condition;
}

function namedCondition(word: Word): Condition {
  switch (word.field) {
    case "":
    case "text":
      return textCondition(word.values);
    case "tool":
    case "method":
    case "session":
    case "server":
    case "id":
      return nameCondition(word.values, word.field);
    case "status":
      return statusCondition(word.values);
    case "dir":
      return directionCondition(word.values);
    default:
      throw new Error(`unknown field \`${word.field}\`; fields are ${FIELDS.join(", ")}`);
  }
}

function textCondition(values: string[]): Condition {
  const texts = values.map((value) => value.toLowerCase());
  return { texts, holds: (_, hasText) => texts.some(hasText) };
}

function nameCondition(values: string[], name: "tool" | "method" | "session" | "server" | "id"): Condition {
  const globs = values.map(globOf);
  return {
    texts: [],
    holds(subject) {
      const text = subject[name];
      return text != null && globs.some((glob) => globMatches(glob, text));
    },
  };
}

function globOf(value: string): Glob {
  try {
    return parseGlob(value);
  } catch (error) {
    throw error instanceof GlobError ? new Error(error.message) : error;
  }
}

function statusCondition(values: string[]): Condition {
  const wanted = values.map(statusTest);
  return {
    texts: [],
    holds: ({ status }) => status != null && wanted.some((test) => test(status)),
  };
}

function statusTest(value: string): (status: string) => boolean {
  const name = asciiLower(value).replaceAll("_", "-");
  switch (name) {
    case "error":
    case "errors":
    case "failed":
      return (status) => FAILED.includes(status);
    case "answered":
      return (status) => !UNANSWERED.includes(status);
  }
  if (STATUSES.includes(name)) return (status) => status === name;
  throw new Error(`unknown status \`${value}\`; statuses are error, answered, ${STATUSES.join(", ")}`);
}

function directionCondition(values: string[]): Condition {
  for (const value of values) {
    if (value !== "in" && value !== "out") {
      throw new Error(`unknown direction \`${value}\`; use \`in\` (client to server) or \`out\``);
    }
  }
  return { texts: [], holds: ({ direction }) => direction != null && values.includes(direction) };
}

const COMPARISONS: Record<string, (amount: number, limit: number) => boolean> = {
  ">": (amount, limit) => amount > limit,
  ">=": (amount, limit) => amount >= limit,
  "<": (amount, limit) => amount < limit,
  "<=": (amount, limit) => amount <= limit,
};

function compared(
  word: Word,
  amountOf: (subject: Subject) => number | null | undefined,
  read: (text: string) => number | null,
): Condition {
  const comparison = COMPARISONS[word.operator];
  if (comparison === undefined) {
    throw new Error(`\`${word.field}\` takes a comparison: \`${word.field}>N\`, \`${word.field}<N\``);
  }
  const [value, ...others] = word.values;
  if (value === undefined || others.length > 0) throw new Error("a comparison takes one value");
  const limit = read(value);
  if (limit === null) {
    throw new Error(
      word.field === "latency"
        ? `\`${value}\` is not a time; write 200ms, 1.5s or 2m`
        : `\`${value}\` is not a size; write 500, 10kB or 1.5MB`,
    );
  }
  return {
    texts: [],
    holds(subject) {
      const amount = amountOf(subject);
      return amount != null && comparison(amount, limit);
    },
  };
}

/** Microseconds. */
function parseDuration(text: string): number | null {
  return amountOf(text, [["us", 1], ["µs", 1], ["ms", 1e3], ["s", 1e6], ["m", 60e6]]);
}

function parseBytes(text: string): number | null {
  const units: [string, number][] = [["kb", 1e3], ["mb", 1e6], ["gb", 1e9], ["k", 1e3], ["m", 1e6], ["g", 1e9]];
  return amountOf(asciiLower(text), [...units, ["b", 1], ["", 1]]);
}

function amountOf(text: string, units: [string, number][]): number | null {
  const unit = units.find(([name]) => text.endsWith(name));
  if (unit === undefined) return null;
  const [name, factor] = unit;
  const number = text.slice(0, text.length - name.length).trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(number)) return null;
  const amount = Number(number) * factor;
  return Number.isFinite(amount) && amount >= 0 ? Math.trunc(amount) : null;
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
