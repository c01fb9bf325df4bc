// Copying and saving, with a word about whether it worked.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Puts a text on the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// Where the page may not use the clipboard, as in some frames, the old way still works.
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}

/** Saves something as a file. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the blob after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

type CopyButtonProps = {
  /** The text, or what fetches it. */
  text: () => string | Promise<string>;
  children: ComponentChildren;
  title?: string;
  class?: string;
};

/** A button that copies, and says so for a moment. */
export function CopyButton({ text, children, title, class: name }: CopyButtonProps): JSX.Element {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = setTimeout(() => setSaid(null), 1500);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    try {
      setSaid((await copyText(await text())) ? "Copied" : "Can't copy");
    } catch {
      setSaid("Can't copy");
    }
  };
  return (
    <button type="button" class={name ?? "button"} title={title} onClick={() => void copy()}>
      <span aria-live="polite">{said ?? children}</span>
    </button>
  );
}
