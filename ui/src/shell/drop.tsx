// Dropping files anywhere on the page opens them.

import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { openFiles, reading } from "../state/open";

export function DropZone(): JSX.Element | null {
  const [isOver, setIsOver] = useState(false);
  // A layout effect: with a plain effect, a file could be dropped before the listeners are there.
  useLayoutEffect(() => {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const onOver = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setIsOver(true);
    };
    const onLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setIsOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setIsOver(false);
      void openFiles(Array.from(event.dataTransfer?.files ?? []));
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("dragleave", onLeave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("dragleave", onLeave);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
  if (reading.value !== null) {
    return (
      <div class="drop-zone" role="status">
        <p>
          Reading <bdi>{reading.value}</bdi>…
        </p>
        <progress aria-label="Reading" />
      </div>
    );
  }
  if (!isOver) return null;
  return (
    <div class="drop-zone">
      <p>
        <strong>Drop to open.</strong> One trace is opened, two are compared, three or more are merged.
      </p>
    </div>
  );
}
