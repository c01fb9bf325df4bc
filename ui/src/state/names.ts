// Tool and method names seen in rows, for the suggestions of the filter box.

import { effect } from "@preact/signals";
import type { CallRow, MessageRow } from "../api/types";
import { keys } from "./set";

const MOST = 500;
const tools = new Set<string>();
const methods = new Set<string>();

effect(() => {
  // Other traces have other names.
  void keys.value;
  tools.clear();
  methods.clear();
});

export function noteNames(rows: readonly (CallRow | MessageRow)[]): void {
  for (const { tool, method } of rows) {
    if (tool !== null && tools.size < MOST) tools.add(tool);
    if (method !== null && methods.size < MOST) methods.add(method);
  }
}

export function knownNames(): { tools: string[]; methods: string[] } {
  return { tools: [...tools].toSorted(), methods: [...methods].toSorted() };
}
