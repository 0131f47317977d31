// Another memory on the same history: the window beside the recorded one, with its price. Nothing is written.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { go, place } from "./address";
import type { Presets, Trials, Tried } from "./api";
import { Compared } from "./diff_tab";
import { useAnswer } from "./pane";
import { TakeIt } from "./rebuild";
import { callAt, failed, session, shownWindow, source, version } from "./session_store";
import { Refused } from "./source";
import { Items } from "./window_tab";
import { count, plural, usd } from "./words";

type Values = { [name: string]: unknown };

/** The windows of the presets that need nothing else, and of each the field with its limit: its first number. */
function windowsOf(found: Presets | null): { type: string; window: Values; limit: string | null }[] {
  return (found?.presets ?? [])
    .filter(({ config }) => Array.isArray(config.compactions) && !config.compactions.length)
    .map(({ config }) => config.window as Values)
    .map((window) => ({ type: String(window.type), window, limit: Object.keys(window).find((name) => typeof window[name] === "number") ?? null }));
}

interface Asked {
  config: unknown;
  without: string[];
}

function asked(): Asked {
  try {
    const found = JSON.parse(place.value.typed);
    return { config: found.config ?? null, without: found.without ?? [] };
  } catch {
    return { config: null, without: [] };
  }
}

/** Counts what-ifs that were asked for outside of the tab: it begins anew with each. */
export const askedFor = signal(0);

/** Opens the tab with a what-if of `config` at the newest version. */
export function tryConfig(config: unknown): void {
  go({ v: null, tab: "what-if", typed: JSON.stringify({ config, without: [] }) });
  askedFor.value++;
}

export function WhatIfTab() {
  const key = session.value;
  const at = version.value;
  const first = asked();
  const [text, setText] = useState(first.config ? JSON.stringify(first.config, null, 2) : "");
  const [strategy, setStrategy] = useState("recall");
  const [limit, setLimit] = useState<string | null>(null);
  const [without, setWithout] = useState(first.without.join(", "));
  const [answer, setAnswer] = useState<Tried | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const own = useAnswer(() => source.presets(), []);
  useEffect(() => {
    // a link to a what-if shows its answer
    if (first.config || first.without.length) submit("raise");
  }, []);
  if (!key) return null;

  const names = without.split(/[\s,]+/).filter(Boolean);
  const windows = source.kind === "service" ? windowsOf(own) : [];
  const start = windows.find((each) => each.type === strategy) ?? windows[0];
  const typed = limit ?? (start?.limit ? String(start.window[start.limit]) : "");
  const fields = () => start && { window: start.limit ? { ...start.window, [start.limit]: Number(typed) } : start.window };

  const run = (onMiss: "raise" | "estimate", config: unknown) => {
    const stop = new AbortController();
    setRunning(stop);
    setMissing(null);
    go({ typed: JSON.stringify({ config, without: names }) });
    source
      .whatIf(key, { config, version: at, without: names.map((name) => (/^\d+$/.test(name) ? Number(name) : name)), on_miss: onMiss }, stop.signal)
      .then(setAnswer, (fault) => {
        if (fault instanceof Refused && fault.code === "summary_missing") setMissing(fault.message);
        else failed(fault);
      })
      .finally(() => setRunning(null));
  };
  const chosen = () => {
    if (!text.trim()) return names.length ? null : fields();
    try {
      return JSON.parse(text);
    } catch (fault) {
      failed(new Refused(0, "bad_json", `The config is not JSON: ${(fault as Error).message}`));
      return undefined;
    }
  };
  const submit = (onMiss: "raise" | "estimate") => {
    const config = chosen();
    if (config !== undefined) run(onMiss, config);
  };

  if (source.kind === "file" && own && !own.presets.length) {
    return (
      <section class="what-if-tab" aria-label="What if">
        <p class="empty">
          This file holds no what-ifs. Whoever has the session can put some in: <code>memory-ledger view SESSION --html FILE --config CONFIG</code>
        </p>
      </section>
    );
  }
  return (
    <section class="what-if-tab" aria-label="What if">
      <header class="tab-head">
        <p>What would the model be shown at version {at} under another memory config? Nothing is written, and no model is called.</p>
      </header>
      <form
        class="what-if-form"
        onSubmit={(event) => {
          event.preventDefault();
          submit("raise");
        }}
      >
        {own && own.presets.length > 0 && (
          <label>
            Preset
            <select
              value=""
              onChange={(event) => {
                const found = own.presets.find((each) => each.name === event.currentTarget.value);
                if (found) setText(JSON.stringify(found.config, null, 2));
              }}
            >
              <option value="">choose…</option>
              {own.presets.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.title}
                </option>
              ))}
            </select>
          </label>
        )}
        {source.kind === "service" && (
          <>
            <label>
              Strategy
              <select
                value={start?.type}
                onChange={(event) => {
                  setStrategy(event.currentTarget.value);
                  setLimit(null);
                }}
              >
                {windows.map(({ type }) => (
                  <option key={type}>{type}</option>
                ))}
              </select>
            </label>
            {start?.limit && (
              <label>
                Limit: {start.limit}
                <input type="number" min={1} required value={typed} onInput={(event) => setLimit(event.currentTarget.value)} />
              </label>
            )}
            <label>
              Without entries
              <input type="text" value={without} placeholder="ids or versions" onInput={(event) => setWithout(event.currentTarget.value)} />
            </label>
          </>
        )}
        <label class="wide">
          Config as JSON {source.kind === "service" && "(replaces strategy and limit)"}
          <textarea rows={text ? 8 : 2} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="actions">
          <button type="submit" class="main" id="try" disabled={running !== null}>
            Try it
          </button>
          {running && (
            <button type="button" onClick={() => running.abort()}>
              Cancel
            </button>
          )}
        </p>
      </form>
      {missing && (
        <div class="why">
          <p>{missing}</p>
          <button type="button" onClick={() => submit("estimate")}>
            Estimate it
          </button>
        </div>
      )}
      {running && <p class="muted">Replaying the session…</p>}
      {answer && <Answer answer={answer} />}
      <Compare at={at} />
    </section>
  );
}

function Answer({ answer }: { answer: Tried }) {
  const recorded = shownWindow.value;
  return (
    <>
      <p>
        {answer.estimated && <span class="badge warn">estimated</span>} <code>{answer.strategy}</code>: {plural(answer.window.tokens, "token")} shown,{" "}
        {plural(answer.spent.compactions, "compaction")}, {plural(answer.spent.model_calls, "model call")}, {usd(answer.spent.cost_usd)}.
      </p>
      {answer.findings.map((each) => (
        <p class="note" key={each.field + each.code}>
          <code>{each.field}</code> {each.message}
        </p>
      ))}
      <Compared found={answer.difference} />
      <div class="sides">
        <section class="side" aria-label="As recorded">
          <h2>As recorded{recorded ? `, ${count(recorded.tokens)} tokens` : ""}</h2>
          {recorded && <Items window={recorded} />}
        </section>
        <section class="side" aria-label="What if">
          <h2>
            What if, {count(answer.window.tokens)} tokens {answer.estimated && <span class="badge warn">estimated</span>}
          </h2>
          <Items window={answer.window} />
        </section>
      </div>
      <TakeIt config={answer.config} version={answer.version} />
    </>
  );
}

/** Every preset on this session, in one chart. */
function Compare({ at }: { at: number }) {
  const key = session.value;
  const [rows, setRows] = useState<Trials | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  if (!key) return null;
  const run = () => {
    const stop = new AbortController();
    setRunning(stop);
    source
      .presets()
      .then(({ presets }) => source.trials(key, Object.fromEntries(presets.slice(0, 12).map((each) => [each.name, each.config])), at, stop.signal))
      .then(setRows, failed)
      .finally(() => setRunning(null));
  };
  const most = Math.max(1, ...(rows?.rows.map((each) => each.tokens ?? 0) ?? []), callAt(at)?.tokens ?? 0);
  return (
    <section aria-label="All presets" class="trials">
      <h2>All presets on this session</h2>
      <p class="actions">
        <button type="button" onClick={run} disabled={running !== null}>
          Compare them
        </button>
        {running && (
          <button type="button" onClick={() => running.abort()}>
            Cancel
          </button>
        )}
      </p>
      {running && <p class="muted">Replaying the session once for each preset…</p>}
      {rows && (
        <table class="numbers bars">
          <thead>
            <tr>
              <th scope="col">preset</th>
              <th scope="col">tokens shown</th>
              <th scope="col">compactions</th>
              <th scope="col">model calls</th>
              <th scope="col">cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.rows.map((each) => (
              <tr key={each.config}>
                <th scope="row">{each.config}</th>
                {each.ok ? (
                  <>
                    <td>
                      <span class="bar-of" style={{ width: `${(60 * (each.tokens ?? 0)) / most}%` }} /> {count(each.tokens ?? 0)}
                    </td>
                    <td>{count(each.compactions ?? 0)}</td>
                    <td>{count(each.calls ?? 0)}</td>
                    <td>
                      {usd(each.cost_usd ?? null)} {each.estimated && <span class="badge warn">estimated</span>}
                    </td>
                  </>
                ) : (
                  <td colSpan={4}>{each.problem}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
