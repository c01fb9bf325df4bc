// Whether a text is in some JSON, as it reads when unescaped, in upper or lower case: in its strings, names and numbers.

import { decodeString, skipString } from "../json/scan";

const NUMBER = /^[-+.\deE]+/;

/** `wanted` is in lower case. */
export function hasText(json: string, wanted: string): boolean {
  // Most payloads are done with at once.
  if (!json.includes("\\") && !json.toLowerCase().includes(wanted)) return false;
  for (let at = 0; at < json.length; ) {
    const c = json[at] ?? "";
    if (c === '"') {
      const end = skipString(json, at);
      if (end === null) return false;
      if (decodeString(json, at, end).toLowerCase().includes(wanted)) return true;
      at = end;
    } else if (c === "-" || (c >= "0" && c <= "9")) {
      const number = NUMBER.exec(json.slice(at, at + 400))?.[0] ?? c;
      if (number.toLowerCase().includes(wanted)) return true;
      at += number.length;
    } else {
      at += 1;
    }
  }
  return false;
}
