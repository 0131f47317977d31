// All sessions of a namespace, the newest first, with filters.
import { useEffect, useState } from "preact/hooks";
import { address, elsewhere, go, link, place } from "./address";
import type { Session } from "./api";
import { failed, me, source } from "./session_store";
import { count, when } from "./words";

interface Filter {
  q: string;
  user: string;
  status: string;
  after: string;
  before: string;
}

function stored(): Filter {
  const found = new URLSearchParams(place.peek().typed);
  const of = (name: string) => found.get(name) ?? "";
  return { q: of("q"), user: of("user"), status: of("status"), after: of("after"), before: of("before") };
}

export function SessionsScreen() {
  const { ns } = place.value;
  const [filter, setFilter] = useState(stored);
  const [rows, setRows] = useState<Session[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const read = (after: string | null, known: Session[], stop?: AbortSignal) =>
    source
      .sessions(
        {
          namespace: ns,
          q: filter.q.trim(),
          user_id: filter.user.trim(),
          status: filter.status,
          updated_after: filter.after && `${filter.after}T00:00:00Z`,
          updated_before: filter.before && `${filter.before}T23:59:59Z`,
          cursor: after,
          limit: 50,
        },
        stop,
      )
      .then((page) => {
        if (stop?.aborted) return;
        setRows([...known, ...page.sessions]);
        setCursor(page.next_cursor);
      }, failed);
  useEffect(() => {
    const stop = new AbortController();
    const wait = setTimeout(() => void read(null, [], stop.signal), 150);
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [ns, JSON.stringify(filter)]);
  const change = (part: Partial<Filter>) => {
    const to = { ...filter, ...part };
    setFilter(to);
    go({ typed: new URLSearchParams(Object.entries(to).filter(([, value]) => value)).toString() });
  };
  const filtered = Object.values(filter).some(Boolean);
  return (
    <main class="sessions" id="main">
      <h1>Sessions</h1>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Part of the id <input type="search" value={filter.q} onInput={(event) => change({ q: event.currentTarget.value })} />
        </label>
        <label>
          User <input type="search" value={filter.user} onInput={(event) => change({ user: event.currentTarget.value })} />
        </label>
        <label>
          Status{" "}
          <select value={filter.status} onChange={(event) => change({ status: event.currentTarget.value })}>
            <option value="">all</option>
            <option>live</option>
            <option>expired</option>
            <option>ended</option>
          </select>
        </label>
        <label>
          From <input type="date" value={filter.after} onChange={(event) => change({ after: event.currentTarget.value })} />
        </label>
        <label>
          To <input type="date" value={filter.before} onChange={(event) => change({ before: event.currentTarget.value })} />
        </label>
      </form>
      {rows === null && <p class="muted">Reading the list…</p>}
      {rows?.length === 0 && (
        <p class="empty">
          {filtered ? (
            "No session matches. Clear a filter, or search the contents."
          ) : (
            <>
              Nothing is recorded in the namespace {ns ?? me.value?.home ?? ""} yet. <code>memory-ledger demo</code> records a long session,{" "}
              <code>memory-ledger import FILE</code> a transcript of yours.
            </>
          )}
        </p>
      )}
      {rows !== null && rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Sessions">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">session</th>
                <th scope="col">user</th>
                <th scope="col">status</th>
                <th scope="col" class="number">
                  version
                </th>
                <th scope="col" class="number">
                  entries
                </th>
                <th scope="col" class="number">
                  tokens kept
                </th>
                <th scope="col">updated</th>
                <th scope="col">forked from</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((each) => (
                <Row key={`${each.user_id}/${each.session_id}`} row={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {cursor && rows && (
        <p>
          <button type="button" onClick={() => void read(cursor, rows)}>
            Show more
          </button>
        </p>
      )}
    </main>
  );
}

function Row({ row }: { row: Session }) {
  const to = elsewhere("session", { id: row.session_id, user: row.user_id });
  const parent = row.forked_from && elsewhere("session", { id: row.forked_from.session_id, user: row.forked_from.user_id, v: row.forked_from.version });
  return (
    <tr>
      <th scope="row">
        <a href={address(to)} onClick={(event) => link(event, to)}>
          <bdi>{row.session_id}</bdi>
        </a>
      </th>
      <td>
        <bdi>{row.user_id ?? ""}</bdi>
      </td>
      <td>
        <span class={`status ${row.status}`}>{row.status}</span>
      </td>
      <td class="number">{count(row.version)}</td>
      <td class="number">{count(row.entries)}</td>
      <td class="number">{count(row.total_tokens)}</td>
      <td>{when(row.updated_at)}</td>
      <td>
        {parent && row.forked_from && (
          <a href={address(parent)} onClick={(event) => link(event, parent)}>
            <bdi>{row.forked_from.session_id}</bdi> v{row.forked_from.version}
          </a>
        )}
      </td>
    </tr>
  );
}
