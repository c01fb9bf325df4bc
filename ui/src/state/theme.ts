// Light or dark: the system's setting, or the user's choice.

import { signal, type ReadonlySignal } from "@preact/signals";

export type Theme = "light" | "dark";

const NAME = "wiretape-theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const now = signal<Theme>(chosen() ?? system());

export const theme: ReadonlySignal<Theme> = now;

export function startTheme(): void {
  apply();
  systemIsDark.addEventListener("change", () => {
    now.value = chosen() ?? system();
    apply();
  });
}

export function toggleTheme(): void {
  now.value = now.peek() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(NAME, now.peek());
  } catch {
    // The choice then lasts as long as the page.
  }
  apply();
}

function apply(): void {
  document.documentElement.dataset["theme"] = now.peek();
}

function system(): Theme {
  return systemIsDark.matches ? "dark" : "light";
}

function chosen(): Theme | null {
  try {
    const kept = localStorage.getItem(NAME);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null;
  }
}
