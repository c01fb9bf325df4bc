// Opens files that the user drops or picks: one is opened, two are compared, three or more are merged.

import { signal, type ReadonlySignal } from "@preact/signals";
import { problemOf } from "../api/backend";
import type { Problem } from "../api/types";
import { go } from "../router";
import { backend } from "./backend";

const readingNow = signal<string | null>(null);
const problemNow = signal<Problem | null>(null);

/** The file that is being read. */
export const reading: ReadonlySignal<string | null> = readingNow;

/** Why files couldn't be opened. */
export const openProblem: ReadonlySignal<Problem | null> = problemNow;

export async function openFiles(files: readonly File[]): Promise<void> {
  if (files.length === 0) return;
  problemNow.value = null;
  try {
    const opened: string[] = [];
    for (const file of files) {
      readingNow.value = file.name;
      opened.push((await backend.upload(file.name, file)).key);
    }
    openKeys(opened);
  } catch (error) {
    problemNow.value = problemOf(error);
  } finally {
    readingNow.value = null;
  }
}

function openKeys(opened: string[]): void {
  const [a, b] = opened;
  if (opened.length === 2 && a !== undefined && b !== undefined) go({ diff: [a, b] });
  else go({ trace: opened });
}

export function dismissOpenProblem(): void {
  problemNow.value = null;
}
