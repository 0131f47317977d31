// All entries up to the version, as rows of one height; only those in sight exist.
import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, place } from "./address";
import { chosenPart, partOf } from "./budget_bar";
import type { Columns } from "./columns";
import { columns, fateAt, preview, previewed, session, shownWindow, tick, version, wantPreviews } from "./session_store";
import { hiddenIn, Line } from "./text";
import { count, FATES, speaker } from "./words";

export const ROW = 28;

export const onlyWindow = signal(false);
export const onlyChanged = signal(false);
/** Versions that a search in the session found; null without one. */
export const foundVersions = signal<number[] | null>(null);

/** The rows to list, as indexes into the columns; null for all up to the version. */
export const listed = computed<{ rows: Uint32Array | null; size: number }>(() => {
  tick.value;
  const known = columns.value;
  const at = version.value;
  if (!known) return { rows: null, size: 0 };
  const there = known.countAt(at);
  const part = chosenPart.value;
  const found = foundVersions.value;
  if (!onlyWindow.value && !onlyChanged.value && part === null && found === null) return { rows: null, size: there };
  const recalled = shownWindow.value?.version === at ? shownWindow.value.recalled : [];
  const wanted = found && new Set(found);
  const rows = new Uint32Array(there);
  let size = 0;
  for (let row = 0; row < there; row++) {
    const inside = fateAt(known, row, at) === "shown";
    if (onlyWindow.value && !inside) continue;
    if (part !== null && !(inside && partOf(known, row, recalled) === part)) continue;
    if (onlyChanged.value && !changedBy(known, row, at)) continue;
    if (wanted && !wanted.has(known.added[row])) continue;
    rows[size++] = row;
  }
  return { rows: rows.subarray(0, size), size };
});

function changedBy(known: Columns, row: number, at: number): boolean {
  return known.movedAt(row, at) || known.edits.some((each) => each.row === row && each.version === at);
}

export const rowAt = (index: number) => (listed.peek().rows ? (listed.peek().rows as Uint32Array)[index] : index);

export function indexOfVersion(entry: number): number {
  const known = columns.peek();
  const { rows, size } = listed.peek();
  if (!known) return -1;
  const row = known.rowOf(entry);
  if (!rows) return row < size ? row : -1;
  return rows.indexOf(row);
}

export const selectedVersion = computed(() => {
  const found = /^e(\d+)$/.exec(place.value.sel ?? "");
  return found ? Number(found[1]) : null;
});

/** Selects the next row, or the one before. */
export function step(way: 1 | -1): void {
  const known = columns.peek();
  const { size } = listed.peek();
  if (!known || !size) return;
  const now = selectedVersion.peek();
  const index = now === null ? (way > 0 ? -1 : size) : indexOfVersion(now);
  const to = Math.min(size - 1, Math.max(0, index + way));
  go({ sel: `e${known.added[rowAt(to)]}` });
}

/** Where the list is scrolled to: the choice in sight, or without one the newest entries. */
function placed(top: number, high: number, size: number, chosen: number | null): number {
  const end = Math.max(0, size * ROW - high);
  const index = chosen === null ? -1 : indexOfVersion(chosen);
  if (chosen === null) return end;
  const row = index * ROW;
  const seen = index < 0 || (row >= top && row + ROW <= top + high);
  return Math.min(end, seen ? top : Math.max(0, row - high / 2));
}

export function Transcript() {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useRef({ top: 0, high: 0, of: "", moves: 0 });
  const [, redraw] = useState(0);
  const known = columns.value;
  const { size } = listed.value;
  const at = version.value;
  previewed.value;
  const chosen = selectedVersion.value;

  const of = `${session.value?.id} ${at} ${size} ${chosen}`;
  if (known && view.current.of !== of) {
    // known before the list scrolls, so that a step is drawn once
    view.current.of = of;
    view.current.moves++;
    view.current.top = placed(view.current.top, view.current.high, size, chosen);
  }

  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const measure = () => {
      const now = view.current;
      const { scrollTop: top, clientHeight: high } = box;
      if (now.top === top && now.high === high) return;
      view.current = { ...now, top, high, of: now.high ? now.of : "" }; // placed again once its height is known
      redraw((before) => before + 1);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    box.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", measure);
    };
  }, [known !== null]);

  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = view.current.top;
  }, [known, view.current.moves]);

  const first = Math.max(0, Math.floor(view.current.top / ROW) - 6);
  const last = Math.min(size, Math.ceil((view.current.top + view.current.high) / ROW) + 6);
  useEffect(() => {
    if (!known || !size) return;
    const { rows } = listed.peek();
    if (!rows) wantPreviews(first, last);
    else for (let i = first; i < last; i++) wantPreviews(rows[i], rows[i]);
  }, [known, first, last, listed.value, known?.version]);

  if (!known) return null;
  const lines = [];
  const places = Math.ceil(view.current.high / ROW) + 13; // a row that leaves gives its elements to one that comes
  for (let i = first; i < last; i++) lines.push(<Row key={i % places} known={known} row={rowAt(i)} index={i} at={at} chosen={chosen} />);
  return (
    <section class="transcript" aria-label="Transcript">
      <Filters size={size} there={known.countAt(at)} />
      <div
        class="rows"
        ref={scroller}
        role="grid"
        aria-label="Entries"
        aria-rowcount={size}
        aria-colcount={5}
        tabIndex={0}
      >
        <div class="rows-all" role="rowgroup" style={{ height: `${size * ROW}px` }}>
          {lines}
        </div>
      </div>
      {size === 0 && <p class="empty">No entry matches. Clear the filters, or go to another version.</p>}
    </section>
  );
}

/** Chooses a row; on a narrow screen, where the pane is below the list, the reader is taken there. */
function open(entry: number): void {
  go({ sel: `e${entry}` });
  if (matchMedia("(max-width: 46rem)").matches) requestAnimationFrame(() => document.querySelector(".pane")?.scrollIntoView({ block: "start" }));
}

interface RowProps {
  known: Columns;
  row: number;
  index: number;
  at: number;
  chosen: number | null;
}

function Row({ known, row, index, at, chosen }: RowProps) {
  // a component that reads signals is drawn again for these alone, and for its own properties
  previewed.value;
  tick.value;
  const added = known.added[row];
  const fate = fateAt(known, row, at);
  const said = speaker(known.kindOf(row), known.roleOf(row));
  const text = preview(row);
  const hidden = text ? hiddenIn(text.preview).length : 0;
  const tokens = known.edits.length ? known.tokensAt(row, at) : known.tokens[row];
  return (
    <div
      class={`row fate-${fate}${changedBy(known, row, at) ? " changed" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={chosen === added}
      style={{ top: `${index * ROW}px` }}
      onClick={() => open(added)}
    >
      <span role="gridcell" class="cell-version">
        {added}
      </span>
      <span role="gridcell" class="cell-fate" title={FATES[fate].name}>
        <span aria-hidden="true">{FATES[fate].sign}</span>
        <span class="sr">{FATES[fate].name}</span>
      </span>
      <span role="gridcell" class={`cell-role ${said.part}`} title={said.name}>
        {said.letter}
        <span class="sr"> {said.name}</span>
      </span>
      <span role="gridcell" class="cell-text">
        {text?.tool_name && (
          <b class="tool-name">
            <Line text={text.tool_name} />{" "}
          </b>
        )}
        {text ? <Line text={text.preview} /> : <span class="muted">…</span>}
        {hidden > 0 && (
          <span class="chip warn" title="characters that are not visible">
            ⚠{hidden} hidden
          </span>
        )}
      </span>
      <span role="gridcell" class="cell-tokens">
        {count(tokens)}
      </span>
    </div>
  );
}

function Filters({ size, there }: { size: number; there: number }) {
  const part = chosenPart.value;
  return (
    <div class="filters">
      <label>
        <input type="checkbox" checked={onlyWindow.value} onChange={(event) => (onlyWindow.value = event.currentTarget.checked)} /> in the
        window
      </label>
      <label>
        <input type="checkbox" checked={onlyChanged.value} onChange={(event) => (onlyChanged.value = event.currentTarget.checked)} />{" "}
        changed by this version
      </label>
      {part && (
        <button type="button" class="chip" onClick={() => (chosenPart.value = null)}>
          {part} ✕
        </button>
      )}
      {session.value && (
        <span class="muted filter-count">
          {size === there ? `${count(there)} entries` : `${count(size)} of ${count(there)} entries`}
        </span>
      )}
    </div>
  );
}
