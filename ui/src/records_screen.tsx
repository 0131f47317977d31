// Long-term memory: records by user, their revisions, and the entries that each was extracted from.
import { useEffect, useState } from "preact/hooks";
import { address, elsewhere, link, place } from "./address";
import { useAnswer } from "./pane";
import { failed, source } from "./session_store";
import type { RecordRow } from "./source";
import { Json, Line } from "./text";
import { when } from "./words";

export function RecordsScreen() {
  const { ns } = place.value;
  const [text, setText] = useState("");
  const [user, setUser] = useState("");
  const [rows, setRows] = useState<RecordRow[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const read = (offset: number, known: RecordRow[]) =>
    source.records({ ns, text: text.trim(), user: user.trim(), offset }).then((found) => {
      setRows([...known, ...found.memories]);
      setNext(found.next);
    }, failed);
  useEffect(() => void read(0, []), [ns]);
  return (
    <main class="records" id="main">
      <h1>Long-term memory</h1>
      <form
        role="search"
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void read(0, []);
        }}
      >
        <label>
          Text <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <label>
          User <input type="search" value={user} onInput={(event) => setUser(event.currentTarget.value)} />
        </label>
        <button type="submit" class="main">
          Search
        </button>
      </form>
      {rows === null && <p class="muted">Reading…</p>}
      {rows?.length === 0 && <p class="empty">No record matches. Records are facts that a model found in sessions, or that a caller stored.</p>}
      <ol class="hits">
        {rows?.map((row) => (
          <Record key={row.id} row={row} />
        ))}
      </ol>
      {next !== null && rows && (
        <button type="button" onClick={() => void read(next, rows)}>
          Show more
        </button>
      )}
    </main>
  );
}

function Record({ row }: { row: RecordRow }) {
  const [open, setOpen] = useState(false);
  const history = useAnswer(open ? () => source.recordHistory(place.peek().ns, row.id) : null, [open]);
  const to = row.session_id ? elsewhere("session", { id: row.session_id, user: row.user_id, sel: null }) : null;
  return (
    <li>
      <p>
        <Line text={row.text} />
      </p>
      <p class="muted">
        {row.memory_type} · {row.user_id ?? "no user"} · {when(row.updated_at)}
        {row.topics && row.topics.length > 0 && ` · ${row.topics.join(", ")}`}
        {to && (
          <>
            {" "}
            · from{" "}
            <a href={address(to)} onClick={(event) => link(event, to)}>
              <bdi>{row.session_id}</bdi>
            </a>
          </>
        )}
        {row.extracted_from && row.extracted_from.length > 0 && ` · entries ${row.extracted_from.join(", ")}`}
      </p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Revisions</summary>
        {history !== null && <Json value={history} label={`Revisions of ${row.id}`} />}
      </details>
    </li>
  );
}
