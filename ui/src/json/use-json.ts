// Parses a text: at once if it is short, else in steps between frames.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { JsonDocument } from "./document";
import { JsonReader, parseJson } from "./parse";

const SHORT = 100_000;
const STEP = 20_000;

/** The document, or null while parsing or without a text. */
export function useJson(text: string | null): JsonDocument | null {
  const isShort = text !== null && text.length <= SHORT;
  const short = useMemo(() => (isShort ? parseJson(text) : null), [text, isShort]);
  const [long, setLong] = useState<JsonDocument | null>(null);

  useEffect(() => {
    if (text === null || isShort) return undefined;
    const reader = new JsonReader(text);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      if (reader.step(STEP)) setLong(reader.document());
      else timer = setTimeout(read, 0);
    };
    read();
    return () => clearTimeout(timer);
  }, [text, isShort]);

  if (isShort) return short;
  return long?.text === text ? long : null;
}
