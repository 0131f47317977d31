// Search of everything that was said in a namespace.
import { useEffect, useState } from "preact/hooks";
import { address, elsewhere, go, link, place } from "./address";
import type { Hit } from "./api";
import { failed, source } from "./session_store";
import { Line } from "./text";
import { speaker } from "./words";

export function SearchScreen() {
  const { ns, typed } = place.value;
  const [text, setText] = useState(typed);
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [running, setRunning] = useState(false);
  const run = (asked: string) => {
    if (!asked.trim()) return;
    setRunning(true);
    source
      .search({ namespace: ns }, asked)
      .then((found) => setHits([...found.results]), failed)
      .finally(() => setRunning(false));
  };
  useEffect(() => run(typed), []);
  return (
    <main class="search" id="main">
      <h1>Search</h1>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          go({ typed: text });
          run(text);
        }}
      >
        <label>
          What was said <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>{" "}
        <button type="submit" class="main">
          Search
        </button>
      </form>
      {running && <p class="muted">Searching…</p>}
      {hits?.length === 0 && <p class="empty">Nothing was found. Use other words, or another namespace.</p>}
      <ol class="hits">
        {hits?.map((hit) => {
          const to = elsewhere("session", { id: hit.session_id, user: hit.user_id, sel: hit.summary ? `s:${hit.summary.summary_id}` : `e${hit.version}` });
          const said = hit.entry && speaker(hit.entry.kind, hit.entry.role);
          return (
            <li key={`${hit.user_id}/${hit.session_id}/${hit.version}/${hit.first_character}`}>
              <a href={address(to)} onClick={(event) => link(event, to)}>
                <bdi>{hit.session_id}</bdi> v{hit.version}
              </a>{" "}
              <span class="muted">
                {said?.name ?? hit.kind} · score {hit.score.toFixed(2)}
                {hit.why.words.length > 0 && ` · ${hit.why.words.join(", ")}`}
              </span>
              <p>
                <Line text={hit.text.slice(0, 400)} />
              </p>
            </li>
          );
        })}
      </ol>
    </main>
  );
}
