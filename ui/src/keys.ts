// The keys of the session screen; silent while something is typed, and they can be switched off.
import { signal } from "@preact/signals";

export interface Key {
  keys: string[];
  does: string;
  run: () => void;
}

const STORED = "memory-ledger:keys";

export const keysOn = signal(remembered() !== "off");
let bound: Key[] = [];

export function bind(keys: Key[]): () => void {
  bound = keys;
  return () => {
    if (bound === keys) bound = [];
  };
}

export function boundKeys(): Key[] {
  return bound;
}

export function switchKeys(on: boolean): void {
  keysOn.value = on;
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // a page that may store nothing forgets it
  }
}

function remembered(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

addEventListener("keydown", (event) => {
  if (!keysOn.value || event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  const inDialog = document.querySelector("dialog[open]") !== null;
  if (inDialog) return;
  const wanted = bound.find((each) => each.keys.includes(event.key));
  if (!wanted) return;
  const control = event.target instanceof HTMLElement && event.target.closest("button, a, summary");
  if (control && event.key === "Enter") return;
  event.preventDefault();
  wanted.run();
});
