// Copying and saving, with feedback.

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

// Fallback for pages without clipboard access, such as some frames.
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

/** Saves content as a file. */
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
  /** Returns the text, or fetches it. */
  text: () => string | Promise<string>;
  children: ComponentChildren;
  title?: string;
  class?: string;
};

/** A button that copies a text and confirms it for a moment. */
export function CopyButton({ text, children, title, class: name }: CopyButtonProps): JSX.Element {
  const [feedback, setFeedback] = useState<string | null>(null);
  useEffect(() => {
    if (feedback === null) return undefined;
    const timer = setTimeout(() => setFeedback(null), 1500);
    return () => clearTimeout(timer);
  }, [feedback]);
  const copy = async (): Promise<void> => {
    try {
      setFeedback((await copyText(await text())) ? "Copied" : "Copy failed");
    } catch {
      setFeedback("Copy failed");
    }
  };
  return (
    <button type="button" class={name ?? "button"} title={title} onClick={() => void copy()}>
      <span aria-live="polite">{feedback ?? children}</span>
    </button>
  );
}
