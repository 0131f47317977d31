// What is loaded of the open session: its timeline, the window at the chosen version, previews of the rows in sight.
import { batch, computed, effect, signal } from "@preact/signals";
import { place } from "./address";
import type { EntryRow, Family, Me, ModelCall, ModelCalls, Ranges, Window } from "./api";
import { Columns, contains, type Fate } from "./columns";
import { FileSource } from "./source_file";
import { Refused, ServiceSource, type SessionKey, type Source } from "./source";

export const source: Source = FileSource.found() ?? new ServiceSource();

export const me = signal<Me | null>(null);
export const columns = signal<Columns | null>(null);
export const calls = signal<ModelCall[]>([]);
export const shownWindow = signal<Window | null>(null); // of `version`, once it is there
export const family = signal<Family | null>(null);
export const problem = signal<Refused | null>(null);
export const loading = signal<string | null>(null);
export const waiting = signal(0); // events that came while an earlier version is looked at
export const tick = signal(0); // changes when the timeline grows

export const session = computed<SessionKey | null>(
  () => {
    const { id, ns, user, screen } = place.value;
    return screen === "session" && id !== null ? { id, ns, user } : null;
  },
);

/** The version on the screen. */
export const version = computed(() => {
  tick.value;
  const known = columns.value;
  if (!known) return 0;
  return Math.min(place.value.v ?? known.version, known.version);
});

/** The newest known ranges of the window at a version: exact for the one on the screen, else of the last model call. */
export function rangesAt(at: number): Ranges | null {
  const exact = shownWindow.value;
  if (exact && exact.version === at) return exact.shown;
  const call = callAt(at);
  // what came after the call is taken for shown until the window of the version arrives
  return call ? (call.version < at ? [...call.shown, [call.version + 1, at]] : call.shown) : null;
}

/** What became of a row by a version; a search may bring a covered one back into the window. */
export function fateAt(known: Columns, row: number, at: number): Fate {
  const exact = shownWindow.value?.version === at ? shownWindow.value : null;
  if (exact && known.added[row] <= at && contains(exact.shown, known.added[row])) return "shown";
  return known.fate(row, at, rangesAt(at));
}

export function callAt(at: number): ModelCall | null {
  const known = calls.value;
  let low = 0;
  let high = known.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (known[middle].version <= at) low = middle + 1;
    else high = middle;
  }
  return low ? known[low - 1] : null;
}

/** Turns a failure into words; a login page if the caller is not known. */
export function failed(fault: unknown): void {
  if (fault instanceof DOMException && fault.name === "AbortError") return;
  const refused = fault instanceof Refused ? fault : new Refused(0, "broken", String(fault));
  problem.value = refused;
}

/** Says so on the page of a session that was read again, or no longer exists. */
function sayItWentBack(): void {
  const now = problem.peek()?.message ?? "This is the session as it is now.";
  const text = `The log went back, as after a restore from a backup: what you saw here may be gone. ${now}`;
  problem.value = new Refused(0, "went_back", text);
}

let opening = new AbortController();
let unfollow = () => {};

async function open(key: SessionKey): Promise<void> {
  opening.abort();
  unfollow();
  opening = new AbortController();
  const { signal: stop } = opening;
  batch(() => {
    columns.value = null;
    calls.value = [];
    shownWindow.value = null;
    family.value = null;
    problem.value = null;
    waiting.value = 0;
    loading.value = "Reading the session…";
  });
  previews.clear();
  try {
    const fresh = new Columns();
    for (;;) {
      const page = await source.timeline(key, fresh.version, stop);
      fresh.apply(page);
      if (page.version >= page.newest) break;
      loading.value = `Reading the session: version ${page.version.toLocaleString("en")} of ${page.newest.toLocaleString("en")}…`;
    }
    batch(() => {
      columns.value = fresh;
      loading.value = null;
      tick.value++;
    });
    void readCalls(key, stop);
    source.family(key).then((found) => (family.value = found), () => {});
    unfollow = source.follow(
      key,
      fresh.version,
      () => void grow(key, stop),
      () => void open(key).then(sayItWentBack),
    );
  } catch (fault) {
    if (!stop.aborted) {
      loading.value = null;
      failed(fault);
    }
  }
}

const ALL_CALLS = 1000; // of a session with more turns, windows are read here and there
const SAMPLES = 192;

/** Reads what was shown at each model call; of a very long session at some, spread over its versions. */
async function readCalls(key: SessionKey, stop: AbortSignal): Promise<void> {
  const turns = columns.peek()?.turns ?? [];
  try {
    if (turns.length > ALL_CALLS) {
      for (const places of spread(SAMPLES)) {
        const found: ModelCall[] = [];
        for (const place of places) {
          const after = Math.max(0, turns[Math.floor(place * turns.length)] - 1);
          found.push(...(await source.windows(key, after, 1, stop)).calls);
        }
        addCalls(found); // each drawing of the raster costs more than a request
      }
      return;
    }
    for (let after: number | null = calls.peek().at(-1)?.version ?? 0; after !== null; ) {
      const page: ModelCalls = await source.windows(key, after, source.kind === "file" ? Infinity : 200, stop);
      addCalls(page.calls);
      after = page.next_after;
    }
  } catch (fault) {
    if (!stop.aborted && !(fault instanceof Refused)) failed(fault);
  }
}

function addCalls(found: ModelCall[]): void {
  const known = new Map(calls.peek().map((each) => [each.version, each]));
  for (const each of found) known.set(each.version, each);
  calls.value = [...known.values()].sort((a, b) => a.version - b.version);
}

/** Numbers from 0 to 1, each group between those before, so that a picture is coarse at once and fine later. */
function* spread(count: number): Iterable<number[]> {
  yield [0.9999];
  for (let step = 1; step < count; step *= 2) yield Array.from({ length: step }, (_, i) => (i + 0.5) / step);
}

let growing = false;

async function grow(key: SessionKey, stop: AbortSignal): Promise<void> {
  const known = columns.value;
  if (growing || !known) return;
  growing = true;
  try {
    const before = known.version;
    let page = await source.timeline(key, known.version, stop);
    known.apply(page);
    while (page.version < page.newest) {
      page = await source.timeline(key, known.version, stop);
      known.apply(page);
    }
    batch(() => {
      if (place.value.v !== null || document.hidden) waiting.value += known.version - before;
      tick.value++;
    });
    void readCalls(key, stop);
  } catch (fault) {
    if (!stop.aborted) failed(fault);
  } finally {
    growing = false;
  }
}

let opened: string | null = null;

const screenAndTab = computed(() => `${place.value.screen} ${place.value.id} ${place.value.tab}`);
let looked = screenAndTab.peek();

/** Loads what the address asks for, now and whenever it changes. */
export function watch(): void {
effect(() => {
  // a fault belongs to what was asked for there
  if (screenAndTab.value !== looked && problem.peek()?.status !== 401) problem.value = null;
  looked = screenAndTab.value;
});

effect(() => {
  const key = session.value;
  const name = key && JSON.stringify(key);
  if (name !== opened) {
    opened = name;
    if (key) void open(key);
    else {
      opening.abort();
      unfollow();
    }
  }
});

effect(() => {
  const key = session.value;
  const at = version.value;
  if (key && at && columns.value && shownWindow.peek()?.version !== at) askWindow(key, at);
});
}

// One request for the window is in flight, at most one in a while, and the newest version wins: a drawn slider must not
// keep the service busier than the page.
const PAUSE_MS = 100;
let asking = false;

function askWindow(key: SessionKey, at: number): void {
  if (asking) return; // it looks for the newest version when it ends
  asking = true;
  const pause = new Promise((done) => setTimeout(done, PAUSE_MS));
  source
    .window(key, at, 0)
    .then((found) => {
      if (same(session.peek(), key) && version.peek() === at) shownWindow.value = found;
    }, failed)
    .then(() => (version.peek() === at ? null : pause))
    .finally(() => {
      asking = false;
      const now = session.peek();
      if (now && version.peek() && !(same(now, key) && version.peek() === at)) askWindow(now, version.peek());
    });
}

const same = (one: SessionKey | null, other: SessionKey) => JSON.stringify(one) === JSON.stringify(other);

// Previews of rows, in pages; those not looked at for longest are dropped.
const PAGE = 100;
const PAGES = 60;
const previews = new Map<number, { at: number; rows: EntryRow[] | null }>();
export const previewed = signal(0);

/** The preview of a row, or null while it is on its way. */
export function preview(row: number): EntryRow | null {
  const page = Math.floor(row / PAGE);
  const found = previews.get(page);
  return found?.rows?.[row % PAGE] ?? null;
}

/** Asks for the previews of these rows, as of the newest version. */
export function wantPreviews(first: number, last: number): void {
  const key = session.peek();
  const known = columns.peek();
  if (!key || !known || known.size === 0) return;
  for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.min(last, known.size - 1) / PAGE); page++) {
    const found = previews.get(page);
    const full = Math.min(known.size - page * PAGE, PAGE);
    if (found && (found.rows === null || found.rows.length >= full)) {
      previews.delete(page);
      previews.set(page, found);
      continue;
    }
    previews.set(page, { at: known.version, rows: found?.rows ?? null });
    source.entries(key, known.added[page * PAGE], full, known.version).then(
      (answer) => {
        if (session.peek()?.id !== key.id) return;
        previews.set(page, { at: known.version, rows: answer.entries });
        while (previews.size > PAGES) previews.delete(previews.keys().next().value as number);
        previewed.value++;
      },
      (fault) => {
        previews.delete(page);
        failed(fault);
      },
    );
  }
}

export async function greet(): Promise<void> {
  try {
    me.value = await source.me();
    problem.value = null;
  } catch (fault) {
    failed(fault);
  }
}
