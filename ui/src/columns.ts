// The timeline of a session in typed arrays: who was in the window at a version is arithmetic, not a request.
import type { EndedSummary, Mark, Ranges, Returned, Timeline, CreatedSummary } from "./api";

export type Cause = "covered" | "erased" | "removed" | "cleared";
export type Fate = "shown" | "hidden" | Cause;

export const NEVER = 0xffffffff;
const CAUSES: Cause[] = ["covered", "erased", "removed", "cleared"];

/** What left the window in one event. */
export interface Leaving {
  version: number;
  cause: Cause;
  key: string | null;
  summary: string | null;
}

/** A summary, and until when it lived. */
export interface Lived extends CreatedSummary {
  endedVersion: number;
  endedCause: string | null;
}

/** A time out of the window that ended: the entry was there again from `back` on. */
interface Absence {
  left: number;
  leaving: number;
  back: number;
}

interface Edit {
  version: number;
  row: number;
  tokens: number;
}

/** One row for each entry that the session ever had, in the order of versions. */
export class Columns {
  size = 0;
  version = 0;
  newest = 0;
  added = new Uint32Array(1024);
  left = new Uint32Array(1024);
  leaving = new Uint32Array(1024); // index into `leavings`
  kind = new Uint8Array(1024);
  role = new Uint8Array(1024);
  tokens = new Uint32Array(1024);
  ms = new Float64Array(1024);
  turn = new Uint32Array(1024);
  kinds: string[] = [];
  roles: string[] = [];
  leavings: Leaving[] = [];
  clears: Leaving[] = [];
  summaries: Lived[] = [];
  marks: Mark[] = [];
  edits: Edit[] = [];
  turns: number[] = []; // the version at which each turn begins
  private absences = new Map<number, Absence[]>(); // by row, oldest first
  private byId = new Map<string, Lived>();
  private compactedAt: { version: number; versions: number[] } | null = null;
  private keptOf: { version: number; kept: Float64Array } | null = null;

  /** Applies the next page; pages come in order. */
  apply(page: Timeline): void {
    const kinds = page.kinds.map((name) => code(this.kinds, name));
    const roles = page.roles.map((name) => code(this.roles, name));
    const { entries } = page;
    let version = page.after;
    let ms = page.start_ms;
    for (let i = 0; i < entries.added.length; i++) {
      version += entries.added[i];
      ms += entries.ms[i];
      const row = this.room();
      this.added[row] = version;
      this.left[row] = NEVER;
      this.kind[row] = kinds[entries.kind[i]];
      this.role[row] = roles[entries.role[i]];
      this.tokens[row] = entries.tokens[i];
      this.ms[row] = ms;
      if (this.kindOf(row) === "message" && this.roleOf(row) === "user") this.turns.push(version);
      this.turn[row] = this.turns.length;
    }
    for (const summary of page.summaries) {
      const lived: Lived = { ...summary, endedVersion: NEVER, endedCause: null };
      this.summaries.push(lived);
      this.byId.set(summary.summary_id, lived);
    }
    for (const ended of page.ended) this.end(ended);
    // a rebuild brings entries back and lets others leave, in one page
    const backs = [...page.returned];
    for (const leave of page.left) {
      while (backs.length && backs[0].version < leave.version) this.bringBack(backs.shift() as Returned);
      const leaving: Leaving = {
        version: leave.version,
        cause: leave.cause as Cause,
        key: leave.key,
        summary: leave.summary_id,
      };
      const index = this.leavings.push(leaving);
      if (leaving.cause === "cleared") this.clears.push(leaving);
      for (const [first, last] of leave.versions) {
        for (let row = this.rowAtOrAfter(first); row < this.size && this.added[row] <= last; row++) {
          if (this.left[row] === NEVER) {
            this.left[row] = leave.version;
            this.leaving[row] = index - 1;
          }
        }
      }
    }
    for (const back of backs) this.bringBack(back);
    for (const edit of page.edited) {
      const row = this.rowOf(edit.entry);
      if (row < 0) continue;
      this.edits.push({ version: edit.version, row, tokens: edit.tokens });
      if (edit.role !== null) this.role[row] = code(this.roles, edit.role);
    }
    this.marks.push(...page.marks);
    this.version = page.version;
    this.newest = page.newest;
    this.keptOf = null;
  }

  kindOf(row: number): string {
    return this.kinds[this.kind[row]];
  }

  roleOf(row: number): string {
    return this.roles[this.role[row]];
  }

  /** Whether a row is what the model answered, and not a call of a tool. */
  isAnswer(row: number): boolean {
    return this.roleOf(row) === "assistant" && this.kindOf(row) !== "tool_call";
  }

  summary(id: string): Lived | undefined {
    return this.byId.get(id);
  }

  /** The first row whose version is at least `version`. */
  rowAtOrAfter(version: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.added[middle] < version) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The row of the entry added at `version`, or -1. */
  rowOf(version: number): number {
    const row = this.rowAtOrAfter(version);
    return row < this.size && this.added[row] === version ? row : -1;
  }

  /** How many rows there were at `version`. */
  countAt(version: number): number {
    return this.rowAtOrAfter(version + 1);
  }

  isActive(row: number, version: number): boolean {
    return this.added[row] <= version && version < this.left[row] && !this.absence(row, version);
  }

  /** Whether an entry came, left or returned at `version`. */
  movedAt(row: number, version: number): boolean {
    const away = this.absences.get(row) ?? [];
    return this.added[row] === version || this.left[row] === version || away.some((each) => each.left === version || each.back === version);
  }

  /** The number of tokens that an entry had at `version`: an edit changes it. */
  tokensAt(row: number, version: number): number {
    let tokens = this.tokens[row];
    for (const edit of this.edits) if (edit.row === row && edit.version <= version) tokens = edit.tokens;
    return tokens;
  }

  /** What became of a row by `version`, given which active entries are shown then. */
  fate(row: number, version: number, shown: Ranges | null): Fate {
    const leaving = this.leavingOf(row, version);
    if (leaving) return leaving.cause;
    if (shown === null || contains(shown, this.added[row])) return "shown";
    return "hidden";
  }

  /** Until which version a summary, or one that folded it, stood for the entries of a leaving. */
  behindUntil(leaving: Leaving): number {
    let summary = leaving.summary ? this.byId.get(leaving.summary) : undefined;
    while (summary && summary.endedCause === "folded") {
      const { summary_id, endedVersion } = summary;
      const next = this.summaries.find((each) => each.version === endedVersion && each.folds.includes(summary_id));
      if (!next) break;
      summary = next;
    }
    return summary ? summary.endedVersion : 0;
  }

  /** Why a row is out of the window; a clear is the last word on all that came before it. */
  leavingOf(row: number, version: number): Leaving | null {
    const cleared = this.clears.find((each) => each.version > this.added[row]);
    if (cleared && cleared.version <= version) return cleared;
    const index = this.leavingIndex(row, version);
    return index < 0 ? null : this.leavings[index];
  }

  /** The index in `leavings` of how a row that had been added left, or -1 if it was in the window at `version`. */
  leavingIndex(row: number, version: number): number {
    if (this.left[row] <= version) return this.leaving[row];
    return this.absence(row, version)?.leaving ?? -1;
  }

  liveSummaries(version: number): Lived[] {
    return this.summaries.filter((each) => each.version <= version && version < each.endedVersion);
  }

  turnAt(version: number): number {
    let low = 0;
    let high = this.turns.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.turns[middle] <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  timeAt(version: number): number | null {
    const row = this.rowAtOrAfter(version + 1) - 1;
    const mark = this.marks.findLast((each) => each.version <= version);
    const times = [row >= 0 ? this.ms[row] : null, mark ? mark.ms : null].filter((ms) => ms !== null);
    return times.length ? Math.max(...times) : null;
  }

  /** The newest version whose event was recorded at `ms` or before. */
  versionAt(ms: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ms[middle] <= ms) low = middle + 1;
      else high = middle;
    }
    let version = low ? this.added[low - 1] : 0;
    for (const mark of this.marks) if (mark.ms <= ms) version = Math.max(version, mark.version);
    return version;
  }

  /** Tokens of the active entries and live summaries after each version; index 0 is before the first. */
  kept(): Float64Array {
    if (this.keptOf?.version === this.version) return this.keptOf.kept;
    const change = new Float64Array(this.version + 2);
    const now = this.tokens.slice(0, this.size);
    const add = (version: number, tokens: number) => {
      if (version <= this.version) change[version] += tokens;
    };
    for (const edit of this.edits) {
      if (edit.version < this.left[edit.row]) add(edit.version, edit.tokens - now[edit.row]);
      now[edit.row] = edit.tokens;
    }
    for (let row = 0; row < this.size; row++) {
      add(this.added[row], this.tokens[row]);
      if (this.left[row] !== NEVER) add(this.left[row], -now[row]);
    }
    for (const [row, away] of this.absences)
      for (const each of away) {
        const tokens = this.tokensAt(row, each.left);
        add(each.left, -tokens);
        add(each.back, tokens);
      }
    for (const each of this.summaries) {
      add(each.version, each.tokens);
      if (each.endedVersion !== NEVER) add(each.endedVersion, -each.tokens);
    }
    for (let version = 1; version < change.length; version++) change[version] += change[version - 1];
    this.keptOf = { version: this.version, kept: change };
    return change;
  }

  /** The versions of all compactions, ascending. */
  compactions(): number[] {
    if (this.compactedAt?.version === this.version) return this.compactedAt.versions;
    const found = new Set(this.summaries.map((each) => each.version));
    for (const each of this.leavings) if (each.cause === "covered" || each.cause === "erased") found.add(each.version);
    this.compactedAt = { version: this.version, versions: [...found].sort((a, b) => a - b) };
    return this.compactedAt.versions;
  }

  private absence(row: number, version: number): Absence | undefined {
    return this.absences.get(row)?.find((each) => each.left <= version && version < each.back);
  }

  private bringBack({ version, versions }: Returned): void {
    for (const [first, last] of versions) {
      for (let row = this.rowAtOrAfter(first); row < this.size && this.added[row] <= last; row++) {
        if (this.left[row] === NEVER) continue;
        const away = this.absences.get(row) ?? [];
        this.absences.set(row, [...away, { left: this.left[row], leaving: this.leaving[row], back: version }]);
        this.left[row] = NEVER;
      }
    }
  }

  /** Ends a summary, or without an id all that live. */
  private end(ended: EndedSummary): void {
    const { summary_id } = ended;
    for (const lived of summary_id === null ? this.summaries : [this.byId.get(summary_id)]) {
      if (!lived || lived.endedVersion !== NEVER || lived.version > ended.version) continue;
      lived.endedVersion = ended.version;
      lived.endedCause = ended.cause;
    }
  }

  private room(): number {
    if (this.size === this.added.length) {
      const larger = this.size * 2;
      this.added = grown(this.added, new Uint32Array(larger));
      this.left = grown(this.left, new Uint32Array(larger));
      this.leaving = grown(this.leaving, new Uint32Array(larger));
      this.tokens = grown(this.tokens, new Uint32Array(larger));
      this.turn = grown(this.turn, new Uint32Array(larger));
      this.kind = grown(this.kind, new Uint8Array(larger));
      this.role = grown(this.role, new Uint8Array(larger));
      this.ms = grown(this.ms, new Float64Array(larger));
    }
    return this.size++;
  }
}

function grown<T extends { set(old: T): void }>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}

function code(names: string[], name: string): number {
  const at = names.indexOf(name);
  return at >= 0 ? at : names.push(name) - 1;
}

/** Tells whether `version` is in ascending, separate `ranges`. */
export function contains(ranges: Ranges, version: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle][0] <= version) low = middle + 1;
    else high = middle;
  }
  return low > 0 && version <= ranges[low - 1][1];
}

export function sizeOf(ranges: Ranges): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function written(ranges: Ranges): string {
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

export { CAUSES };
