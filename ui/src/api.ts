// PLACEHOLDER until generated
export type Ranges = [number, number][];
export interface Ended { version: number; summary_id: string; cause: string }
export interface Mark { version: number; ms: number; type: string; text: string; tokens: number | null; rendered_version: number | null; limit: number | null; strategy: string | null }
export interface TimelineSummary { summary_id: string; version: number; key: string; tokens: number; tokens_before: number; versions: Ranges; first_version: number; folds: string[]; method: string | null; model: string | null; overlay: boolean }
export interface Timeline { after: number; version: number; newest: number; kinds: string[]; roles: string[]; entries: { added: number[]; ms: number[]; kind: number[]; role: number[]; tokens: number[] }; start_ms: number; left: { version: number; versions: Ranges; cause: string; key: string | null; summary_id: string | null }[]; covers: { version: number; summary_id: string; versions: Ranges }[]; edited: { version: number; entry: number; tokens: number }[]; summaries: TimelineSummary[]; ended: Ended[]; marks: Mark[] }
export interface WindowBudget { system: number; pinned: number; current_turn: number; history: number; summaries: number; recalled: number; knowledge: number; tokens: number; limit: number | null; excess: number; over_budget: boolean; limit_from: string | null }
export interface WindowItem { kind: string; id: string; version: number; tokens: number; source: string; role: string | null; entry_kind: string | null; tool_name: string | null; text: string; length: number; covered: Ranges; gap: boolean; score: number | null }
export interface Window { version: number; config_version: number; strategy: string; turn: number | null; recorded: { version: number; recorded_at: string; actor: string; verdict: string } | null; tokens: number; budget: WindowBudget; total: number; dropped: number; items: WindowItem[]; shown: Ranges; recalled: Ranges; summaries: string[]; hidden: { versions: Ranges; reason: string }[]; hidden_total: number }
export interface WindowCall { version: number; turn: number | null; recorded: boolean; tokens: number; limit: number | null; shown: Ranges; summaries: string[]; hidden: number; strategy: string }
export interface Windows { calls: WindowCall[]; next_after: number | null }
export interface EntryPreview { entry_id: string; version: number; kind: string; role: string; tool_name: string | null; tool_call_id: string | null; tool_status: string | null; tokens: number; preview: string; length: number; created_at: string; edited_version: number | null; status: string; left_version: number | null; summary_ids: string[] }
export interface EntryPage { entries: EntryPreview[]; next_from: number | null; version: number }
export interface EntryFate { status: string; version: number | null; actor: string | null; key: string | null; summary_id: string | null; reasons: string[]; sentence: string }
export interface Entry { entry_id: string; version: number; kind: string; role: string; content: string; tokens: number; tokenizer: string; data: unknown; tool_name: string | null; tool_call_id: string | null; tool_status: string | null; arguments: unknown; created_at: string; recorded_at: string; edited_version: number | null; metadata: Record<string, unknown> | null }
export interface EntryChange { version: number; event_id: string; type: string; recorded_at: string; actor: string; actor_claimed: boolean; content: string; role: string }
export interface EntryRecord extends Entry { status: string; summary_ids: string[]; history: EntryChange[]; fate: EntryFate }
export interface Summary { summary_id: string; version: number; key: string; text: string; tokens: number; tokens_before: number; covered: Ranges; folds: string[]; method: string | null; model: string | null; created_at: string }
export interface PastSummary extends Summary { status: string; ended_version: number | null; folded_into: string | null }
export interface SummaryHistory { summaries: PastSummary[]; next_after: number | null }
export interface SummaryNode { summary_id: string; version: number; versions: Ranges; entries: number; folds: SummaryNode[]; cut: boolean }
export interface SummaryTree extends PastSummary { tree: SummaryNode; requested: { version: number; reasons: string[]; tokens: number } | null }
export interface Found { matches: { version: number; entry_id: string | null; kind: string; role: string; preview: string; count: number }[]; next_after: number | null; scanned_to: number }
export interface Derived { session_id: string; entry_id: string; versions: number[]; version: number; summaries: { summary_id: string; version: number; how: string; via: string[]; live: boolean }[]; contexts: { version: number; rendered_version: number; how: string; via: string[] }[] }
export interface Stats { total_tokens: number; active_entries: number; summaries: number; [name: string]: unknown }
export interface Spending { compactions: number; model_calls: number; input_tokens: number; output_tokens: number; cost_usd: number | null }
export interface Side { version: number; what_if: boolean; stats: Stats; spent: Spending; budget: { tokens: number; limit: number | null }; only_entries: Entry[]; only_summaries: Summary[] }
export interface Difference { before: Side; after: Side; edited: { before: Entry; after: Entry }[]; config_changed: boolean }
export interface WhatIfAnswer { version: number; config: unknown; strategy: string; window: Window; spent: Spending; estimated: boolean; difference: Difference; findings: { code: string; field: string; message: string }[] }
export interface Trials { rows: { config: string; ok: boolean; problem: string | null; tokens: number | null; compactions: number | null; calls: number | null; cost_usd: number | null; estimated: boolean; strategy: string | null }[] }
export interface Presets { presets: { name: string; title: string; config: unknown }[] }
export interface LoggedEvent { version: number; position: number; event_id: string; type: string; recorded_at: string; actor: string; actor_claimed: boolean; payload: Record<string, unknown>; previous_hash: string; hash: string; text: string; link: string }
export interface EventPage { events: LoggedEvent[]; version: number }
export interface SessionConfig { version: number; config: unknown; profile: string | null; since: number }
export interface FamilyMember { session_id: string; user_id: string | null; version: number; parent: string | null; at_version: number | null; status: string; updated_at: string }
export interface Family { members: FamilyMember[] }
export interface Verdict { verdict: string; checked: number; head: { version: number; hash: string }; findings: { version: number | null; position: number | null; layer: number; problem: string }[] }
export interface Me { actor: string; scopes: string[]; namespaces: string[] | null; home: string | null; release: string; auth_mode: string }
export interface ReportList { reports: { name: string }[] }
export interface Session { session_id: string; user_id: string | null; namespace: string; status: string; version: number; entries: number; summaries: number; active_tokens: number; updated_at: string; forked_from: { session_id: string; user_id: string | null; version: number } | null }
export interface SessionPage { sessions: Session[]; next_cursor: string | null }
export interface Hit { session_id: string; user_id: string | null; version: number; kind: string; score: number; text: string; first_character: number; entry: Entry | null; summary: Summary | null; why: { words: string[] } }
export interface Hits { results: Hit[] }
