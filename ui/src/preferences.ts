// What the reader of this browser chose: light or dark, and whether the tour was seen.
import { effect, signal } from "@preact/signals";

export type Scheme = "system" | "light" | "dark";

function load(name: string): string | null {
  try {
    return localStorage.getItem(`memory-ledger:${name}`);
  } catch {
    return null;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`memory-ledger:${name}`, value);
  } catch {
    // a page that may store nothing forgets it
  }
}

export const scheme = signal<Scheme>((load("scheme") as Scheme) ?? "system");
export const toured = signal(load("toured") === "yes");

effect(() => {
  const root = document.documentElement;
  if (scheme.value === "system") root.removeAttribute("data-scheme");
  else root.setAttribute("data-scheme", scheme.value);
  keep("scheme", scheme.value);
});

export function endTour(): void {
  toured.value = true;
  keep("toured", "yes");
}

export function againTour(): void {
  toured.value = false;
}
