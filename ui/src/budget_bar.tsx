// What fills the window, by source; a segment selects its rows.
import { signal } from "@preact/signals";
import { callAt, columns, rangesAt, shownWindow, version } from "./session_store";
import type { Columns } from "./columns";
import { contains } from "./columns";
import { count, speaker } from "./words";

export type Part = "system" | "user" | "assistant" | "tool" | "recalled" | "summaries" | "knowledge";

/** The part of the budget whose rows are selected. */
export const chosenPart = signal<Part | null>(null);

const LETTERS: Record<Part, string> = {
  system: "S",
  user: "U",
  assistant: "A",
  tool: "T",
  recalled: "R",
  summaries: "Σ",
  knowledge: "K",
};

export function partOf(known: Columns, row: number, recalled: [number, number][]): Part {
  if (contains(recalled, known.added[row])) return "recalled";
  return speaker(known.kindOf(row), known.roleOf(row)).part as Part;
}

/** The tokens of each part: of the window asked for if it has come, else by arithmetic. */
function parts(known: Columns, at: number): { parts: Map<Part, number>; limit: number | null; from: string | null } {
  const exact = shownWindow.value?.version === at ? shownWindow.value : null;
  const found = new Map<Part, number>();
  const add = (part: Part, tokens: number) => tokens && found.set(part, (found.get(part) ?? 0) + tokens);
  const shown = rangesAt(at) ?? [[1, at]];
  const recalled = exact?.recalled ?? [];
  for (const [first, last] of shown) {
    for (let row = known.rowAtOrAfter(first); row < known.size && known.added[row] <= last; row++) {
      add(partOf(known, row, recalled), known.tokens[row]);
    }
  }
  const summaries = exact ? exact.summaries : (callAt(at)?.summaries ?? []);
  for (const id of summaries) add("summaries", known.summary(id)?.tokens ?? 0);
  if (exact) add("knowledge", exact.budget.knowledge);
  return { parts: found, limit: exact ? exact.budget.limit : (callAt(at)?.limit ?? null), from: exact?.budget.limit_from ?? null };
}

export function BudgetBar() {
  const known = columns.value;
  if (!known) return null;
  const at = version.value;
  const { parts: found, limit, from } = parts(known, at);
  const exact = shownWindow.value?.version === at ? shownWindow.value : null;
  const total = exact ? exact.tokens : [...found.values()].reduce((sum, each) => sum + each, 0);
  const whole = Math.max(total, limit ?? 0, 1);
  const free = limit === null ? 0 : Math.max(0, limit - total);
  return (
    <div class="budget" role="group" aria-label="Tokens of the window" aria-busy={exact === null}>
      <p class="budget-total">
        <b>{count(total)}</b>
        {limit !== null ? ` / ${count(limit)} tokens shown` : " tokens shown, no limit"}
        {from && <span class="muted"> by {from}</span>}
        {limit !== null && total > limit && <span class="warn"> {count(total - limit)} too many</span>}
      </p>
      <div class="bar" role="group" aria-label="Parts; choose one to see its rows">
        {(Object.keys(LETTERS) as Part[]).map((part) => {
          const tokens = found.get(part) ?? 0;
          if (!tokens) return null;
          return (
            <button
              type="button"
              key={part}
              class={`part ${part}`}
              style={{ flexGrow: tokens / whole }}
              aria-pressed={chosenPart.value === part}
              title={`${part}: ${count(tokens)} tokens`}
              aria-label={`${part}: ${count(tokens)} tokens`}
              onClick={() => (chosenPart.value = chosenPart.value === part ? null : part)}
            >
              <span aria-hidden="true">{LETTERS[part]}</span>
            </button>
          );
        })}
        {free > 0 && <span class="part free" style={{ flexGrow: free / whole }} title={`free: ${count(free)} tokens`} />}
      </div>
    </div>
  );
}
