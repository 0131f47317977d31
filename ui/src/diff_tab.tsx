// Two versions side by side: what entered the window, what left it, what was edited, and the price.
import { go, place } from "./address";
import type { Difference, Entry, Side, Summary } from "./api";
import { columns, session, source, version } from "./session_store";
import { useAnswer } from "./pane";
import { Line, Text } from "./text";
import { count, plural, speaker, usd } from "./words";
import { wordDiff } from "./words_diff";

export function DiffTab() {
  const known = columns.value;
  const key = session.value;
  const at = version.value;
  const pinned = place.value.a ?? Math.max(1, at - 1);
  const wrong = known !== null && (pinned < 1 || pinned > known.version);
  const found = useAnswer<Difference>(key && known && at && !wrong ? (stop) => source.diff(key, pinned, at, stop) : null, [key?.id, pinned, at]);
  return (
    <section class="diff-tab" aria-label="Difference">
      <header class="tab-head">
        <label>
          Version{" "}
          <input
            type="number"
            min={1}
            max={known?.version}
            value={pinned}
            onChange={(event) => go({ a: Number(event.currentTarget.value) || 1 })}
          />
        </label>{" "}
        compared with version {at}.{" "}
        <button type="button" onClick={() => go({ a: at })}>
          Pin version {at}
        </button>
      </header>
      {wrong && <p class="empty">There is no version {pinned}. Choose one from 1 to {known?.version}.</p>}
      {!found && !wrong && <p class="muted">Comparing…</p>}
      {found && <Compared found={found} />}
    </section>
  );
}

export function Compared({ found }: { found: Difference }) {
  const same = !found.edited.length && ![found.before, found.after].some((side) => side.only_entries.length || side.only_summaries.length);
  return (
    <>
      <table class="numbers">
        <thead>
          <tr>
            <td />
            <th scope="col">{head(found.before)}</th>
            <th scope="col">{head(found.after)}</th>
          </tr>
        </thead>
        <tbody>
          <NumberRow name="tokens shown" before={count(found.before.budget.tokens)} after={count(found.after.budget.tokens)} />
          <NumberRow name="tokens kept" before={count(found.before.stats.total_tokens)} after={count(found.after.stats.total_tokens)} />
          <NumberRow name="active entries" before={count(found.before.stats.active_entries)} after={count(found.after.stats.active_entries)} />
          <NumberRow name="summaries" before={count(found.before.stats.summaries)} after={count(found.after.stats.summaries)} />
          <NumberRow name="model calls" before={count(found.before.spent.model_calls)} after={count(found.after.spent.model_calls)} />
          <NumberRow name="cost so far" before={usd(found.before.spent.cost_usd)} after={usd(found.after.spent.cost_usd)} />
        </tbody>
      </table>
      {same && <p class="empty">The model is shown the same on both sides.</p>}
      {found.config_changed && <p class="note">The memory config is not the same on both sides.</p>}
      {found.edited.length > 0 && (
        <>
          <h2>Edited</h2>
          {found.edited.map(({ before, after }) => (
            <div class="edited" key={after.version}>
              <p class="muted">v{after.version}</p>
              <p class="words" dir="auto">
                {wordDiff(before.content, after.content).map((part, index) =>
                  part.only === "before" ? (
                    <del key={index}>{part.text}</del>
                  ) : part.only === "after" ? (
                    <ins key={index}>{part.text}</ins>
                  ) : (
                    <span key={index}>{part.text}</span>
                  ),
                )}
              </p>
            </div>
          ))}
        </>
      )}
      <div class="sides">
        <SideList title={`Only in ${head(found.before)}`} side={found.before} sign="−" />
        <SideList title={`Only in ${head(found.after)}`} side={found.after} sign="+" />
      </div>
    </>
  );
}

const head = (side: Side) => (side.what_if ? "what-if" : `version ${side.version}`);

function NumberRow({ name, before, after }: { name: string; before: string; after: string }) {
  return (
    <tr class={before === after ? "" : "differs"}>
      <th scope="row">{name}</th>
      <td>{before}</td>
      <td>{after}</td>
    </tr>
  );
}

function SideList({ title, side, sign }: { title: string; side: Side; sign: string }) {
  return (
    <section class="side" aria-label={title}>
      <h2>{title}</h2>
      {side.only_entries.length + side.only_summaries.length === 0 && <p class="muted">nothing</p>}
      {side.only_summaries.map((each: Summary) => (
        <details key={each.summary_id} class="only" open>
          <summary>
            {sign} Σ summary, {plural(each.tokens, "token")}
          </summary>
          <Text text={each.text} label={`Summary ${each.summary_id}`} />
        </details>
      ))}
      {side.only_entries.slice(0, 200).map((each: Entry) => (
        <details key={each.version} class="only">
          <summary>
            {sign} <span class={`cell-role ${speaker(each.kind, each.role).part}`}>{speaker(each.kind, each.role).letter}</span> v{each.version}{" "}
            <Line text={each.content.slice(0, 200)} /> <span class="muted">{count(each.tokens)}</span>
          </summary>
          <Text text={each.content} label={`Entry ${each.entry_id}`} />
        </details>
      ))}
      {side.only_entries.length > 200 && <p class="note">{count(side.only_entries.length - 200)} more entries are not listed.</p>}
    </section>
  );
}
