// Reports of backtests: each config over many sessions, as tables that can be sorted.
import { useState } from "preact/hooks";
import { address, elsewhere, go, link, place } from "./address";
import { useAnswer } from "./pane";
import { source } from "./session_store";
import { Json } from "./text";

type Row = Record<string, unknown>;

export function BacktestsScreen() {
  const { id } = place.value;
  const list = useAnswer(() => source.reports(), []);
  const report = useAnswer(id ? () => source.report(id) : null, [id]);
  return (
    <main class="backtests" id="main">
      <h1>Backtests</h1>
      {list === null && <p class="muted">Reading…</p>}
      {list?.reports.length === 0 && (
        <p class="empty">
          No report. Run <code>memory-ledger --json backtest … &gt; reports/NAME.json</code> and set <code>MEMORY_LEDGER_REPORTS</code> to that folder.
        </p>
      )}
      <ul>
        {list?.reports.map((each) => (
          <li key={each.name}>
            <button type="button" class="link" aria-current={each.name === id} onClick={() => go({ id: each.name })}>
              {each.name}
            </button>
          </li>
        ))}
      </ul>
      {id && report === null && <p class="muted">Reading {id}…</p>}
      {report !== null && <Report value={report} />}
    </main>
  );
}

/** Every list of flat objects in a report is a table; the rest is JSON. */
function Report({ value }: { value: unknown }) {
  const tables = Object.entries((value ?? {}) as Row).filter((found): found is [string, Row[]] => isRows(found[1]));
  if (!tables.length) return <Json value={value} label="Report" />;
  return (
    <>
      {tables.map(([name, rows]) => (
        <Table key={name} name={name} rows={rows} />
      ))}
      <details>
        <summary>The whole report</summary>
        <Json value={value} label="Report" />
      </details>
    </>
  );
}

const isRows = (found: unknown) => Array.isArray(found) && found.length > 0 && found.every((each) => each !== null && typeof each === "object" && !Array.isArray(each));
const plain = (value: unknown) => value === null || ["string", "number", "boolean"].includes(typeof value);

function Table({ name, rows }: { name: string; rows: Row[] }) {
  const [by, setBy] = useState<{ column: string; down: boolean } | null>(null);
  const columns = Object.keys(rows[0]).filter((column) => rows.every((row) => plain(row[column] ?? null)));
  const sorted = by ? [...rows].sort((a, b) => compare(a[by.column], b[by.column]) * (by.down ? -1 : 1)) : rows;
  return (
    <>
      <h2>{name.replace(/_/g, " ")}</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label={name}>
        <table class="list">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col" aria-sort={by?.column === column ? (by.down ? "descending" : "ascending") : "none"}>
                  <button type="button" class="link" onClick={() => setBy({ column, down: by?.column === column ? !by.down : true })}>
                    {column.replace(/_/g, " ")}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, 500).map((row, index) => (
              <tr key={index}>
                {columns.map((column) => (
                  <td key={column} class={typeof row[column] === "number" ? "number" : ""}>
                    <Cell column={column} value={row[column]} row={row} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Cell({ column, value, row }: { column: string; value: unknown; row: Row }) {
  if (column === "session_id" || column === "session") {
    const to = elsewhere("session", { id: String(value), user: typeof row.user_id === "string" ? row.user_id : null });
    return (
      <a href={address(to)} onClick={(event) => link(event, to)}>
        <bdi>{String(value)}</bdi>
      </a>
    );
  }
  if (typeof value === "number" && !Number.isInteger(value)) return <>{value.toFixed(3)}</>;
  return <bdi>{value === null || value === undefined ? "" : String(value)}</bdi>;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""));
}
