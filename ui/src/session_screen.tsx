// The session screen: lanes, budget, tabs and the pane.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { address, elsewhere, go, inFile, link, place, type Tab, TABS } from "./address";
import { BudgetBar } from "./budget_bar";
import { ChartTab } from "./chart_tab";
import { copyText } from "./copy";
import { DiffTab } from "./diff_tab";
import { EventsTab } from "./events_tab";
import { ForksTab } from "./forks_tab";
import { bind } from "./keys";
import { Lanes, nearest } from "./lanes";
import { asked, Help } from "./dialogs";
import { askedWhy, Pane } from "./pane";
import { check, ProofTab, verdictWord } from "./proof_tab";
import { RebuildLine } from "./rebuild";
import { columns, failed, loading, session, source, tick, version } from "./session_store";
import { foundVersions, selectedVersion, step, Transcript } from "./transcript";
import { count, plural, when } from "./words";
import { askedFor, WhatIfTab } from "./what_if_tab";
import { WindowTab } from "./window_tab";

const NAMES: Record<Tab, string> = {
  transcript: "Transcript",
  window: "Window",
  diff: "Diff",
  "what-if": "What-if",
  chart: "Chart",
  events: "Events",
  proof: "Proof",
  forks: "Forks",
};

const said = signal(""); // spoken once, for actions without a visible change

function move(to: number | null | undefined): void {
  const known = columns.peek();
  if (to !== null && to !== undefined && known) go({ v: Math.min(known.version, Math.max(1, to)) });
}

function turnFrom(way: -1 | 1): number | null {
  const known = columns.peek();
  return known ? nearest(known.turns, version.peek(), way) : null;
}

async function copyLink(): Promise<void> {
  const pinned = { ...place.peek(), v: version.peek() };
  const done = await copyText(new URL(address(pinned), location.href).href);
  said.value = done ? "The link was copied." : "The browser did not allow copying.";
}

function useKeys(): void {
  useEffect(
    () =>
      bind([
        { keys: ["ArrowLeft"], does: "version before", run: () => move(version.peek() - 1) },
        { keys: ["ArrowRight"], does: "version after", run: () => move(version.peek() + 1) },
        { keys: ["["], does: "compaction before", run: () => move(nearest(columns.peek()?.compactions() ?? [], version.peek(), -1)) },
        { keys: ["]"], does: "compaction after", run: () => move(nearest(columns.peek()?.compactions() ?? [], version.peek(), 1)) },
        { keys: ["{"], does: "turn before", run: () => move(turnFrom(-1)) },
        { keys: ["}"], does: "turn after", run: () => move(turnFrom(1)) },
        { keys: ["Home"], does: "first version", run: () => move(1) },
        { keys: ["End"], does: "newest version", run: () => go({ v: null }) },
        { keys: ["j"], does: "row below", run: () => step(1) },
        { keys: ["k"], does: "row above", run: () => step(-1) },
        { keys: ["Enter"], does: "open the row", run: () => document.querySelector<HTMLElement>(".pane pre")?.focus() },
        { keys: ["Escape"], does: "back to the list", run: () => back() },
        { keys: ["/"], does: "find in the session", run: () => document.getElementById("find")?.focus() },
        { keys: ["g"], does: "go to a version, turn (t47) or time", run: () => (asked.value = "go") },
        { keys: ["y"], does: "why is it here, or not", run: () => why() },
        { keys: ["d"], does: "pin this version for a comparison", run: () => go({ a: version.peek(), tab: "diff" }) },
        { keys: ["w"], does: "what if", run: () => tryOut() },
        { keys: ["v"], does: "check the proof", run: () => prove() },
        { keys: ["f"], does: "follow the newest version", run: () => go({ v: place.peek().v === null ? version.peek() : null }) },
        { keys: ["c"], does: "copy a link to this version", run: () => void copyLink() },
        { keys: ["?"], does: "this list", run: () => (asked.value = "help") },
      ]),
    [],
  );
}

function back(): void {
  if (asked.peek()) asked.value = null;
  else if (foundVersions.peek()) foundVersions.value = null;
  else if (place.peek().sel) go({ sel: null });
  else if (place.peek().tab !== "transcript") go({ tab: "transcript" });
}

function why(): void {
  if (selectedVersion.peek() === null) step(-1);
  if (place.peek().tab !== "transcript") go({ tab: "transcript" });
  askedWhy.value++;
}

function tryOut(): void {
  go({ tab: "what-if" });
  setTimeout(() => document.getElementById("try")?.focus());
}

function prove(): void {
  go({ tab: "proof" });
  check();
}

/** The window that turn n had: of the version before its first answer. */
export function goTo(text: string): string | null {
  const known = columns.peek();
  if (!known) return null;
  const turn = /^t\s*(\d+)$/i.exec(text.trim());
  if (turn) {
    const n = Number(turn[1]);
    if (n < 1 || n > known.turns.length) return `This session has ${plural(known.turns.length, "turn")}.`;
    const start = known.turns[n - 1];
    let row = known.rowOf(start);
    while (row < known.size && known.turn[row] === n && !known.isAnswer(row)) row++;
    const answered = row < known.size && known.turn[row] === n;
    const mark = known.marks.findLast(
      (each) => each.type === "context" && each.rendered_version !== null && each.rendered_version >= start && (!answered || each.rendered_version < known.added[row]),
    );
    const at = mark?.rendered_version ?? (answered ? known.added[row] - 1 : Math.max(start, known.version));
    go({ v: Math.max(start, at), tab: "window" });
    return null;
  }
  const number = /^v?\s*(\d+)$/i.exec(text.trim());
  if (number) {
    const at = Number(number[1]);
    if (at < 1 || at > known.version) return `There are versions 1 to ${count(known.version)}.`;
    go({ v: at });
    return null;
  }
  const moment = Date.parse(text.trim());
  if (Number.isNaN(moment)) return "Write a version (120), a turn (t47) or a time (2026-01-31 09:30).";
  const at = known.versionAt(moment);
  if (!at) return "The session began later.";
  go({ v: at });
  return null;
}

export function SessionScreen() {
  useKeys();
  tick.value;
  const key = session.value;
  const known = columns.value;
  const { tab } = place.value;
  useEffect(() => {
    foundVersions.value = null;
  }, [key?.id, key?.ns, key?.user]);
  if (!key) return <p class="empty">Choose a session.</p>;
  return (
    <main class="session" id="main">
      <Head />
      {loading.value && (
        <p class="progress" role="status">
          <progress aria-label="Reading the session" /> {loading.value}
        </p>
      )}
      {!known && !loading.value && (
        <p class="empty">
          Nothing of this session could be read. Its name, its user or the namespace may be another.{" "}
          {!inFile && (
            <a href={address(elsewhere("sessions"))} onClick={(event) => link(event, elsewhere("sessions"))}>
              All sessions
            </a>
          )}
        </p>
      )}
      {known && (
        <>
          <RebuildLine />
          <Lanes />
          <BudgetBar />
          <Tabs />
          <div class={`body tab-${tab}`} role="tabpanel" id="panel" aria-label={NAMES[tab]}>
            {tab === "transcript" && <Transcript />}
            {tab === "window" && <WindowTab />}
            {tab === "diff" && <DiffTab />}
            {tab === "what-if" && <WhatIfTab key={`${askedFor.value} ${place.value.id}`} />}
            {tab === "chart" && <ChartTab />}
            {tab === "events" && <EventsTab />}
            {tab === "proof" && <ProofTab />}
            {tab === "forks" && <ForksTab />}
            {(tab === "transcript" || (tab === "window" && place.value.sel !== null)) && <Pane />}
          </div>
        </>
      )}
      <p class="sr" role="status">
        {said.value}
      </p>
      <Help goTo={goTo} />
    </main>
  );
}

function Head() {
  tick.value;
  const key = session.value;
  const known = columns.value;
  const at = version.value;
  const sessions = elsewhere("sessions");
  const { word, ok } = verdictWord();
  return (
    <header class="session-head">
      <p class="print-address">
        {new URL(address({ ...place.value, v: at || null }), location.href).href} · version {at} · {word}
      </p>
      {!inFile && (
        <a class="back" href={address(sessions)} onClick={(event) => link(event, sessions)} aria-label="All sessions">
          ‹
        </a>
      )}
      <h1>
        <bdi>{key?.id}</bdi>
      </h1>
      {known && (
        <>
          <button type="button" class="where quiet" title="Go to a version, a turn or a time" onClick={() => (asked.value = "go")}>
            v{at}/{known.version} · turn {known.turnAt(at)}
            <span class="muted time"> {when(known.timeAt(at))}</span>
          </button>
          <button type="button" class={`badge ${ok === true ? "ok" : ok === false ? "bad" : ""}`} onClick={prove}>
            {word}
          </button>
          <Find />
          <button type="button" class="quiet" onClick={() => void copyLink()}>
            Copy link
          </button>
          <button type="button" class="quiet" aria-label="Keys and help" onClick={() => (asked.value = "help")}>
            ?
          </button>
        </>
      )}
    </header>
  );
}

function Find() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const found = foundVersions.value;
  const key = session.value;
  useEffect(() => {
    if (found === null) setAt(0);
  }, [found]);
  const search = async () => {
    if (!key || !text.trim()) {
      foundVersions.value = null;
      return;
    }
    const all: number[] = [];
    let after: number | null = 0;
    try {
      while (after !== null && all.length < 5000) {
        const page: import("./api").TextMatches = await source.find(key, text, version.peek(), after);
        all.push(...page.matches.filter((each) => each.entry_id !== null).map((each) => each.version));
        after = page.next_after;
      }
      foundVersions.value = all;
      setAt(0);
      if (all.length) go({ sel: `e${all[0]}`, tab: "transcript" });
      field.current?.blur();
    } catch (fault) {
      failed(fault);
    }
  };
  const next = (way: 1 | -1) => {
    if (!found?.length) return;
    const to = (at + way + found.length) % found.length;
    setAt(to);
    go({ sel: `e${found[to]}`, tab: "transcript" });
  };
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void search();
      }}
    >
      <input
        id="find"
        ref={field}
        type="search"
        value={text}
        placeholder="find /"
        aria-label="Find in this session"
        onInput={(event) => {
          setText(event.currentTarget.value);
          if (!event.currentTarget.value) foundVersions.value = null;
        }}
      />
      {found && (
        <>
          <span role="status">{found.length ? `${at + 1} of ${count(found.length)}` : "not found"}</span>
          <button type="button" aria-label="Match before" onClick={() => next(-1)} disabled={!found.length}>
            ↑
          </button>
          <button type="button" aria-label="Next match" onClick={() => next(1)} disabled={!found.length}>
            ↓
          </button>
        </>
      )}
    </form>
  );
}

function Tabs() {
  const { tab } = place.value;
  const keys = (event: KeyboardEvent) => {
    const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const to = TABS[(TABS.indexOf(tab) + way + TABS.length) % TABS.length];
    go({ tab: to });
    document.getElementById(`tab-${to}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={keys}>
      {TABS.map((each) => (
        <button
          type="button"
          role="tab"
          key={each}
          id={`tab-${each}`}
          aria-selected={tab === each}
          aria-controls="panel"
          tabIndex={tab === each ? 0 : -1}
          onClick={() => go({ tab: each, typed: "" })}
        >
          {NAMES[each]}
        </button>
      ))}
    </div>
  );
}
