// Splits a filter into words at spaces, operators and commas. Positions are in bytes, as on the server.

export class FilterError extends Error {
  constructor(
    what: string,
    /** The byte range of the mistake; the end is exclusive. */
    readonly span: [number, number],
  ) {
    super(what);
  }
}

/** A word of a filter, without the quotes. */
export type Word = {
  /** The part before the operator; empty for plain words. */
  field: string;
  operator: string;
  values: string[];
  negated: boolean;
  span: [number, number];
};

type Char = { c: string; quoted: boolean };

// Unicode's white space, which is not quite what `\s` means.
const BLANK = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export function splitWords(text: string): Word[] {
  const chars = Array.from(text);
  const words: Word[] = [];
  let at = 0;
  let byte = 0;
  const take = (): string => {
    const c = chars[at] ?? "";
    at += 1;
    byte += bytesOf(c);
    return c;
  };
  for (;;) {
    while (at < chars.length && BLANK.test(chars[at] ?? "")) take();
    if (at >= chars.length) return words;
    const start = byte;
    let end = start;
    const negated = chars[at] === "-" || chars[at] === "!";
    if (negated) take();
    const raw: Char[] = [];
    let inQuotes = false;
    while (at < chars.length && (inQuotes || !BLANK.test(chars[at] ?? ""))) {
      const c = take();
      if (c === '"') inQuotes = !inQuotes;
      else if (c === "\\" && inQuotes) {
        if (at < chars.length) raw.push({ c: take(), quoted: true });
      } else raw.push({ c, quoted: inQuotes });
      end = byte;
    }
    if (inQuotes) throw new FilterError("unclosed quotation mark", [start, end]);
    words.push(takeApart(raw, negated, [start, end]));
  }
}

function takeApart(raw: Char[], negated: boolean, span: [number, number]): Word {
  const at = raw.findIndex(({ c, quoted }) => !quoted && ":<>=".includes(c));
  if (at < 0) return { field: "", operator: "", values: [textOf(raw)], negated, span };
  const isDouble = raw[at]?.c !== ":" && raw[at + 1]?.c === "=";
  const behind = at + (isDouble ? 2 : 1);
  const values: string[] = [""];
  for (const { c, quoted } of raw.slice(behind)) {
    if (c === "," && !quoted) values.push("");
    else values[values.length - 1] += c;
  }
  return { field: textOf(raw.slice(0, at)), operator: textOf(raw.slice(at, behind)), values, negated, span };
}

function textOf(chars: Char[]): string {
  return chars.map(({ c }) => c).join("");
}

function bytesOf(c: string): number {
  const code = c.codePointAt(0) ?? 0;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
