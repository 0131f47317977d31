// Answers from the blocks of an exported file: no network, nothing but this document.
import { correct, place } from "./address";
import type * as Api from "./api";
import { contains } from "./columns";
import { type EventQuery, type Query, type RecordRow, Refused, type SessionKey, type Source } from "./source";

interface Block {
  name: string;
  first: number;
  last: number;
  bytes: number;
}

interface Index {
  format: number;
  release: string;
  session_id: string;
  user_id: string | null;
  namespace: string;
  version: number;
  blocks: Block[];
}

interface SessionBlock {
  stats: Api.Stats;
  config: Api.Config;
  family: Api.Family;
  me: Api.Me;
  presets: Api.Presets;
  verdict: Api.Verdict;
  configs: Api.Config[];
  rebuild: Api.Rebuild | null;
}

const UNPACKED = 8; // blocks that are held
const NOT_HERE = (what: string) => new Refused(404, "not_in_file", `This file has no ${what}. Open the session with \`memory-ledger view\`.`);

export class FileSource implements Source {
  readonly kind = "file";
  private held = new Map<string, string>();

  private constructor(private index: Index) {}

  static found(): Source | null {
    const element = document.getElementById("ledger-file");
    if (!element) return null;
    const index: Index = JSON.parse(element.textContent ?? "null");
    if (place.peek().id === null) correct({ id: index.session_id, user: index.user_id, ns: index.namespace });
    return new FileSource(index);
  }

  private async text(name: string): Promise<string> {
    const known = this.held.get(name);
    if (known !== undefined) {
      this.held.delete(name);
      this.held.set(name, known);
      return known;
    }
    const element = document.querySelector(`script[data-block="${name}"]`);
    if (!element) throw NOT_HERE(name);
    const packed = Uint8Array.from(atob(element.textContent ?? ""), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(stream).text();
    this.held.set(name, text);
    while (this.held.size > UNPACKED) this.held.delete(this.held.keys().next().value as string);
    return text;
  }

  private async json<T>(name: string): Promise<T> {
    return JSON.parse(await this.text(name));
  }

  private named(kind: string): Block[] {
    return this.index.blocks.filter((each) => each.name.startsWith(`${kind}-`));
  }

  private at(kind: string, version: number): Block | undefined {
    return this.named(kind).find((each) => each.first <= version && version <= each.last);
  }

  private own = () => this.json<SessionBlock>("session");

  me = async (): Promise<Api.Me> => (await this.own()).me;
  presets = async (): Promise<Api.Presets> => {
    const tried = await this.tried();
    return { presets: tried.map(({ config }, index) => ({ name: `config-${index + 1}`, title: `config ${index + 1} of this file`, config })) };
  };
  family = async (): Promise<Api.Family> => (await this.own()).family;
  rebuild = async (): Promise<Api.Rebuild | null> => (await this.own()).rebuild;

  async sessions(): Promise<Api.SessionPage> {
    throw NOT_HERE("list of sessions");
  }

  async timeline(_: SessionKey, after: number): Promise<Api.Timeline> {
    const block = this.at("timeline", after + 1);
    if (!block) throw NOT_HERE(`version ${after + 1}`);
    return this.json(block.name);
  }

  async windows(_: SessionKey, after: number, limit: number): Promise<Api.ModelCalls> {
    const calls: Api.ModelCall[] = [];
    for (const block of this.named("windows")) calls.push(...(await this.json<Api.ModelCalls>(block.name)).calls);
    return { calls: calls.filter((each) => each.version > after).slice(0, limit), next_after: null };
  }

  /** The window of a version; between model calls that of the newest call before. */
  async window(_: SessionKey, version: number, offset: number): Promise<Api.Window> {
    const blocks = this.named("contexts").filter((each) => each.first <= version);
    const block = blocks.at(-1) ?? this.named("contexts")[0];
    if (!block) throw NOT_HERE("window");
    const found = await this.json<Record<string, Api.Window>>(block.name);
    const versions = Object.keys(found).map(Number).sort((a, b) => a - b);
    const known = versions.findLast((each) => each <= version) ?? versions[0];
    const window = found[known];
    const items = await Promise.all(
      window.items.slice(offset).map(async (item) => {
        if (item.kind !== "entry" || (item.text as string | null) !== null) return item;
        const entry = await this.row(item.version);
        return { ...item, text: (entry?.content ?? "").slice(0, 2000) };
      }),
    );
    return { ...window, items };
  }

  private async row(version: number): Promise<Api.EntryRow | undefined> {
    const block = this.at("entries", version);
    if (!block) return undefined;
    return (await this.json<Api.EntryRows>(block.name)).entries.find((each) => each.version === version);
  }

  async entries(_: SessionKey, from: number, limit: number): Promise<Api.EntryRows> {
    const entries: Api.EntryRow[] = [];
    for (const block of this.named("entries")) {
      if (block.last < from) continue;
      for (const each of (await this.json<Api.EntryRows>(block.name)).entries) {
        if (each.version >= from && entries.length < limit) entries.push({ ...each, preview: (each.content ?? "").slice(0, 200), content: null });
      }
      if (entries.length >= limit) break;
    }
    return { entries, next_from: null, version: this.index.version };
  }

  async entry(_: SessionKey, entryId: string, version: number): Promise<Api.EntryRecord> {
    for (const block of this.named("entries")) {
      const row = (await this.json<Api.EntryRows>(block.name)).entries.find((each) => each.entry_id === entryId);
      if (!row) continue;
      const fates = this.index.blocks.find((each) => each.name === block.name.replace("entries", "fates"));
      const record = fates && (await this.json<Record<string, Api.EntryRecord>>(fates.name))[entryId];
      if (record) {
        // its fate is that of the newest version; at another one, the page says it by arithmetic
        const changed = record.history.filter((each) => each.version <= version).at(-1);
        return { ...record, content: changed?.content || record.content, fate: version === this.index.version ? record.fate : null };
      }
      return {
        ...row,
        content: row.content ?? "",
        tokenizer: "",
        recorded_at: row.created_at,
        metadata: null,
        history: [],
        fate: null,
        status: row.status,
      } as Api.EntryRecord;
    }
    throw NOT_HERE(`entry ${entryId}`);
  }

  /** What an entry reached, from the trees of the summaries and the recorded contexts of the file. */
  async derived(_: SessionKey, entryId: string): Promise<Api.Derived> {
    let version = 0;
    for (const block of this.named("entries")) {
      const row = (await this.json<Api.EntryRows>(block.name)).entries.find((each) => each.entry_id === entryId);
      if (row) version = row.version;
    }
    const reached = new Map<string, string[]>();
    const summaries: Api.DerivedSummary[] = [];
    for (const block of this.named("trees")) {
      for (const tree of Object.values(await this.json<Record<string, Api.SummaryRecord>>(block.name))) {
        const direct = contains(tree.covered, version);
        const via = tree.folds.filter((each) => reached.has(each));
        if (!direct && !via.length) continue;
        reached.set(tree.summary_id, via);
        summaries.push({ summary_id: tree.summary_id, version: tree.version, how: direct ? "covered" : "folded", via, live: tree.status === "live" });
      }
    }
    const { calls } = await this.windows(_, 0, Infinity);
    const contexts: Api.DerivedContext[] = [];
    for (const call of calls.filter((each) => each.recorded)) {
      const via = call.summaries.filter((each) => reached.has(each));
      if (contains(call.shown, version) || via.length) {
        contexts.push({ version: call.version, rendered_version: call.version, how: via.length ? "through a summary" : "shown", via });
      }
    }
    return { session_id: this.index.session_id, entry_id: entryId, versions: [version], version: this.index.version, summaries, contexts };
  }

  async summaries(): Promise<Api.PastSummaries> {
    const summaries: Api.PastSummary[] = [];
    for (const block of this.named("summaries")) summaries.push(...(await this.json<Api.PastSummaries>(block.name)).summaries);
    return { summaries, next_after: null } as Api.PastSummaries;
  }

  async summary(_: SessionKey, summaryId: string): Promise<Api.SummaryRecord> {
    for (const block of this.named("trees")) {
      const found = (await this.json<Record<string, Api.SummaryRecord>>(block.name))[summaryId];
      if (found) return found;
    }
    throw NOT_HERE(`summary ${summaryId}`);
  }

  async find(_: SessionKey, text: string, version: number): Promise<Api.TextMatches> {
    const matches: Api.TextMatches["matches"] = [];
    const wanted = text.toLowerCase();
    for (const block of this.named("entries")) {
      for (const each of (await this.json<Api.EntryRows>(block.name)).entries) {
        const at = (each.content ?? "").toLowerCase().indexOf(wanted);
        if (at >= 0 && each.version <= version) {
          matches.push({ version: each.version, entry_id: each.entry_id, kind: each.kind, role: each.role, preview: (each.content ?? "").slice(at, at + 80), count: 1 } as Api.TextMatches["matches"][number]);
        }
      }
    }
    return { matches, next_after: null, scanned_to: version } as Api.TextMatches;
  }

  /** What the windows of two versions show; prices and changes of data are not in the file. */
  async diff(key: SessionKey, before: number, after: number): Promise<Api.Difference> {
    const [first, last] = [await this.window(key, before, 0), await this.window(key, after, 0)];
    const { summaries } = await this.summaries();
    const { stats } = await this.own();
    const side = async (own: Api.Window, other: Api.Window) => {
      const only = own.items.filter((item) => item.kind === "entry" && !contains(other.shown, item.version));
      const rows = await Promise.all(only.map((item) => this.row(item.version)));
      return {
        version: own.version,
        what_if: false,
        stats: { ...stats, total_tokens: own.tokens, active_entries: own.total + own.hidden_total, summaries: own.summaries.length },
        spent: { compactions: 0, model_calls: 0, input_tokens: 0, output_tokens: 0, cost_usd: null },
        budget: own.budget,
        only_entries: rows.filter((row) => row !== undefined).map((row) => ({ ...row, content: row.content ?? "" })),
        only_summaries: summaries.filter((each) => own.summaries.includes(each.summary_id) && !other.summaries.includes(each.summary_id)),
      };
    };
    return { before: await side(first, last), after: await side(last, first), edited: [], config_changed: first.config_version !== last.config_version } as unknown as Api.Difference;
  }

  private tried = () =>
    this.index.blocks.some((each) => each.name === "what-ifs") ? this.json<{ config: Record<string, unknown>; answer: Api.Tried }[]>("what-ifs") : Promise.resolve([]);

  async whatIf(_: SessionKey, asked: unknown): Promise<Api.Tried> {
    const wanted = JSON.stringify((asked as { config: unknown }).config);
    const found = (await this.tried()).find(({ config }) => JSON.stringify(config) === wanted);
    if (!found) throw new Refused(404, "not_in_file", "A file from disk has only the what-ifs that `--config FILE` put into it.");
    return found.answer;
  }

  async trials(): Promise<Api.Trials> {
    const rows = (await this.tried()).map(({ answer }, index) => ({
      config: `config-${index + 1}`,
      ok: true,
      problem: null,
      strategy: answer.strategy,
      tokens: answer.difference.after.budget.tokens,
      peak_tokens: null,
      shown: null,
      compactions: answer.spent.compactions,
      calls: answer.spent.model_calls,
      cost_usd: answer.spent.cost_usd,
      estimated: answer.estimated,
    }));
    return { rows };
  }

  async events(_: SessionKey, query: EventQuery, types: string[]): Promise<Api.EventPage> {
    const events: Api.ListedEvent[] = [];
    const limit = query.limit ?? 100;
    for (const block of this.named("events").reverse()) {
      for (const text of (await this.text(block.name)).split("\n").filter(Boolean).reverse()) {
        const line = JSON.parse(text);
        if (!line.event_id) continue;
        const later = events.at(-1);
        if (later && later.version === line.version + 1) later.previous_hash = line.hash;
        if (line.version >= (query.before_version ?? Infinity) || events.length === limit) continue;
        if ((types.length && !types.includes(line.type)) || (query.actor && line.actor !== query.actor)) continue;
        events.push(await this.listed(line));
      }
      if (events.length === limit) break;
    }
    return { events, next_after: null, next_before: null, version: this.index.version };
  }

  private async said(version: number): Promise<string> {
    const block = this.at("texts", version);
    return block ? (await this.json<{ texts: string[] }>(block.name)).texts[version - block.first] : "";
  }

  private async listed(line: Record<string, any>): Promise<Api.ListedEvent> {
    const content = line.content ? decoded(line.content, 16) : {}; // a salt comes before it
    const payload = joined(decoded(line.structure, 0), content);
    const time = (us: number) => new Date(us / 1000).toISOString();
    return {
      session_id: this.index.session_id,
      user_id: this.index.user_id,
      version: line.version,
      position: line.position,
      event_id: line.event_id,
      type: line.type,
      schema_version: line.schema_version,
      occurred_at: time(line.occurred_us),
      recorded_at: time(line.recorded_us),
      actor: line.actor,
      actor_claimed: false,
      write_id: payload.write_id ?? "",
      payload,
      previous_hash: "",
      hash: line.hash,
      text: await this.said(line.version),
      link: "unchecked",
    };
  }

  stats = async (): Promise<Api.Stats> => (await this.own()).stats;

  async config(_: SessionKey, version: number): Promise<Api.Config> {
    const { configs, config } = await this.own();
    return configs.filter((each) => each.version <= version).at(-1) ?? config;
  }

  async verify(): Promise<Api.Verdict> {
    return (await this.own()).verdict;
  }

  async *lines(): AsyncIterable<string> {
    for (const block of this.named("events")) {
      for (const line of (await this.text(block.name)).split("\n")) if (line) yield line;
    }
  }

  follow(): () => void {
    return () => {};
  }

  async search(): Promise<Api.Hits> {
    throw NOT_HERE("search by meaning");
  }

  async records(_: Query): Promise<{ memories: RecordRow[]; next: number | null }> {
    throw NOT_HERE("long-term memory");
  }

  async recordHistory(): Promise<unknown> {
    throw NOT_HERE("long-term memory");
  }

  async reports(): Promise<Api.Reports> {
    throw NOT_HERE("reports");
  }

  async report(): Promise<unknown> {
    throw NOT_HERE("reports");
  }

  async login(): Promise<void> {}
  async logout(): Promise<void> {}
}

function decoded(base64: string, from: number): unknown {
  const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes.subarray(from)));
}

/** The event that structure and content were divided from; content of its parts lies in the same places. */
function joined(structure: any, content: any): any {
  if (Array.isArray(structure)) return structure.map((part, at) => joined(part, content[at]));
  const whole = { ...structure };
  for (const [name, value] of Object.entries(content)) whole[name] = name in structure ? joined(structure[name], value) : value;
  return whole;
}
