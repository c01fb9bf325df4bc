// The keyboard: the topmost layer that knows a key takes it.

import { useLayoutEffect, useRef } from "preact/hooks";

/** What a key does. */
export type KeyBindings = Record<string, (event: KeyboardEvent) => void>;

const layers: { current: KeyBindings }[] = [];
let prefix: { key: string; at: number } | null = null;
const PREFIX_MS = 1200;

/** Binds keys as long as a component is there. Keys are `event.key`; `g t` is one after the other. */
export function useKeys(bindings: KeyBindings): void {
  const layer = useRef(bindings);
  layer.current = bindings;
  // What is seen can be used: effects come a moment later.
  useLayoutEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

export function startKeys(): void {
  window.addEventListener("keydown", onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : null;
  const isTyping = target?.closest("input, textarea, select, [contenteditable]") != null;
  if (isTyping && event.key !== "Escape") return;
  // Enter and space belong to what has the focus, if that is something to press.
  if ((event.key === "Enter" || event.key === " ") && target?.closest("button, a[href], summary") != null) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const name = withPrefix(event);
  for (const layer of layers.toReversed()) {
    const action = layer.current[name];
    if (action === undefined) continue;
    event.preventDefault();
    action(event);
    return;
  }
  if (event.key === "g" && prefix === null) prefix = { key: event.key, at: event.timeStamp };
}

function withPrefix(event: KeyboardEvent): string {
  const before = prefix;
  prefix = null;
  if (before === null || event.timeStamp - before.at > PREFIX_MS) return event.key;
  return `${before.key} ${event.key}`;
}

/** All keys, for the help. */
export const KEY_HELP: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: "Lists",
    keys: [
      ["j, ↓", "next row"],
      ["k, ↑", "previous row"],
      ["Enter", "open"],
      ["Esc", "close, or clear"],
      ["e", "next error"],
      ["[", "previous call"],
      ["]", "next call"],
      ["r", "raw JSON of the call"],
    ],
  },
  {
    title: "Timeline",
    keys: [
      ["+", "zoom in"],
      ["-", "zoom out"],
      ["0", "show all"],
      ["←, →", "move in time (in the timeline)"],
    ],
  },
  {
    title: "Go to",
    keys: [
      ["g h", "home"],
      ["g t", "timeline"],
      ["g c", "calls"],
      ["g m", "messages"],
      ["g o", "tools"],
      ["g s", "sessions"],
      ["g l", "lint"],
      ["g r", "raw"],
    ],
  },
  {
    title: "Page",
    keys: [
      ["/", "filter"],
      ["d", "light or dark"],
      ["?", "this help"],
    ],
  },
];
