// A rebuild of the session under another config: how far it is, or why there is none; and what starts one.
import type { Rebuild } from "./api";
import { Copy } from "./copy";
import { useAnswer } from "./pane";
import { columns, me, session, source, tick } from "./session_store";
import type { SessionKey } from "./source";
import { tryConfig } from "./what_if_tab";
import { plural } from "./words";

const NEWEST = new Set(["rebuild_requested", "rebuilt", "rebuild_failed"]);

/** The rebuild that runs now, or that failed and nothing came after; the events of it keep the line up to date. */
export function RebuildLine() {
  tick.value;
  const key = session.value;
  const known = columns.value;
  const asked = known?.marks.findLast((each) => NEWEST.has(each.type));
  const after = known?.marks.findLast((each) => each.type === "config" || each.type === "clear")?.version ?? 0;
  const isOpen = asked !== undefined && (asked.type === "rebuild_requested" || (asked.type === "rebuild_failed" && asked.version > after));
  const found = useAnswer<Rebuild | null>(key && isOpen ? (stop) => source.rebuild(key, stop) : null, [key?.id, isOpen, known?.version]);
  if (!found || found.status === "completed" || found.reason === "superseded") return null;
  const change = () => tryConfig(found.config);
  if (found.status === "failed") {
    return (
      <p class="progress rebuild" role="status">
        <span class="badge warn">rebuild failed</span> {found.detail || found.reason}. The window is the old one.
      </p>
    );
  }
  return (
    <p class="progress rebuild" role="status">
      <progress aria-label="Rebuilding the session" max={found.version} value={found.until} />
      <span>
        Being rebuilt under another config: version {found.until} of {found.version}, {plural(found.summaries, "summary", "summaries")} written
        {found.paused ? "; it waits for a worker" : ""}. Until it is completed, the window is the old one.
      </span>
      <button type="button" onClick={change}>
        What it will change
      </button>
    </p>
  );
}

/** What to run, since this page never writes: for the whole history, from the next message on, or in a fork. */
export function TakeIt({ config, version }: { config: unknown; version: number }) {
  const key = session.value;
  if (!key) return null;
  const text = JSON.stringify(config);
  const adopt = `memory-ledger adopt ${quoted(key.id)} --config config.json${namesOf(key)}`;
  return (
    <>
      <h2>Take it</h2>
      <p class="muted">This page never writes. To change the session, save the config and run one of these: for the whole history (a rebuild, whose progress is then shown here), from the next message on, or in a fork.</p>
      <Copy text={`${adopt} --rebuild`} />
      <Copy text={adopt} />
      <Copy text={`memory-ledger fork ${quoted(key.id)} ${quoted(`${key.id}-try`)} --version ${version}${namesOf(key)}`} />
      <Copy text={text} label="config.json" />
      <p class="muted">The rebuild as a request to the service, with a token that may write:</p>
      <Copy text={request(key, config)} label="the request" />
    </>
  );
}

const quoted = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;

const namesOf = (key: SessionKey) => (key.user === null ? "" : ` --user ${quoted(key.user)}`) + (key.ns === null ? "" : ` --namespace ${quoted(key.ns)}`);

function request(key: SessionKey, config: unknown): string {
  const names = new URLSearchParams();
  if (key.ns !== null) names.set("namespace", key.ns);
  if (key.user !== null) names.set("user_id", key.user);
  // a reader of this machine or of a file has no service that would take it
  const own = me.value;
  const isService = source.kind === "service" && own !== null && !(own.auth_mode === "none" && own.actor === "view");
  const path = `v1/sessions/${encodeURIComponent(key.id)}/config${names.size ? `?${names}` : ""}`;
  const address = isService ? quoted(new URL(`../${path}`, location.href).href) : `"$SERVICE_URL"/${quoted(path)}`;
  const token = own?.auth_mode === "none" && isService ? "" : ` -H "Authorization: Bearer $TOKEN"`;
  return `curl -X PUT ${address}${token} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify({ config, rebuild: true }))}`;
}
