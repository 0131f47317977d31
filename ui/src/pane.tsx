// One entry or summary in full: its text, why it is where it is, where it came from and what it reached.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { go, place } from "./address";
import type { Derived, EntryRecord, SummaryNode, SummaryRecord } from "./api";
import { written } from "./columns";
import { columns, failed, fateAt, preview, previewed, session, source, version, wantPreviews } from "./session_store";
import { Json, save, Text } from "./text";
import { selectedVersion } from "./transcript";
import { count, FATES, plural, speaker, when } from "./words";

/** Counts up when `y` asks why, so that the answer gets the focus. */
export const askedWhy = signal(0);

/** Loads something, and again when one of `on` changes. */
export function useAnswer<T>(ask: ((stop: AbortSignal) => Promise<T>) | null, on: unknown[]): T | null {
  const [answer, setAnswer] = useState<T | null>(null);
  useEffect(() => {
    if (!ask) {
      setAnswer(null);
      return;
    }
    const stop = new AbortController();
    ask(stop.signal).then((found) => !stop.signal.aborted && setAnswer(() => found), failed);
    return () => stop.abort();
  }, on);
  return answer;
}

export function Pane() {
  const { sel } = place.value;
  const summary = sel?.startsWith("s:") ? sel.slice(2) : null;
  const entry = selectedVersion.value;
  if (summary !== null) return <SummaryPane id={summary} key={summary} />;
  if (entry !== null) return <EntryPane entry={entry} key={entry} />;
  return (
    <aside class="pane" aria-label="Details">
      <p class="empty">
        Choose a row to read all of it, and why it is in the window or not. <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>y</kbd> asks why,{" "}
        <kbd>?</kbd> lists all keys.
      </p>
    </aside>
  );
}

function EntryPane({ entry }: { entry: number }) {
  const known = columns.value;
  const key = session.value;
  const at = version.value;
  previewed.value;
  const row = known ? known.rowOf(entry) : -1;
  const name = row >= 0 ? (preview(row)?.entry_id ?? null) : null;
  useEffect(() => {
    if (row >= 0 && name === null) wantPreviews(row, row);
  }, [row, name]);
  const found = useAnswer<EntryRecord>(key && name !== null ? (stop) => source.entry(key, name, at, stop) : null, [key?.id, name, at]);
  if (!known || row < 0 || !key) {
    return (
      <aside class="pane" aria-label="Details">
        <p class="empty">There is no entry at version {entry}.</p>
      </aside>
    );
  }
  const said = speaker(known.kindOf(row), known.roleOf(row));
  return (
    <aside class="pane" aria-label="Details">
      <header>
        <h2>
          Entry <code>{name ?? "…"}</code>
        </h2>
        <p class="muted">
          {said.name} · version {entry} · turn {known.turn[row]} · {plural(known.tokensAt(row, at), "token")} · {when(known.ms[row])}
        </p>
      </header>
      <Why row={row} found={found} />
      {found === null ? (
        <p class="muted">Loading the text…</p>
      ) : (
        <>
          {found.tool_name && (
            <p>
              Tool <code>{found.tool_name}</code>
              {found.tool_status && ` · ${found.tool_status}`}
            </p>
          )}
          <Text text={found.content} label={`Text of ${found.entry_id}`} />
          {found.arguments !== null && <Json value={found.arguments} label="Arguments" />}
          {found.data !== null && found.data !== undefined && (
            <details>
              <summary>Data</summary>
              <Json value={found.data} label="Data" />
            </details>
          )}
          {found.metadata && (
            <details>
              <summary>Metadata</summary>
              <Json value={found.metadata} label="Metadata" />
            </details>
          )}
          <Changes found={found} />
          <Reach entryId={found.entry_id} />
          <p class="actions">
            <button type="button" onClick={() => save(`${found.entry_id}.txt`, [found.content])}>
              Save the text
            </button>
          </p>
        </>
      )}
    </aside>
  );
}

/** One sentence: why the entry is in the window, or why not. */
function Why({ row, found }: { row: number; found: EntryRecord | null }) {
  const known = columns.value;
  const at = version.value;
  const asked = askedWhy.value;
  useEffect(() => {
    if (asked) document.getElementById("why")?.focus();
  }, [asked]);
  if (!known) return null;
  const fate = known.added[row] > at ? null : fateAt(known, row, at);
  const cause = known.leavingOf(row, at);
  const sentence =
    found?.fate?.sentence ??
    (fate === null ? `Not added yet: it comes at version ${known.added[row]}.` : `${capital(FATES[fate].name)}. ${FATES[fate].means}`);
  return (
    <div class={`why fate-${fate ?? "none"}`} id="why" tabIndex={-1} aria-label="Why" role="group">
      <p>
        <b aria-hidden="true">{fate ? FATES[fate].sign : "◌"}</b> {sentence}
      </p>
      {found?.fate && found.fate.reasons.length > 0 && <p class="muted">Reasons: {found.fate.reasons.join(", ")}</p>}
      <p class="actions">
        {cause?.summary && (
          <button type="button" onClick={() => go({ sel: `s:${cause.summary}` })}>
            Summary and its tree
          </button>
        )}
        {(cause || found?.fate?.version) && (
          <button type="button" onClick={() => go({ tab: "events", typed: `v${cause?.version ?? found?.fate?.version}` })}>
            Event
          </button>
        )}
        {cause && (
          <button type="button" onClick={() => go({ v: cause.version })}>
            Version {cause.version}
          </button>
        )}
        {fate === "hidden" && (
          <button type="button" onClick={() => go({ tab: "what-if" })}>
            Try another strategy
          </button>
        )}
      </p>
    </div>
  );
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

function Changes({ found }: { found: EntryRecord }) {
  if (found.history.length < 2) return null;
  return (
    <details>
      <summary>{plural(found.history.length, "event")} about it</summary>
      <ol class="changes">
        {found.history.map((each) => (
          <li key={each.version}>
            <button type="button" class="link" onClick={() => go({ v: each.version })}>
              v{each.version}
            </button>{" "}
            {each.type} · {each.actor || "no actor"} · {when(each.recorded_at)}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** What an entry reached: summaries, and contexts that were handed to a model. */
function Reach({ entryId }: { entryId: string }) {
  const [open, setOpen] = useState(false);
  const key = session.value;
  const found = useAnswer<Derived>(open && key ? (stop) => source.derived(key, entryId, stop) : null, [open, entryId]);
  return (
    <details class="reach" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What it reached</summary>
      {open && found === null && <p class="muted">Following it…</p>}
      {found && (
        <>
          <p>
            {plural(found.summaries.length, "summary", "summaries")} and {plural(found.contexts.length, "recorded context")}.
          </p>
          <ul class="tree">
            {found.summaries.map((each) => (
              <li key={each.summary_id}>
                Σ{" "}
                <button type="button" class="link" onClick={() => go({ sel: `s:${each.summary_id}` })}>
                  {each.summary_id}
                </button>{" "}
                v{each.version} · {each.how}
                {each.via.length > 0 && ` through ${each.via.join(", ")}`}
                {each.live && <span class="chip">live</span>}
              </li>
            ))}
            {found.contexts.map((each) => (
              <li key={each.version}>
                ◆{" "}
                <button type="button" class="link" onClick={() => go({ v: each.rendered_version, tab: "window" })}>
                  context of v{each.rendered_version}
                </button>{" "}
                {each.how}
                {each.via.length > 0 && ` through ${each.via.join(", ")}`}
              </li>
            ))}
          </ul>
          {source.kind === "service" && (
            <p class="actions">
              <button type="button" onClick={() => go({ tab: "what-if", typed: JSON.stringify({ without: [entryId] }) })}>
                Replay without it
              </button>
            </p>
          )}
        </>
      )}
    </details>
  );
}

function SummaryPane({ id }: { id: string }) {
  const key = session.value;
  const found = useAnswer<SummaryRecord>(key ? (stop) => source.summary(key, id, stop) : null, [key?.id, id]);
  if (!found) {
    return (
      <aside class="pane" aria-label="Details">
        <p class="muted">Loading the summary…</p>
      </aside>
    );
  }
  return (
    <aside class="pane" aria-label="Details">
      <header>
        <h2>
          Summary <code>{found.summary_id}</code>
        </h2>
        <p class="muted">
          version {found.version} · {count(found.tokens_before)} → {plural(found.tokens, "token")} · {found.method ?? "written by a caller"}
          {found.model && ` · ${found.model}`} · {found.status}
          {found.ended_version !== null && ` at version ${found.ended_version}`}
        </p>
      </header>
      {found.folded_into && (
        <p class="why">
          Folded into{" "}
          <button type="button" class="link" onClick={() => go({ sel: `s:${found.folded_into}` })}>
            {found.folded_into}
          </button>
          .
        </p>
      )}
      <Text text={found.text} label={`Text of summary ${found.summary_id}`} />
      {found.requested && (
        <p class="muted">
          Asked for at version {found.requested.version}
          {found.requested.reasons.length > 0 && `: ${found.requested.reasons.join(", ")}`}.
        </p>
      )}
      <h3>What it stands for</h3>
      <Tree node={found.tree} />
    </aside>
  );
}

function Tree({ node }: { node: SummaryNode }) {
  return (
    <ul class="tree">
      <li>
        Σ{" "}
        <button type="button" class="link" onClick={() => go({ sel: `s:${node.summary_id}` })}>
          {node.summary_id}
        </button>{" "}
        v{node.version}
        <ul>
          {node.versions.map(([first, last]) => (
            <li key={first}>
              <button type="button" class="link" onClick={() => go({ sel: `e${columns.peek()?.added[columns.peek()?.rowAtOrAfter(first) ?? 0] ?? first}`, tab: "transcript" })}>
                entries {written([[first, last]])}
              </button>
            </li>
          ))}
        </ul>
        {node.folds.map((each) => (
          <Tree node={each} key={each.summary_id} />
        ))}
        {node.cut && <p class="muted">More summaries lie below; open one to go on.</p>}
      </li>
    </ul>
  );
}
