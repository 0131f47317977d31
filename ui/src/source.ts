// Where the answers come from: the service, or the blocks of an exported file.
import { signal } from "@preact/signals";
import type {
  Derived,
  Difference,
  EntryRows,
  EntryRecord,
  EventPage,
  Family,
  TextMatches,
  Hits,
  Tried,
  Me,
  Presets,
  Reports,
  Config,
  SessionPage,
  Stats,
  PastSummaries,
  SummaryRecord,
  Timeline,
  Trials,
  Verdict,
  Window,
  ModelCalls,
  Rebuild,
} from "./api";

export type Query = Record<string, string | number | boolean | null | undefined>;

/** A session by its names. */
export interface SessionKey {
  ns: string | null;
  user: string | null;
  id: string;
}

/** A refusal, in words for the reader. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export type Progress = (checked: number, total: number) => void;

export interface EventQuery extends Query {
  after_version?: number;
  before_version?: number;
  limit?: number;
  actor?: string;
}

export interface Source {
  kind: "service" | "file";
  me(): Promise<Me>;
  sessions(query: Query, signal?: AbortSignal): Promise<SessionPage>;
  timeline(key: SessionKey, after: number, signal?: AbortSignal): Promise<Timeline>;
  window(key: SessionKey, version: number, offset: number, signal?: AbortSignal): Promise<Window>;
  windows(key: SessionKey, after: number, limit: number, signal?: AbortSignal): Promise<ModelCalls>;
  entries(key: SessionKey, from: number, limit: number, version: number, signal?: AbortSignal): Promise<EntryRows>;
  entry(key: SessionKey, entryId: string, version: number, signal?: AbortSignal): Promise<EntryRecord>;
  derived(key: SessionKey, entryId: string, signal?: AbortSignal): Promise<Derived>;
  summaries(key: SessionKey, version: number, signal?: AbortSignal): Promise<PastSummaries>;
  summary(key: SessionKey, summaryId: string, signal?: AbortSignal): Promise<SummaryRecord>;
  find(key: SessionKey, text: string, version: number, after: number, signal?: AbortSignal): Promise<TextMatches>;
  diff(key: SessionKey, before: number, after: number, signal?: AbortSignal): Promise<Difference>;
  whatIf(key: SessionKey, asked: unknown, signal?: AbortSignal): Promise<Tried>;
  trials(key: SessionKey, configs: Record<string, unknown>, version: number, signal?: AbortSignal): Promise<Trials>;
  presets(): Promise<Presets>;
  events(key: SessionKey, query: EventQuery, types: string[], signal?: AbortSignal): Promise<EventPage>;
  stats(key: SessionKey, version: number): Promise<Stats>;
  config(key: SessionKey, version: number): Promise<Config>;
  family(key: SessionKey): Promise<Family>;
  rebuild(key: SessionKey, signal?: AbortSignal): Promise<Rebuild | null>;
  verify(key: SessionKey, progress: Progress, signal: AbortSignal): Promise<Verdict>;
  lines(key: SessionKey, signal: AbortSignal): AsyncIterable<string>;
  follow(key: SessionKey, after: number, arrived: (version: number) => void, wentBack: () => void): () => void;
  search(query: Query, text: string, signal?: AbortSignal): Promise<Hits>;
  records(query: Query, signal?: AbortSignal): Promise<{ memories: RecordRow[]; next: number | null }>;
  recordHistory(ns: string | null, id: string): Promise<unknown>;
  reports(): Promise<Reports>;
  report(name: string): Promise<unknown>;
  login(secret: { token?: string; key?: string }): Promise<void>;
  logout(): Promise<void>;
}

/** A record of long-term memory, as the compatible route answers it. */
export interface RecordRow {
  id: string;
  text: string;
  user_id: string | null;
  session_id: string | null;
  memory_type: string;
  topics: string[] | null;
  created_at: string;
  updated_at: string;
  extracted_from: string[] | null;
}

/** How old the index is that the last list or search came from; null if it is of now. */
export const indexAge = signal<string | null>(null);

const BUSY_MS = 500;
const BUSY_TRIES = 20;
const ROOT = "../"; // the page is at …/ui/NAME, the API at …/v1/

function queryOf(query: Query, many: [string, string[]] | null = null): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") asked.set(name, String(value));
  }
  for (const value of many?.[1] ?? []) asked.append(many?.[0] as string, value);
  const text = asked.toString();
  return text && `?${text}`;
}

/** Answers of the service that served the page. */
export class ServiceSource implements Source {
  readonly kind = "service";
  private csrf: string | null = null;

  private of(key: SessionKey, path: string, query: Query = {}, many: [string, string[]] | null = null): string {
    const names = { namespace: key.ns, user_id: key.user };
    return `v1/sessions/${encodeURIComponent(key.id)}${path}${queryOf({ ...names, ...query }, many)}`;
  }

  private async ask(
    method: string,
    path: string,
    signal?: AbortSignal,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    if (method === "POST") {
      headers["content-type"] = "application/json";
      if (this.csrf === null && !path.startsWith("ui/")) await this.renew();
      if (this.csrf) headers["x-csrf-token"] = this.csrf;
    }
    let response: Response;
    try {
      response = await fetch(ROOT + path, {
        method,
        headers,
        signal,
        credentials: "same-origin",
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (fault) {
      if (signal?.aborted) throw fault;
      throw new Refused(0, "unreachable", "The service does not answer. Start it again, or check the network.");
    }
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      const detail = problem.detail ?? problem.title ?? `The service answered ${response.status}.`;
      throw new Refused(response.status, problem.code ?? "", detail);
    }
    if (/^v1\/(sessions|search|long-term-memory\/search)(\?|$)/.test(path)) indexAge.value = response.headers.get("ledger-index-age");
    return response;
  }

  /** As `post`, after what this reader asked before has ended: the service does one at a time. */
  private async postInTurn<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.post<T>(path, body, signal);
      } catch (fault) {
        if (!(fault instanceof Refused && fault.code === "busy") || tries === BUSY_TRIES) throw fault;
        await new Promise((done) => setTimeout(done, BUSY_MS));
      }
    }
  }

  private async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await this.ask("GET", path, signal)).json();
  }

  private async post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return (await this.ask("POST", path, signal, body)).json();
  }

  private async renew(): Promise<void> {
    const answer = await fetch(`${ROOT}ui/csrf`, { credentials: "same-origin" }).catch(() => null);
    this.csrf = answer?.ok ? ((await answer.json()).csrf ?? "") : "";
  }

  async login(secret: { token?: string; key?: string }): Promise<void> {
    const path = new URL(ROOT, location.href).pathname;
    const answer = await this.post<{ csrf: string }>("ui/login", { ...secret, path });
    this.csrf = answer.csrf;
  }

  async logout(): Promise<void> {
    await this.renew();
    await this.ask("POST", "ui/logout", undefined, { path: new URL(ROOT, location.href).pathname });
    this.csrf = null;
  }

  me = () => this.get<Me>("v1/me");
  sessions = (query: Query, signal?: AbortSignal) => this.get<SessionPage>(`v1/sessions${queryOf(query)}`, signal);
  timeline = (key: SessionKey, after: number, signal?: AbortSignal) =>
    this.get<Timeline>(this.of(key, "/timeline", { after }), signal);
  window = (key: SessionKey, version: number, offset: number, signal?: AbortSignal) =>
    this.get<Window>(this.of(key, "/window", { version, offset }), signal);
  windows = (key: SessionKey, after: number, limit: number, signal?: AbortSignal) =>
    this.get<ModelCalls>(this.of(key, "/windows", { after, limit }), signal);
  entries = (key: SessionKey, from: number, limit: number, version: number, signal?: AbortSignal) =>
    this.get<EntryRows>(this.of(key, "/entries", { from, limit, version }), signal);
  entry = (key: SessionKey, entryId: string, version: number, signal?: AbortSignal) =>
    this.get<EntryRecord>(this.of(key, `/entries/${encodeURIComponent(entryId)}`, { version }), signal);
  derived = (key: SessionKey, entryId: string, signal?: AbortSignal) =>
    this.get<Derived>(this.of(key, `/entries/${encodeURIComponent(entryId)}/derived`), signal);
  summaries = (key: SessionKey, version: number, signal?: AbortSignal) =>
    this.get<PastSummaries>(this.of(key, "/summaries", { version, limit: 1000 }), signal);
  summary = (key: SessionKey, summaryId: string, signal?: AbortSignal) =>
    this.get<SummaryRecord>(this.of(key, `/summaries/${encodeURIComponent(summaryId)}`), signal);
  find = (key: SessionKey, text: string, version: number, after: number, signal?: AbortSignal) =>
    this.post<TextMatches>(this.of(key, "/find"), { text, version, after, ignore_case: true }, signal);
  diff = (key: SessionKey, before: number, after: number, signal?: AbortSignal) =>
    this.post<Difference>(this.of(key, "/diff"), { before: { version: before }, after: { version: after } }, signal);
  whatIf = (key: SessionKey, asked: unknown, signal?: AbortSignal) =>
    this.postInTurn<Tried>(this.of(key, "/what-if"), asked, signal);
  trials = (key: SessionKey, configs: Record<string, unknown>, version: number, signal?: AbortSignal) =>
    this.postInTurn<Trials>(this.of(key, "/trials"), { configs, version }, signal);
  presets = () => this.get<Presets>("v1/presets");
  events = (key: SessionKey, query: EventQuery, types: string[], signal?: AbortSignal) =>
    this.get<EventPage>(this.of(key, "/events", query, ["type", types]), signal);
  stats = (key: SessionKey, version: number) => this.get<Stats>(this.of(key, "/stats", { version }));
  config = (key: SessionKey, version: number) => this.get<Config>(this.of(key, "/config", { version }));
  family = (key: SessionKey) => this.get<Family>(this.of(key, "/family"));
  rebuild = (key: SessionKey, signal?: AbortSignal) => this.get<Rebuild>(this.of(key, "/rebuild"), signal);
  reports = () => this.get<Reports>("v1/reports");
  report = (name: string) => this.get<unknown>(`v1/reports/${encodeURIComponent(name)}`);

  async verify(key: SessionKey, progress: Progress, signal: AbortSignal): Promise<Verdict> {
    const response = await this.ask("GET", this.of(key, "/verify-stream"), signal);
    for await (const { event, data } of serverSent(response)) {
      if (event === "progress") {
        const { checked, total } = JSON.parse(data);
        progress(checked, total);
      } else if (event === "verdict") return JSON.parse(data);
      else if (event === "error") throw new Refused(500, "", JSON.parse(data).detail ?? "The check failed.");
    }
    throw new Refused(0, "cut_off", "The check was cut off. Try again.");
  }

  async *lines(key: SessionKey, signal: AbortSignal): AsyncIterable<string> {
    const response = await this.ask("GET", this.of(key, "/export"), signal);
    yield* linesOf(response);
  }

  follow(key: SessionKey, after: number, arrived: (version: number) => void, wentBack: () => void): () => void {
    const stop = new AbortController();
    let newest = after;
    let last = ""; // the id of the newest event, which is read again at first: its hash tells whether the log went back
    const run = async () => {
      while (!stop.signal.aborted) {
        try {
          const path = this.of(key, "/events/stream", { after_version: Math.max(newest - 1, 0) });
          const response = await this.ask("GET", path, stop.signal, undefined, last ? { "last-event-id": last } : {});
          for await (const { id } of serverSent(response)) {
            last = id;
            const version = Number.parseInt(id, 10); // an id is the version, "-" and digits of the hash
            if (version > newest) arrived((newest = version));
          }
        } catch (fault) {
          if (stop.signal.aborted) return;
          if (fault instanceof Refused && (fault.code === "last_event_id_ahead" || fault.status === 404)) {
            wentBack();
            return;
          }
          if (fault instanceof Refused && fault.status >= 400 && fault.status < 500) return;
        }
        await new Promise((done) => setTimeout(done, 2000));
      }
    };
    void run();
    return () => stop.abort();
  }

  search = (query: Query, text: string, signal?: AbortSignal) =>
    this.post<Hits>(`v1/search${queryOf({ namespace: query.namespace })}`, { query: text, top_k: 30 }, signal);

  async records(query: Query, signal?: AbortSignal): Promise<{ memories: RecordRow[]; next: number | null }> {
    const offset = Number(query.offset ?? 0);
    const filter: Record<string, unknown> = { text: query.text ?? "", limit: 50, offset };
    if (query.user) filter.user_id = { eq: query.user };
    if (query.ns) filter.namespace = { eq: query.ns };
    const found = await this.post<{ memories: RecordRow[]; next_offset: number | null }>(
      "v1/long-term-memory/search",
      filter,
      signal,
    );
    return { memories: found.memories, next: found.next_offset };
  }

  recordHistory = (ns: string | null, id: string) =>
    this.get<unknown>(`v1/long-term-memory/${encodeURIComponent(id)}/history${queryOf({ namespace: ns })}`);
}

/** The lines of an answer, as they come. */
async function* linesOf(response: Response): AsyncIterable<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop() as string;
    yield* lines;
    if (done) break;
  }
  if (rest) yield rest;
}

interface ServerSent {
  id: string;
  event: string;
  data: string;
}

async function* serverSent(response: Response): AsyncIterable<ServerSent> {
  let message: ServerSent = { id: "", event: "message", data: "" };
  for await (const line of linesOf(response)) {
    const [, field, value] = /^([a-z]+): ?(.*)$/.exec(line.replace(/\r$/, "")) ?? [];
    if (field === "id") message.id = value;
    else if (field === "event") message.event = value;
    else if (field === "data") message.data += value;
    else if (line.trim() === "") {
      if (message.data || message.id) yield message;
      message = { id: "", event: "message", data: "" };
    }
  }
}
