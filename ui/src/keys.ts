// The keyboard: the topmost layer with a binding for a key handles it.

import { useLayoutEffect, useRef } from "preact/hooks";

/** Maps keys to their actions. */
export type KeyBindings = Record<string, (event: KeyboardEvent) => void>;

const layers: { current: KeyBindings }[] = [];
let prefix: { key: string; at: number } | null = null;
const PREFIX_MS = 1200;

/** Binds keys while a component is mounted. Keys are `event.key`; `g t` means one after the other. */
export function useKeys(bindings: KeyBindings): void {
  const layer = useRef(bindings);
  layer.current = bindings;
  // A layout effect: with a plain effect, a key could be pressed before its binding is there.
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
  // Enter and space belong to the focused button or link.
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

/** All shortcuts, for the help dialog. */
export const KEY_HELP: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: "Lists",
    keys: [
      ["j, ↓", "Next row"],
      ["k, ↑", "Previous row"],
      ["Enter", "Open"],
      ["Esc", "Close or clear"],
      ["e", "Next error"],
      ["[", "Previous call"],
      ["]", "Next call"],
      ["r", "Toggle raw JSON"],
    ],
  },
  {
    title: "Timeline",
    keys: [
      ["+", "Zoom in"],
      ["-", "Zoom out"],
      ["0", "Show all"],
      ["←, →", "Pan the minimap, or move between bars"],
    ],
  },
  {
    title: "Go to",
    keys: [
      ["g h", "Home"],
      ["g t", "Timeline"],
      ["g c", "Calls"],
      ["g m", "Messages"],
      ["g o", "Tools"],
      ["g s", "Sessions"],
      ["g l", "Lint"],
      ["g r", "Raw"],
    ],
  },
  {
    title: "Page",
    keys: [
      ["/", "Focus the filter or search"],
      ["d", "Switch between light and dark"],
      ["?", "Show this help"],
    ],
  },
];
