// Scans JSON text for the end of a string, a number or a whole value, without backtracking.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The next character that is not white space. */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** The end of the string that starts at `at`, or null if it is unterminated. */
export function skipString(text: string, at: number): number | null {
  for (let from = at + 1; ; ) {
    const end = text.indexOf('"', from);
    if (end < 0) return null;
    if (!isEscaped(text, at, end)) return end + 1;
    from = end + 1;
  }
}

function isEscaped(text: string, open: number, at: number): boolean {
  let backslashes = 0;
  while (at - 1 - backslashes > open && text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

/** The end of a number or a word such as `true`. */
export function skipWord(text: string, at: number): number {
  while (at < text.length && !isDelimiter(text.charCodeAt(at))) at += 1;
  return at;
}

function isDelimiter(code: number): boolean {
  return (
    code === 0x2c || // ,
    code === 0x3a || // :
    code === 0x5b || // [
    code === 0x5d || // ]
    code === 0x7b || // {
    code === 0x7d || // }
    code === QUOTE ||
    code <= 0x20
  );
}

/** The end of the value that starts at `at`, or null if the text ends before it. */
export function skipValue(text: string, at: number): number | null {
  let depth = 0;
  do {
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) return null;
    if (code === QUOTE) {
      const end = skipString(text, at);
      if (end === null) return null;
      at = end;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      at += 1;
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
      at += 1;
    } else if (code === 0x2c || code === 0x3a) {
      if (depth === 0) return null;
      at += 1;
    } else {
      at = skipWord(text, at);
    }
  } while (depth > 0);
  return depth === 0 ? at : null;
}

/** The decoded string; `text` includes its quotes and escapes. */
export function decodeString(text: string, start: number, end: number): string {
  const last = end - 1 > start && text.charCodeAt(end - 1) === QUOTE ? end - 1 : end;
  const inner = text.slice(start + 1, last);
  if (!inner.includes("\\")) return inner;
  try {
    const decoded: unknown = JSON.parse(`"${inner}"`);
    return typeof decoded === "string" ? decoded : inner;
  } catch {
    return unescape(inner);
  }
}

const SHORT: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescape(inner: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const at = inner.indexOf("\\", from);
    if (at < 0 || at === inner.length - 1) return parts.join("") + inner.slice(from);
    parts.push(inner.slice(from, at));
    const letter = inner.charAt(at + 1);
    const code = letter === "u" ? hexAt(inner, at + 2) : null;
    if (code !== null) {
      parts.push(String.fromCharCode(code));
      from = at + 6;
    } else {
      parts.push(SHORT[letter] ?? letter);
      from = at + 2;
    }
  }
}

function hexAt(text: string, at: number): number | null {
  const digits = text.slice(at, at + 4);
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : null;
}
