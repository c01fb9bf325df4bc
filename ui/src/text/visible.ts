// Escapes characters that are invisible or reorder others, so that a trace reads as it is.

/** A piece of a text: literal, or an escape for an invisible character. */
export interface Piece {
  text: string;
  isEscape: boolean;
}

/** Which line breaks and tabs are left alone. */
export type Breaks = "keep" | "escape";

/** Splits a text into pieces, with invisible characters escaped as `\u{202e}`. */
export function visiblePieces(text: string, breaks: Breaks = "escape"): Piece[] {
  const pieces: Piece[] = [];
  let plainFrom = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const width = code > 0xffff ? 2 : 1;
    if (isHidden(code, breaks) && !belongsToPicture(text, at, code)) {
      if (at > plainFrom) pieces.push({ text: text.slice(plainFrom, at), isEscape: false });
      pushEscape(pieces, escapeOf(code), at === plainFrom);
      plainFrom = at + width;
    }
    at += width;
  }
  if (plainFrom < text.length) pieces.push({ text: text.slice(plainFrom), isEscape: false });
  return pieces;
}

/** Escapes in a row are one piece. */
function pushEscape(pieces: Piece[], text: string, follows: boolean): void {
  const last = pieces[pieces.length - 1];
  if (follows && last?.isEscape) last.text += text;
  else pieces.push({ text, isEscape: true });
}

/** The same as one string, for titles and labels. */
export function visible(text: string, breaks: Breaks = "escape"): string {
  return visiblePieces(text, breaks)
    .map((piece) => piece.text)
    .join("");
}

/** Whether a character is invisible or reorders others. */
export function isHidden(code: number, breaks: Breaks): boolean {
  if (code < 0x7f) return code < 0x20 && !(breaks === "keep" && (code === 0x0a || code === 0x09));
  if (code < 0xa0) return true;
  if (code < 0x300) return code === 0xad;
  return isFormat(code) || isSurrogate(code) || isNoncharacter(code);
}

function isFormat(code: number): boolean {
  return (
    code === 0x34f || // combining grapheme joiner
    code === 0x61c || // Arabic letter mark
    code === 0x115f ||
    code === 0x1160 || // Hangul fillers
    code === 0x3164 ||
    code === 0xffa0 ||
    code === 0x180e ||
    (code >= 0x200b && code <= 0x200f) || // zero width, direction marks
    (code >= 0x2028 && code <= 0x202e) || // separators, embeddings, overrides
    (code >= 0x2060 && code <= 0x206f) || // joiners, isolates, deprecated
    (code >= 0xfe00 && code <= 0xfe0f) || // variation selectors
    code === 0xfeff ||
    (code >= 0xfff9 && code <= 0xfffb) ||
    (code >= 0x1d173 && code <= 0x1d17a) ||
    (code >= 0xe0000 && code <= 0xe0fff) // tags and further variation selectors: invisible text
  );
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function isNoncharacter(code: number): boolean {
  return (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) === 0xfffe;
}

// A joiner between two emoji, or a variation selector after one, is legitimate.
function belongsToPicture(text: string, at: number, code: number): boolean {
  if (at < 1) return false;
  const before = codePointBefore(text, at);
  if (code === 0xfe0f || code === 0xfe0e) return isPicture(before) || isKeycap(before);
  return code === 0x200d && isPicture(before) && isPicture(text.codePointAt(at + 1) ?? 0);
}

function isKeycap(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x23 || code === 0x2a;
}

function codePointBefore(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && at >= 2;
  return (isLow ? text.codePointAt(at - 2) : unit) ?? unit;
}

function isPicture(code: number): boolean {
  return (code >= 0x1f000 && code <= 0x1ffff) || (code >= 0x2190 && code <= 0x2bff) || code === 0xfe0f;
}

function escapeOf(code: number): string {
  if (code === 0x0a) return "\\n";
  if (code === 0x0d) return "\\r";
  if (code === 0x09) return "\\t";
  return `\\u{${code.toString(16)}}`;
}
