// A JSON parser that keeps the source: the position of every value, the digits of numbers, and duplicate keys.
//
// It is not recursive, so nesting can't overflow the stack, and it never fails: a truncated or invalid text yields the values
// up to that point and a problem. Values are rows of a few integers, so a payload of megabytes is cheap.

import { Kind, Rows } from "./columns";
import { JsonDocument, type Problem } from "./document";
import { skipSpace, skipString, skipWord } from "./scan";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const LONGEST_NUMBER = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Parses a text at once. */
export function parseJson(text: string): JsonDocument {
  const reader = new JsonReader(text);
  while (!reader.step(Number.POSITIVE_INFINITY));
  return reader.document();
}

/** Parses a text in steps, so that the page stays responsive. */
export class JsonReader {
  private readonly parser: Parser;
  private problem: Problem | null = null;

  constructor(private readonly text: string) {
    this.parser = new Parser(text);
  }

  /** Parses up to N more values; true at the end. */
  step(values: number): boolean {
    for (let left = values; left > 0; left -= 1) {
      this.problem = this.parser.advance();
      if (this.problem !== null || this.parser.isDone) {
        this.problem ??= this.parser.rest();
        return true;
      }
    }
    return false;
  }

  /** The document so far. */
  document(): JsonDocument {
    return new JsonDocument(this.text, this.parser.finish(), this.problem);
  }
}

class Parser {
  private readonly rows = new Rows();
  private parent = -1;
  private at = 0;

  constructor(private readonly text: string) {
    if (text.charCodeAt(0) === 0xfeff) this.at = 1;
  }

  finish(): Rows {
    // Containers that are still open end with the text.
    for (let row = this.parent; row >= 0; row = this.rows.parent(row)) this.rows.close(row, this.text.length);
    return this.rows;
  }

  get isDone(): boolean {
    return this.parent < 0 && this.rows.length > 0;
  }

  /** One value more, or the end of one. */
  advance(): Problem | null {
    return this.parent < 0 ? this.value(-1, -1) : this.next();
  }

  /** The problem with the text after the value, if any. */
  rest(): Problem | null {
    this.at = skipSpace(this.text, this.at);
    return this.at < this.text.length ? this.problem("unexpected text after the value") : null;
  }

  /** The next member or element of the open container, or its end. */
  private next(): Problem | null {
    const isObject = this.rows.kind(this.parent) === Kind.Object;
    const close = isObject ? CLOSE_OBJECT : CLOSE_ARRAY;
    this.at = skipSpace(this.text, this.at);
    const code = this.text.charCodeAt(this.at);
    if (code === close) return this.close();
    if (this.rows.count(this.parent) > 0) {
      if (code !== COMMA) return this.problem(isObject ? "expected , or }" : "expected , or ]");
      this.at = skipSpace(this.text, this.at + 1);
    }
    return isObject ? this.member() : this.value(-1, -1);
  }

  private close(): null {
    this.at += 1;
    this.rows.close(this.parent, this.at);
    this.parent = this.rows.parent(this.parent);
    return null;
  }

  private member(): Problem | null {
    const keyStart = this.at;
    if (this.text.charCodeAt(keyStart) !== QUOTE) return this.problem("expected a quoted name");
    const keyEnd = skipString(this.text, keyStart);
    if (keyEnd === null) return this.problem("unterminated name");
    this.at = skipSpace(this.text, keyEnd);
    if (this.text.charCodeAt(this.at) !== COLON) return this.problem("expected :");
    this.at = skipSpace(this.text, this.at + 1);
    return this.value(keyStart, keyEnd);
  }

  private value(keyStart: number, keyEnd: number): Problem | null {
    this.at = skipSpace(this.text, this.at);
    const start = this.at;
    const first = this.text.charCodeAt(start);
    if (first === QUOTE) return this.string(keyStart, keyEnd);
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      this.at += 1;
      const kind = first === OPEN_OBJECT ? Kind.Object : Kind.Array;
      this.parent = this.rows.add(kind, start, this.at, this.parent, keyStart, keyEnd);
      return null;
    }
    const end = skipWord(this.text, start);
    const kind = wordKind(this.text, start, end);
    if (kind === null) return this.problem(end >= this.text.length ? "unexpected end" : "expected a value");
    this.at = end;
    this.rows.add(kind, start, end, this.parent, keyStart, keyEnd);
    return null;
  }

  private string(keyStart: number, keyEnd: number): Problem | null {
    const start = this.at;
    const end = skipString(this.text, start);
    this.at = end ?? this.text.length;
    // A text that was cut within a string still shows the beginning of that string.
    this.rows.add(Kind.String, start, this.at, this.parent, keyStart, keyEnd);
    return end === null ? this.problem("unterminated string") : null;
  }

  private problem(message: string): Problem {
    return { at: Math.min(this.at, this.text.length), message };
  }
}

function wordKind(text: string, start: number, end: number): Kind | null {
  if (end - start > LONGEST_NUMBER) return null;
  const word = text.slice(start, end);
  if (word === "true") return Kind.True;
  if (word === "false") return Kind.False;
  if (word === "null") return Kind.Null;
  return isInteger(word) || NUMBER.test(word) ? Kind.Number : null;
}

/** The commonest numbers, without the cost of a pattern. */
function isInteger(word: string): boolean {
  const first = word.charCodeAt(0);
  if (word.length > 9 || first < 0x31 || first > 0x39) return false;
  for (let at = 1; at < word.length; at += 1) {
    const code = word.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return word.length > 0;
}
