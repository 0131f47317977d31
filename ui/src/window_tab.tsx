// The window: what the model saw at the chosen version, line by line, with the proof that it was this.
import { useState } from "preact/hooks";
import { go, place } from "./address";
import type { Window, WindowItem } from "./api";
import { sizeOf, written } from "./columns";
import { columns, failed, session, shownWindow, source, version } from "./session_store";
import { Text } from "./text";
import { count, plural, speaker, when } from "./words";

export function WindowTab() {
  const known = columns.value;
  const found = shownWindow.value;
  const at = version.value;
  if (!known) return null;
  if (!found) return <p class="muted">Rendering the window of version {at}…</p>;
  return (
    <section class="window-tab" aria-label="Window" aria-busy={found.version !== at}>
      <header class="tab-head">
        <Badge window={found} />
        <p>
          Version {found.version}, turn {known.turnAt(found.version)}: {plural(found.total, "item")}, {plural(found.tokens, "token")} shown, by{" "}
          <code>{found.strategy}</code>.
        </p>
        {found.not_known_total > 0 && <NotKnown window={found} />}
        {found.hidden_total > 0 && (
          <p class="muted">
            {plural(found.hidden_total, "active entry", "active entries")} not shown:{" "}
            {found.hidden.slice(0, 12).map(({ versions, reason }) => `${written(versions.slice(0, 20))} (${reason.replace(/_/g, " ")})`).join("; ")}
          </p>
        )}
      </header>
      <Items window={found} />
    </section>
  );
}

function NotKnown({ window }: { window: Window }) {
  const left = window.not_known_total - window.not_known.length;
  return (
    <div class="not-known" role="note">
      <p>
        <b>This window may not be what the agent sent:</b> the file that it was imported from does not tell.
      </p>
      <ul>
        {window.not_known.map(({ version, text, line }) => (
          <li key={version}>
            {text} <span class="muted">v{version}{line === null ? "" : `, line ${line}`}</span>
          </li>
        ))}
      </ul>
      {left > 0 && <p class="muted">{plural(left, "earlier reason")} not listed.</p>}
    </div>
  );
}

export function Badge({ window }: { window: Window }) {
  const { recorded } = window;
  if (!recorded) {
    return (
      <span class="badge" title="No context was recorded at this version. This is what it would have been.">
        not recorded
      </span>
    );
  }
  if (recorded.verdict === "proved") {
    return (
      <span class="badge ok" title={`Handed over at ${when(recorded.recorded_at)}; its digests are the recorded ones.`}>
        ✓ proved
      </span>
    );
  }
  return (
    <span class="badge bad" title="What is rendered now has other digests than what was recorded.">
      ✗ differs
    </span>
  );
}

export function Items({ window }: { window: Window }) {
  const [more, setMore] = useState<{ of: Window; items: WindowItem[] }>({ of: window, items: [] });
  const added = more.of === window ? more.items : [];
  const items = [...window.items, ...added];
  const key = session.value;
  const next = () => {
    if (!key) return;
    source.window(key, window.version, items.length).then((page) => setMore({ of: window, items: [...added, ...page.items] }), failed);
  };
  return (
    <>
      <ol class="items">
        {items.map((item, index) => (
          <Item key={`${index}:${item.kind}:${item.version}`} item={item} />
        ))}
      </ol>
      {items.length < window.total && (
        <p>
          <button type="button" onClick={next}>
            Show more ({count(window.total - items.length)} left)
          </button>
        </p>
      )}
      {window.total === 0 && <p class="empty">The window is empty at this version: nothing was added yet, or the session was cleared.</p>}
    </>
  );
}

function Item({ item }: { item: WindowItem }) {
  const said = speaker(item.entry_kind ?? item.kind, item.role ?? "");
  const chosen = place.value.sel === selOf(item);
  return (
    <li class={`item source-${item.source} ${item.kind}`} aria-current={chosen ? "true" : undefined}>
      {item.gap && <p class="gap">⋯ entries are left out here</p>}
      <button type="button" class="item-head" onClick={() => go({ sel: selOf(item) })} disabled={item.kind === "knowledge"}>
        <span class={`cell-role ${item.kind === "summary" ? "summaries" : said.part}`}>{item.kind === "summary" ? "Σ" : item.kind === "knowledge" ? "K" : said.letter}</span>
        <b>{item.kind === "entry" ? said.name : item.kind}</b>
        {item.tool_name && <code>{item.tool_name}</code>}
        <span class="muted">
          v{item.version}
          {item.covered.length > 0 && ` · stands for ${plural(sizeOf(item.covered), "entry", "entries")}`}
          {item.source === "recalled" && ` · recalled${item.score === null ? "" : `, score ${item.score.toFixed(2)}`}`}
        </span>
        <span class="cell-tokens">{item.tokens === null ? "" : count(item.tokens)}</span>
      </button>
      <Text text={item.text} label={`${item.kind} of version ${item.version}`} />
      {item.length > item.text.length && <p class="note">{count(item.length - item.text.length)} more characters; open it to read all.</p>}
    </li>
  );
}

const selOf = (item: WindowItem) => (item.kind === "summary" ? `s:${item.id}` : item.kind === "entry" ? `e${item.version}` : null);
