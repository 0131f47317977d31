// The answers of the service. Made by `python -m tools.ui_types` from its OpenAPI document; do not edit.

/** First and last of consecutive versions, in ascending order. */
export type Ranges = [number, number][];

export interface AcknowledgedOut {
  status: string;
}

export interface Added {
  session_id: string;
  version: number;
  entries: AddedEntry[];
}

export interface AddedEntry {
  entry_id: string;
  version: number;
  position: number;
  event_id: string;
  hash: string;
  kind: string;
  tokens: number;
  tokenizer: string;
  orphan: boolean;
  known: boolean;
}

export interface Answers {
  recorded: number;
  called: number;
  estimated: number;
}

export interface AtVersion {
  version: number;
}

export interface Budget {
  system: number;
  pinned: number;
  current_turn: number;
  history: number;
  summaries: number;
  recalled: number;
  knowledge: number;
  tokens: number;
  limit: number | null;
  excess: number;
  over_budget: boolean;
}

export interface Changes {
  versions: NumberPair;
  tokens: NumberPair;
  context: TextPair;
  entries: EntryChanges;
  summaries: SummaryChanges;
  memories: MemoryChanges;
  data: { [name: string]: unknown }[];
}

export interface Compaction {
  compaction_id: string | null;
  key: string;
  covered: Ranges;
  entries_compressed: number;
  summary: Summary | null;
  method: string | null;
  tokens_before: number;
  tokens_after: number | null;
  tokens_saved: number | null;
  version: number;
}

export interface Config {
  config: { [name: string]: unknown };
  profile: string | null;
  since: number;
  ttl_seconds: number | null;
  extraction: Extraction;
  version: number;
}

export interface ConfigCheck {
  findings: ConfigFinding[];
}

export interface ConfigFinding {
  code: "condition_never_true" | "preserved_over_limit" | "compaction_in_most_turns" | "few_assistant_messages" | "newest_first";
  field: string;
  message: string;
}

export interface Context {
  messages: { [name: string]: unknown }[] | null;
  text: string | null;
  request: { [name: string]: unknown } | null;
  summaries: Summary[];
  tokens: number;
  budget: Budget;
  counted_by_text: number[];
  recalled: Recalled[];
  hidden: number;
  version: number;
}

export interface CreatedSummary {
  summary_id: string;
  version: number;
  key: string;
  tokens: number;
  tokens_before: number;
  versions: Ranges;
  first_version: number;
  folds: string[];
  method: string | null;
  model: string | null;
  overlay: boolean;
}

export interface Data {
  data: { [name: string]: unknown };
  version: number;
}

export interface Derived {
  session_id: string;
  entry_id: string;
  versions: number[];
  version: number;
  summaries: DerivedSummary[];
  contexts: DerivedContext[];
}

export interface DerivedContext {
  version: number;
  rendered_version: number;
  how: string;
  via: string[];
}

export interface DerivedSummary {
  summary_id: string;
  version: number;
  how: string;
  via: string[];
  live: boolean;
}

export interface Difference {
  before: Side;
  after: Side;
  edited: EntryPair[];
  config_changed: boolean;
  changes: Changes;
}

export interface EditedEntry {
  version: number;
  entry: number;
  tokens: number;
  role: string | null;
}

export interface EndedSummary {
  version: number;
  summary_id: string | null;
  cause: "folded" | "withdrawn" | "retired" | "evicted" | "cleared";
}

export interface Entry {
  entry_id: string;
  version: number;
  kind: "message" | "tool_call" | "tool_result" | "context" | "system_instruction" | "step_prompt" | "step_result";
  role: string;
  content: string;
  tokens: number;
  tokenizer: string;
  data: unknown;
  tool_name: string | null;
  tool_call_id: string | null;
  tool_status: "ok" | "error" | null;
  arguments: unknown;
  created_at: string;
  recorded_at: string;
  edited_version: number | null;
  metadata: { [name: string]: unknown } | null;
}

export interface EntryChange {
  version: number;
  event_id: string;
  type: string;
  recorded_at: string;
  actor: string;
  actor_claimed: boolean;
  content: string;
  role: string;
}

export interface EntryChanges {
  added: Entry[];
  removed: Entry[];
  edited: EntryPair[];
  covered: Entry[];
}

export interface EntryColumns {
  added: number[];
  ms: number[];
  kind: number[];
  role: number[];
  tokens: number[];
}

export interface EntryFate {
  status: "shown" | "hidden" | "evicted_summary" | "not_yet" | "covered" | "erased" | "removed" | "cleared";
  version: number | null;
  sentence: string;
  actor: string | null;
  key: string | null;
  summary_id: string | null;
  reasons: string[];
}

export interface EntryPair {
  before: Entry;
  after: Entry;
}

export interface EntryRecord {
  entry_id: string;
  version: number;
  kind: "message" | "tool_call" | "tool_result" | "context" | "system_instruction" | "step_prompt" | "step_result";
  role: string;
  content: string;
  tokens: number;
  tokenizer: string;
  data: unknown;
  tool_name: string | null;
  tool_call_id: string | null;
  tool_status: "ok" | "error" | null;
  arguments: unknown;
  created_at: string;
  recorded_at: string;
  edited_version: number | null;
  metadata: { [name: string]: unknown } | null;
  status: "active" | "covered" | "erased" | "removed" | "cleared" | "not_yet";
  summary_ids: string[];
  history: EntryChange[];
  left_version: number | null;
  fate: EntryFate | null;
}

export interface EntryRow {
  entry_id: string;
  version: number;
  kind: "message" | "tool_call" | "tool_result" | "context" | "system_instruction" | "step_prompt" | "step_result";
  role: string;
  tokens: number;
  preview: string;
  length: number;
  created_at: string;
  tool_name: string | null;
  tool_call_id: string | null;
  tool_status: "ok" | "error" | null;
  edited_version: number | null;
  status: "active" | "covered" | "erased" | "removed" | "cleared";
  left_version: number | null;
  summary_ids: string[];
  content: string | null;
  data: unknown;
  arguments: unknown;
}

export interface EntryRows {
  entries: EntryRow[];
  next_from: number | null;
  version: number;
}

export interface EventPage {
  events: ListedEvent[];
  next_after: number | null;
  next_before: number | null;
  version: number;
}

export interface Extraction {
  strategy: string;
  config: { [name: string]: unknown };
}

export interface Family {
  root: FamilyMember;
  members: FamilyMember[];
  cut: boolean;
}

export interface FamilyMember {
  session_id: string;
  user_id: string | null;
  version: number;
  parent: string | null;
  parent_user_id: string | null;
  at_version: number | null;
  status: "live" | "expired" | "ended" | "unreadable";
  updated_at: string | null;
}

export interface Finding {
  version: number | null;
  position: number | null;
  layer: number;
  problem: string;
}

export interface ForgottenOut {
  scanned: number;
  deleted: number;
  deleted_ids: string[];
  dry_run: boolean;
}

export interface Fork {
  session_id: string;
  user_id: string | null;
  forked_from: string;
  at_version: number;
  version: number;
  position: number;
  event_id: string;
  hash: string;
}

export interface ForkedFrom {
  session_id: string;
  user_id: string | null;
  version: number;
}

export interface FoundRecordOut {
  id: string;
  text: string;
  session_id: string | null;
  user_id: string | null;
  namespace: string | null;
  last_accessed: string | null;
  created_at: string | null;
  updated_at: string | null;
  pinned: boolean;
  access_count: number;
  topics: string[] | null;
  entities: string[] | null;
  memory_hash: string;
  discrete_memory_extracted: string;
  memory_type: string;
  persisted_at: string | null;
  extracted_from: string[] | null;
  event_date: string | null;
  extraction_strategy: string;
  extraction_strategy_config: { [name: string]: unknown };
  metadata: { [name: string]: unknown };
  dist: number;
  score: number | null;
  score_type: string | null;
}

export interface Head {
  version: number;
  hash: string;
}

export interface HiddenEntries {
  versions: Ranges;
  reason: "window_strategy";
}

export interface Hit {
  session_id: string;
  user_id: string | null;
  version: number;
  kind: string;
  score: number;
  text: string;
  first_character: number;
  entry: Entry | null;
  summary: Summary | null;
  before: Entry[];
  after: Entry[];
  why: Why;
}

export interface Hits {
  results: Hit[];
}

export interface Imported {
  session_id: string;
  version: number;
  entries: number;
  skipped: number;
}

export interface Kept {
  space: string;
  key: string;
  version: number;
  recorded_at: string;
  value: unknown;
  base64: string | null;
  digest: string | null;
}

export interface KeptBatch {
  session_id: string;
  version: number;
  versions: number[];
}

export interface KeptPage {
  values: Kept[];
  next_after: string | null;
}

export interface Left {
  version: number;
  versions: Ranges;
  cause: "covered" | "erased" | "removed" | "cleared";
  key: string | null;
  summary_id: string | null;
}

export interface Line {
  text: string;
  source: Source | null;
}

export interface ListedEvent {
  session_id: string;
  user_id: string | null;
  version: number;
  position: number;
  event_id: string;
  type: string;
  schema_version: number;
  occurred_at: string;
  recorded_at: string;
  actor: string;
  actor_claimed: boolean;
  write_id: string;
  payload: { [name: string]: unknown };
  previous_hash: string;
  hash: string;
  text: string;
  link: "ok" | "first" | "broken" | "unchecked";
}

export interface Mark {
  version: number;
  ms: number;
  type: "opened" | "fork" | "config" | "clear" | "context" | "compaction_failed" | "restored" | "rebuild_requested" | "rebuilt" | "rebuild_failed";
  text: string;
  tokens: number | null;
  rendered_version: number | null;
  limit: number | null;
  strategy: string | null;
}

export interface Me {
  actor: string;
  scopes: string[];
  namespaces: string[] | null;
  home: string | null;
  release: string;
  auth_mode: "none" | "token" | "oidc" | "token+oidc";
  ui: PageRights;
}

export interface Memory {
  text: string;
  memory_type: string;
  session_id: string | null;
  user_id: string | null;
  namespace: string | null;
  topics: string[] | null;
  entities: string[] | null;
  event_date: string | null;
  created_at: string;
  persisted_at: string | null;
  pinned: boolean;
  extracted: boolean;
  extracted_from: string[] | null;
  extraction_strategy: string;
  extraction_strategy_config: { [name: string]: unknown };
  metadata: { [name: string]: unknown };
  memory_id: string;
  version: number;
}

export interface MemoryChanges {
  added: Memory[];
  removed: Memory[];
  edited: MemoryPair[];
}

export interface MemoryPair {
  before: Memory;
  after: Memory;
}

export interface MessageOut {
  role: string;
  content: string;
  id: string;
  created_at: string;
  persisted_at: string | null;
  discrete_memory_extracted: string;
}

export interface ModelCall {
  version: number;
  turn: number | null;
  recorded: boolean;
  tokens: number;
  limit: number | null;
  shown: Ranges;
  summaries: string[];
  hidden: number;
  strategy: string;
}

export interface ModelCalls {
  calls: ModelCall[];
  next_after: number | null;
}

export interface NumberPair {
  before: number;
  after: number;
}

export interface Overlay {
  version: number;
  summary_id: string;
  versions: Ranges;
}

export interface PageRights {
  writes: boolean;
}

export interface PartitionOut {
  view_id: string;
  group: { [name: string]: string };
  summary: string;
  memory_count: number;
  empty: boolean;
  empty_reason: string | null;
  computed_at: string;
}

export interface PastSummaries {
  summaries: PastSummary[];
  next_after: number | null;
  version: number;
}

export interface PastSummary {
  summary_id: string;
  version: number;
  key: string;
  text: string;
  tokens: number;
  tokens_before: number;
  covered: Ranges;
  folds: string[];
  method: string | null;
  model: string | null;
  created_at: string;
  status: "live" | "folded" | "withdrawn" | "retired" | "cleared" | "evicted";
  ended_version: number | null;
  folded_into: string | null;
}

export interface Popped {
  entry: Entry | null;
  version: number;
}

export interface Preset {
  name: string;
  title: string;
  config: { [name: string]: unknown };
}

export interface Presets {
  presets: Preset[];
}

export interface PromptMessage {
  role: string;
  content: PromptText;
}

export interface PromptOut {
  messages: PromptMessage[];
  long_term_memories: { [name: string]: unknown }[] | null;
}

export interface PromptText {
  type: string;
  text: string;
  annotations: null;
  _meta: null;
}

export interface Rebuild {
  rebuild_id: string;
  status: "running" | "completed" | "failed";
  config: { [name: string]: unknown };
  requested_version: number;
  requested_at: string;
  touched_at: string;
  summaries: number;
  until: number;
  version: number;
  paused: boolean;
  ended_version: number | null;
  reason: "error" | "superseded" | "too_large" | null;
  detail: string;
}

export interface Recalled {
  version: number;
  score: number;
  why: Why | null;
}

export interface Record {
  text: string;
  memory_type: string;
  session_id: string | null;
  user_id: string | null;
  namespace: string | null;
  topics: string[] | null;
  entities: string[] | null;
  event_date: string | null;
  created_at: string;
  persisted_at: string | null;
  pinned: boolean;
  extracted: boolean;
  extracted_from: string[] | null;
  extraction_strategy: string;
  extraction_strategy_config: { [name: string]: unknown };
  metadata: { [name: string]: unknown };
  record_id: string;
  updated_at: string;
  last_accessed: string;
  access_count: number;
  memory_hash: string;
}

export interface RecordOut {
  id: string;
  text: string;
  session_id: string | null;
  user_id: string | null;
  namespace: string | null;
  last_accessed: string | null;
  created_at: string | null;
  updated_at: string | null;
  pinned: boolean;
  access_count: number;
  topics: string[] | null;
  entities: string[] | null;
  memory_hash: string;
  discrete_memory_extracted: string;
  memory_type: string;
  persisted_at: string | null;
  extracted_from: string[] | null;
  event_date: string | null;
  extraction_strategy: string;
  extraction_strategy_config: { [name: string]: unknown };
  metadata: { [name: string]: unknown };
}

export interface RecordPageOut {
  memories: FoundRecordOut[];
  total: number;
  next_offset: number | null;
}

export interface Recording {
  version: number;
  event_id: string;
  recorded_at: string;
  actor: string;
  actor_claimed: boolean;
  strategy: string;
  config_digest: string;
  text_digest: string;
  messages_digest: string;
}

export interface Report {
  name: string;
  updated_at: string;
  bytes: number;
}

export interface Reports {
  reports: Report[];
}

export interface Returned {
  version: number;
  versions: Ranges;
}

export interface Revision {
  revision: number;
  user_id: string | null;
  namespace: string | null;
  type: string;
  recorded_at: string;
  actor: string;
  status: string;
  merged_into: string | null;
  record: Record;
}

export interface Revisions {
  revisions: Revision[];
}

export interface ScoreParts {
  words: number;
  neighbours: number;
  speaker: number;
  date: number;
}

export interface Seen {
  session_id: string;
  version: number;
  verdict: string;
  recorded: Recording | null;
  tokens: number;
  text: string;
  text_digest: string;
  messages_digest: string;
  lines: Line[];
  messages: SeenMessage[];
}

export interface SeenMessage {
  message: { [name: string]: unknown };
  sources: Source[];
}

export interface Session {
  session_id: string;
  user_id: string | null;
  namespace: string;
  status: "live" | "expired" | "ended" | "unreadable";
  version: number;
  entries: number;
  active: number;
  summaries: number;
  total_tokens: number;
  active_tokens: number;
  created_at: string;
  updated_at: string;
  expires_at: string | null;
  failed_compactions: number;
  last_failure: string | null;
  failing_since: string | null;
  failing_model: string | null;
  forked_from: ForkedFrom | null;
}

export interface SessionPage {
  sessions: Session[];
  next_cursor: string | null;
}

export interface SessionsOut {
  sessions: string[];
  total: number;
}

export interface Side {
  version: number;
  what_if: boolean;
  stats: Stats;
  spent: Spending;
  budget: Budget;
  only_entries: Entry[];
  only_summaries: Summary[];
}

export interface Source {
  kind: string;
  id: string;
  version: number;
  entries: Ranges;
  via: string[];
}

export interface Spending {
  compactions: number;
  model_calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface State {
  session_id: string;
  user_id: string | null;
  namespace: string;
  status: "live" | "expired" | "ended";
  version: number;
  entries: StateEntry[];
  summaries: Summary[];
  memories: Memory[];
  data: { [name: string]: unknown };
  context: string | null;
  tokens: number;
  extraction: Extraction;
  ttl_seconds: number | null;
  expires_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface StateEntry {
  entry_id: string;
  version: number;
  kind: "message" | "tool_call" | "tool_result" | "context" | "system_instruction" | "step_prompt" | "step_result";
  role: string;
  content: string;
  tokens: number;
  tokenizer: string;
  data: unknown;
  tool_name: string | null;
  tool_call_id: string | null;
  tool_status: "ok" | "error" | null;
  arguments: unknown;
  created_at: string;
  recorded_at: string;
  edited_version: number | null;
  metadata: { [name: string]: unknown } | null;
  status: "active" | "covered" | "erased" | "removed" | "cleared";
  summary_ids: string[];
  persisted_at: string | null;
  extracted: boolean;
}

export interface Stats {
  total_entries: number;
  active_entries: number;
  compressed_entries: number;
  removed_entries: number;
  erased_entries: number;
  window_not_known: number;
  summaries: number;
  total_tokens: number;
  active_tokens: number;
  over_budget: boolean;
  near_limit: boolean;
  compactions: number;
  compactions_in_flight: number;
  failed_compactions: number;
  last_failure: string | null;
  failing_since: string | null;
  failing_model: string | null;
  model_calls: number;
  model_tokens: number;
  memories: number;
  promoted_memories: number;
  version: number;
  writes: number;
  created_at: string | null;
  updated_at: string | null;
  last_compaction_at: string | null;
  expires_at: string | null;
}

export interface StrategyOut {
  strategy: string;
  config: { [name: string]: unknown };
}

export interface Summary {
  summary_id: string;
  version: number;
  key: string;
  text: string;
  tokens: number;
  tokens_before: number;
  covered: Ranges;
  folds: string[];
  method: string | null;
  model: string | null;
  created_at: string;
}

export interface SummaryChanges {
  added: Summary[];
  removed: Summary[];
}

export interface SummaryNode {
  summary_id: string;
  version: number;
  versions: Ranges;
  entries: number;
  folds: SummaryNode[];
  cut: boolean;
}

export interface SummaryOutput {
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
}

export interface SummaryRecord {
  summary_id: string;
  version: number;
  key: string;
  text: string;
  tokens: number;
  tokens_before: number;
  covered: Ranges;
  folds: string[];
  method: string | null;
  model: string | null;
  created_at: string;
  status: "live" | "folded" | "withdrawn" | "retired" | "cleared" | "evicted";
  ended_version: number | null;
  folded_into: string | null;
  tree: SummaryNode;
  requested: SummaryRequest | null;
  outputs: SummaryOutput[];
  latency_ms: number | null;
}

export interface SummaryRequest {
  version: number;
  reasons: string[];
  tokens: number;
}

export interface SummaryViewOut {
  id: string;
  name: string | null;
  source: string;
  group_by: string[];
  filters: { [name: string]: unknown };
  time_window_days: number | null;
  continuous: boolean;
  prompt: string | null;
  model_name: string | null;
}

export interface TaskOut {
  id: string;
  type: string;
  status: string;
  view_id: string;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  error_message: string | null;
}

export interface TextMatch {
  version: number;
  kind: string;
  preview: string;
  count: number;
  entry_id: string | null;
  summary_id: string | null;
  role: string | null;
}

export interface TextMatches {
  matches: TextMatch[];
  next_after: number | null;
  scanned_to: number;
}

export interface TextPair {
  before: string | null;
  after: string | null;
}

export interface Timeline {
  after: number;
  version: number;
  newest: number;
  start_ms: number;
  kinds: string[];
  roles: string[];
  entries: EntryColumns;
  left: Left[];
  returned: Returned[];
  covers: Overlay[];
  edited: EditedEntry[];
  summaries: CreatedSummary[];
  ended: EndedSummary[];
  marks: Mark[];
}

export interface Transcript {
  entries: Entry[];
}

export interface Trial {
  config: string;
  ok: boolean;
  problem: string | null;
  strategy: string | null;
  tokens: number | null;
  peak_tokens: number | null;
  shown: number | null;
  compactions: number | null;
  calls: number | null;
  cost_usd: number | null;
  estimated: boolean;
}

export interface Trials {
  rows: Trial[];
}

export interface Tried {
  version: number;
  config: { [name: string]: unknown };
  strategy: string;
  spent: Spending;
  answers: Answers;
  estimated: boolean;
  completed: number;
  failed: number;
  window: Window;
  difference: Difference;
  findings: ConfigFinding[];
}

export interface UnderWay {
  compaction_id: string;
}

export interface Verdict {
  verdict: string;
  checked: number;
  head: Head;
  findings: Finding[];
}

export interface Why {
  words: string[];
  by_words: ScoreParts | null;
  similarity: number | null;
}

export interface Window {
  version: number;
  config_version: number | null;
  strategy: string;
  turn: number | null;
  recorded: WindowRecording | null;
  tokens: number;
  budget: WindowBudget;
  total: number;
  dropped: number;
  items: WindowItem[];
  shown: Ranges;
  recalled: Ranges;
  summaries: string[];
  hidden: HiddenEntries[];
  hidden_total: number;
  not_known: WindowNotKnown[];
  not_known_total: number;
}

export interface WindowBudget {
  system: number;
  pinned: number;
  current_turn: number;
  history: number;
  summaries: number;
  recalled: number;
  knowledge: number;
  tokens: number;
  limit: number | null;
  excess: number;
  over_budget: boolean;
  limit_from: string | null;
}

export interface WindowItem {
  kind: "entry" | "summary" | "knowledge";
  id: string;
  version: number;
  tokens: number | null;
  source: "system" | "pinned" | "current_turn" | "history" | "recalled" | "summary" | "knowledge";
  text: string;
  length: number;
  role: string | null;
  entry_kind: string | null;
  tool_name: string | null;
  covered: Ranges;
  gap: boolean;
  score: number | null;
}

export interface WindowNotKnown {
  version: number;
  text: string;
  line: number | null;
}

export interface WindowRecording {
  version: number;
  recorded_at: string;
  actor: string;
  verdict: "proved" | "differs";
}

export interface WorkingMemoryOut {
  messages: MessageOut[];
  memories: RecordOut[];
  data: { [name: string]: unknown };
  context: string | null;
  user_id: string | null;
  tokens: number;
  session_id: string;
  namespace: string | null;
  long_term_memory_strategy: StrategyOut;
  ttl_seconds: number | null;
  last_accessed: string;
  created_at: string;
  updated_at: string;
  context_percentage_total_used: number | null;
  context_percentage_until_summarization: number | null;
}

export interface Writes {
  sessions: Added[];
}
