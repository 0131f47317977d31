// The history at a glance: tokens, the raster of the window over all versions, and the slider.
import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { go } from "./address";
import { type Columns, contains, NEVER } from "./columns";
import { callAt, calls, columns, tick, version, waiting } from "./session_store";
import { count, plural, when } from "./words";

const HEIGHT = 72;
const SAMPLES = 3;

const width = signal(0);
/** What one pixel of the raster stands for, in words; empty if each cell has a pixel of its own. */
export const combined = computed(() => {
  tick.value;
  const known = columns.value;
  if (!known || !width.value) return "";
  const versions = known.version / width.value;
  const rows = known.size / HEIGHT;
  if (versions <= 1 && rows <= 1) return "";
  return `One dot stands for up to ${plural(Math.max(1, Math.ceil(versions)), "version")} and ${plural(Math.max(1, Math.ceil(rows)), "entry", "entries")}; it shows the state nearest to the window.`;
});

const NOT_YET = 0;
const SHOWN = 1;
const HIDDEN = 2;
const BEHIND = 3;
const GONE = 4;

/** The state of each dot, column by column: who was in the window, and when. */
function rasterOf(known: Columns, wide: number): Uint8Array {
  const cells = new Uint8Array(wide * HEIGHT);
  const until = known.leavings.map((each) => known.behindUntil(each));
  const rows = Math.max(1, known.size);
  const step = Math.max(1, Math.floor(rows / HEIGHT / SAMPLES));
  for (let x = 0; x < wide; x++) {
    const at = Math.min(known.version, 1 + Math.floor(((x + 0.5) * known.version) / wide));
    const call = callAt(at);
    const there = known.countAt(at);
    for (let y = 0; y < HEIGHT; y++) {
      const first = Math.floor((y * rows) / HEIGHT);
      const last = Math.max(first + 1, Math.floor(((y + 1) * rows) / HEIGHT));
      let best = NOT_YET;
      for (let row = first; row < last && row < there; row += step) {
        const state = stateOf(known, until, row, at, call);
        if (best === NOT_YET || state < best) best = state;
        if (best === SHOWN) break;
      }
      cells[y * wide + x] = best;
    }
  }
  return cells;
}

function stateOf(known: Columns, until: number[], row: number, at: number, call: { version: number; shown: [number, number][] } | null): number {
  const leaving = known.leavingIndex(row, at);
  if (leaving < 0) {
    return call === null || known.added[row] > call.version || contains(call.shown, known.added[row]) ? SHOWN : HIDDEN;
  }
  return at < until[leaving] ? BEHIND : GONE;
}

function colour(name: string): [number, number, number] {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((i) => parseInt(value.slice(i, i + 2), 16)) as [number, number, number];
}

function paint(canvas: HTMLCanvasElement, known: Columns, wide: number): void {
  const cells = rasterOf(known, wide);
  canvas.width = wide;
  canvas.height = HEIGHT;
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = context.createImageData(wide, HEIGHT);
  const [back, shown, hidden, behind, gone] = ["--lane", "--shown", "--hidden", "--behind", "--gone"].map(colour);
  for (let y = 0; y < HEIGHT; y++) {
    for (let x = 0; x < wide; x++) {
      const state = cells[y * wide + x];
      let ink = back;
      // colour is doubled by pattern: full, diagonal lines, dots, single dots
      if (state === SHOWN) ink = shown;
      else if (state === HIDDEN) ink = (x + y) % 4 < 2 ? hidden : back;
      else if (state === BEHIND) ink = (x % 2) + (y % 2) === 1 ? behind : back;
      else if (state === GONE) ink = x % 4 === 0 && y % 4 === 0 ? gone : back;
      image.data.set([ink[0], ink[1], ink[2], 255], 4 * (y * wide + x));
    }
  }
  context.putImageData(image, 0, 0);
}

export function Raster() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const known = columns.value;
  tick.value;
  calls.value;
  useEffect(() => {
    if (canvas.current && known?.size && width.value) paint(canvas.current, known, width.value);
  }, [known, known?.version, calls.value, width.value, document.documentElement.dataset.scheme]);
  const choose = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = Math.min(0.9999, Math.max(0, (event.clientX - box.left) / box.width));
    if (known) go({ v: Math.min(known.version, 1 + Math.floor(part * known.version)) });
  };
  return (
    <div class="lane raster" onPointerDown={choose} onPointerMove={choose} title={combined.value}>
      <canvas ref={canvas} role="img" aria-label="The window over all versions; the chart has it as a table." />
      <Cursor />
    </div>
  );
}

function Cursor() {
  tick.value;
  const known = columns.value;
  if (!known?.version) return null;
  return <div class="cursor" style={{ left: `${(100 * (version.value - 0.5)) / known.version}%` }} />;
}

/** Points of the largest value in each of `wide` steps. */
function outline(values: Float64Array, versions: number, wide: number, high: number, top: number): string {
  const points: string[] = [];
  for (let x = 0; x < wide; x++) {
    const first = 1 + Math.floor((x * versions) / wide);
    const last = Math.max(first, Math.floor(((x + 1) * versions) / wide));
    let value = 0;
    for (let at = first; at <= last && at <= versions; at++) value = Math.max(value, values[at]);
    points.push(`${x},${(high - (value / top) * high).toFixed(1)}`);
  }
  return points.join(" ");
}

export function TokenLane({ high = 40 }: { high?: number }) {
  tick.value;
  const known = columns.value;
  const wide = width.value;
  if (!known?.version || !wide) return <div class="lane tokens" />;
  const kept = known.kept();
  let top = 1;
  for (let at = 1; at <= known.version; at++) top = Math.max(top, kept[at]);
  const limit = calls.value.reduce((most, each) => Math.max(most, each.limit ?? 0), 0);
  const scale = limit && limit < top * 3 ? Math.max(top, limit) : top;
  const place = (at: number) => ((at - 0.5) * wide) / known.version;
  const steps: string[] = [];
  for (const each of thinned(calls.value, wide, known.version)) {
    const y = (high - (each.tokens / scale) * high).toFixed(1);
    steps.push(`${steps.length ? "L" : "M"}${place(each.version).toFixed(1)},${y}`);
  }
  return (
    <div class="lane tokens">
      <svg viewBox={`0 0 ${wide} ${high}`} preserveAspectRatio="none" height={high} role="img" aria-label={`Tokens over versions, at most ${count(top)}; the chart has them as a table.`}>
        <polygon class="kept" points={`0,${high} ${outline(kept, known.version, wide, high, scale)} ${wide},${high}`} />
        {limit > 0 && limit <= scale && <line class="limit" x1="0" x2={wide} y1={high - (limit / scale) * high} y2={high - (limit / scale) * high} />}
        <path class="seen" d={steps.join("")} />
        {ticks(known, wide).map(({ x, kind }) => (
          <path key={`${kind}${x}`} class={`tick ${kind}`} d={shapes[kind](x, high)} />
        ))}
      </svg>
      <Cursor />
    </div>
  );
}

function thinned<T extends { version: number }>(all: T[], wide: number, versions: number): T[] {
  let x = -1;
  return all.filter((each) => {
    const at = Math.floor((each.version * wide) / versions);
    if (at === x) return false;
    x = at;
    return true;
  });
}

type Tick = "compaction" | "clear" | "config" | "context";
const shapes: Record<Tick, (x: number, high: number) => string> = {
  compaction: (x, high) => `M${x},0V${high}`,
  clear: (x) => `M${x - 3},1L${x + 3},7M${x + 3},1L${x - 3},7`,
  config: (x) => `M${x},0L${x + 4},7H${x - 4}Z`,
  context: (x, high) => `M${x},${high - 7}L${x + 3},${high - 3.5}L${x},${high}L${x - 3},${high - 3.5}Z`,
};

/** One tick of a kind for each pixel. */
function ticks(known: Columns, wide: number): { x: number; kind: Tick }[] {
  const found = new Map<string, { x: number; kind: Tick }>();
  const add = (at: number, kind: Tick) => {
    const x = Math.round(((at - 0.5) * wide) / known.version);
    found.set(`${kind}${x}`, { x, kind });
  };
  for (const at of known.compactions()) add(at, "compaction");
  for (const mark of known.marks) {
    if (mark.type === "clear" || mark.type === "config" || mark.type === "context") add(mark.version, mark.type);
    if (mark.type === "rebuilt") add(mark.version, "config");
  }
  return [...found.values()];
}

export function Slider() {
  tick.value;
  const known = columns.value;
  if (!known) return null;
  const at = version.value;
  const last = at >= known.version;
  const spoken = `version ${at} of ${known.version}, turn ${known.turnAt(at)}, ${count(known.kept()[at] ?? 0)} tokens kept`;
  return (
    <div class="slider">
      <Step label="First version" text="|◀" to={1} off={at <= 1} />
      <Step label="Compaction before" text="[" to={nearest(known.compactions(), at, -1)} off={nearest(known.compactions(), at, -1) === null} />
      <Step label="Version before" text="◀" to={at - 1} off={at <= 1} />
      <input
        type="range"
        min={1}
        max={Math.max(1, known.version)}
        value={at}
        aria-label="Version"
        aria-valuetext={spoken}
        onInput={(event) => go({ v: Number(event.currentTarget.value) })}
      />
      <Step label="Version after" text="▶" to={at + 1} off={last} />
      <Step label="Compaction after" text="]" to={nearest(known.compactions(), at, 1)} off={nearest(known.compactions(), at, 1) === null} />
      <Step label="Newest version" text="▶|" to={known.version} off={last} />
      <Live />
    </div>
  );
}

function Step({ label, text, to, off }: { label: string; text: string; to: number | null; off: boolean }) {
  return (
    <button type="button" class="step" aria-label={label} title={label} disabled={off} onClick={() => to !== null && go({ v: to })}>
      {text}
    </button>
  );
}

/** The nearest of ascending `versions` before (-1) or after (1) a version. */
export function nearest(versions: number[], at: number, way: -1 | 1): number | null {
  const found = way > 0 ? versions.find((each) => each > at) : versions.findLast((each) => each < at);
  return found ?? null;
}

function Live() {
  tick.value;
  const known = columns.value;
  if (!known) return null;
  const live = version.value >= known.version;
  const follow = () => {
    waiting.value = 0;
    go({ v: null });
  };
  if (live) return <span class="live on" title={when(known.timeAt(known.version))}>● newest</span>;
  return (
    <button type="button" class="live" onClick={follow} title="Follow the newest version">
      {waiting.value > 0 ? `${count(waiting.value)} new` : "newest"} ▶
    </button>
  );
}

export function Lanes() {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.max(1, Math.floor(entry.contentRect.width));
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return (
    <section class="lanes" aria-label="History" ref={box}>
      <TokenLane />
      <Raster />
      <Slider />
      <Legend />
    </section>
  );
}

function Legend() {
  return (
    <p class="legend">
      <span class="key shown">in the window</span>
      <span class="key hidden">active, not shown</span>
      <span class="key behind">behind a summary</span>
      <span class="key gone">gone</span>
      <span class="key tick-compaction">compaction</span>
      <span class="key tick-context">recorded context</span>
      <span class="combined">{combined.value}</span>
    </p>
  );
}

export { NEVER };
