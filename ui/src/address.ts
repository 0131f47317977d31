// The address is the state: every screen can be linked, and Back undoes. What is typed stays in the fragment.
import { computed, signal } from "@preact/signals";

export type Screen = "sessions" | "session" | "search" | "records" | "backtests" | "login";
export type Tab = "transcript" | "window" | "diff" | "what-if" | "chart" | "events" | "proof" | "forks";

export interface Place {
  screen: Screen;
  ns: string | null;
  user: string | null;
  id: string | null;
  v: number | null; // null follows the newest version
  sel: string | null; // "e12" is the entry of version 12, "s:ID" a summary
  tab: Tab;
  a: number | null; // the version pinned for a comparison
  typed: string; // search text or config; in the fragment
}

const SCREENS: Screen[] = ["sessions", "session", "search", "records", "backtests", "login"];
export const TABS: Tab[] = ["transcript", "window", "diff", "what-if", "chart", "events", "proof", "forks"];

/** A file from disk may change its fragment only. */
export const inFile = document.getElementById("ledger-file") !== null;

export const place = signal<Place>(read());
export const following = computed(() => place.value.v === null);

function read(): Place {
  const text = inFile ? location.hash.replace(/^#/, "").split("~")[0] : location.search;
  const asked = new URLSearchParams(text);
  const last = location.pathname.split("/").pop() ?? "";
  const named = inFile ? asked.get("screen") : last === "ui" || last === "" ? "sessions" : last;
  const screen = SCREENS.includes(named as Screen) ? (named as Screen) : inFile ? "session" : "sessions";
  const tab = asked.get("tab") as Tab;
  return {
    screen,
    ns: asked.get("ns"),
    user: asked.get("user"),
    id: asked.get("id"),
    v: whole(asked.get("v")),
    sel: asked.get("sel"),
    tab: TABS.includes(tab) ? tab : "transcript",
    a: whole(asked.get("a")),
    typed: typed(),
  };
}

function typed(): string {
  const text = location.hash.replace(/^#/, "");
  const part = inFile ? text.split("~")[1] ?? "" : text;
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The relative address of a place. */
export function address(to: Place): string {
  const asked = new URLSearchParams();
  if (inFile && to.screen !== "session") asked.set("screen", to.screen);
  for (const name of ["ns", "user", "id"] as const) if (to[name] !== null) asked.set(name, to[name] as string);
  if (to.screen === "session") {
    if (to.v !== null) asked.set("v", String(to.v));
    if (to.sel !== null) asked.set("sel", to.sel);
    if (to.tab !== "transcript") asked.set("tab", to.tab);
    if (to.a !== null) asked.set("a", String(to.a));
  }
  const text = asked.toString();
  const fragment = to.typed ? encodeURIComponent(to.typed) : "";
  if (inFile) return `#${text}${fragment ? `~${fragment}` : ""}`;
  return `${to.screen}${text ? `?${text}` : ""}${fragment ? `#${fragment}` : ""}`;
}

let pushed = 0;

/** Goes to a place; steps that follow each other within a second are one step of Back. */
export function go(change: Partial<Place>): void {
  const to = { ...place.value, ...(change.tab ? { typed: "" } : {}), ...change };
  const now = Date.now();
  const steps = Object.keys(change).every((name) => name === "v" || name === "sel" || name === "typed");
  const href = address(to);
  if (steps && now - pushed < 1000) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  if (steps) pushed = now;
  place.value = to;
}

/** Changes the address without a step of Back. */
export function correct(change: Partial<Place>): void {
  const to = { ...place.value, ...change };
  history.replaceState(null, "", address(to));
  place.value = to;
}

export function elsewhere(screen: Screen, change: Partial<Place> = {}): Place {
  const { ns } = place.value;
  return { screen, ns, user: null, id: null, v: null, sel: null, tab: "transcript", a: null, typed: "", ...change };
}

export function link(event: MouseEvent, to: Place): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  history.pushState(null, "", address(to));
  place.value = to;
}

addEventListener("popstate", () => {
  place.value = read();
});
addEventListener("hashchange", () => {
  if (inFile) place.value = read();
});
