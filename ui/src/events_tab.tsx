// The log of the session: every event, its raw content and its link in the chain.
import { useEffect, useState } from "preact/hooks";
import { go, place } from "./address";
import type { ListedEvent } from "./api";
import { failed, session, source, version } from "./session_store";
import { Json, Line, Text } from "./text";
import { when } from "./words";

const TYPES = [
  "entry.added",
  "entry.edited",
  "entry.removed",
  "compaction.requested",
  "compaction.completed",
  "compaction.failed",
  "context.rendered",
  "config.changed",
  "session.opened",
  "session.cleared",
];
const PAGE = 100;

export function EventsTab() {
  const key = session.value;
  const at = version.value;
  const wanted = /^v(\d+)$/.exec(place.value.typed)?.[1];
  const [types, setTypes] = useState<string[]>([]);
  const [actor, setActor] = useState("");
  const [events, setEvents] = useState<ListedEvent[] | null>(null);
  const [more, setMore] = useState(false);
  const top = wanted ? Number(wanted) : at;

  const read = (before: number, known: ListedEvent[], stop?: AbortSignal) => {
    if (!key) return;
    source.events(key, { before_version: before, limit: PAGE, actor }, types, stop).then((page) => {
      if (stop?.aborted) return;
      setEvents([...known, ...page.events]);
      setMore(page.events.length === PAGE);
    }, failed);
  };
  useEffect(() => {
    const stop = new AbortController();
    read(top + 1, [], stop.signal);
    return () => stop.abort();
  }, [key?.id, top, types.join(), actor]);

  return (
    <section class="events-tab" aria-label="Events">
      <header class="tab-head filters">
        <label>
          Type{" "}
          <select value={types[0] ?? ""} onChange={(event) => setTypes(event.currentTarget.value ? event.currentTarget.value.split(" ") : [])}>
            <option value="">all</option>
            <option value="compaction.requested compaction.completed compaction.failed compaction.discarded">all compactions</option>
            {TYPES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Actor <input type="search" value={actor} onChange={(event) => setActor(event.currentTarget.value.trim())} />
        </label>
        {wanted && (
          <button type="button" class="chip" onClick={() => go({ typed: "" })}>
            from version {wanted} ✕
          </button>
        )}
      </header>
      {events === null && <p class="muted">Reading the log…</p>}
      {events?.length === 0 && <p class="empty">No event matches. Choose another type or actor.</p>}
      <ol class="events">
        {events?.map((each) => (
          <Event key={each.version} event={each} open={String(each.version) === wanted} />
        ))}
      </ol>
      {more && events && (
        <button type="button" onClick={() => read(events[events.length - 1].version, events)}>
          Show earlier events
        </button>
      )}
    </section>
  );
}

function Event({ event, open }: { event: ListedEvent; open: boolean }) {
  const [seen, setSeen] = useState(open);
  return (
    <li>
      <details open={open} onToggle={(toggled) => setSeen(toggled.currentTarget.open)}>
        <summary>
          <span class="cell-version">{event.version}</span>
          <span class={`link-${event.link}`} title={`link: ${event.link}`}>
            {event.link === "ok" || event.link === "first" ? "✓" : event.link === "broken" ? "✗" : "·"}
            <span class="sr">link {event.link}</span>
          </span>
          <b>{event.type}</b> <Line text={event.text} />
          <span class="muted">
            {" "}
            {event.actor || "no actor"}
            {event.actor_claimed && " (claimed)"} · {when(event.recorded_at)}
          </span>
        </summary>
        {seen && (
          <>
            <dl class="hashes">
              <dt>hash</dt>
              <dd>
                <code>{event.hash}</code>
              </dd>
              <dt>previous</dt>
              <dd>
                <code>{event.previous_hash}</code>
              </dd>
              <dt>position</dt>
              <dd>{event.position}</dd>
            </dl>
            {event.type === "entry.added" && typeof event.payload.content === "string" && (
              <Text text={event.payload.content} label="Text" />
            )}
            <Json value={event.payload} label={`Event ${event.version}`} />
            <p class="actions">
              <button type="button" onClick={() => go({ v: event.version })}>
                Go to version {event.version}
              </button>
            </p>
          </>
        )}
      </details>
    </li>
  );
}
