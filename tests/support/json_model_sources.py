"""What each shape of the public JSON is made of, and why a field is only in one of the two."""

from typing import Final

import msgspec
from pydantic import BaseModel

from ledger import results
from ledger.application.auditing import past_summaries, shown_calls
from ledger.application.forking.fork_family import Family, FamilyMember
from ledger.application.json_models import (
    audit_json,
    compaction_json,
    entry_json,
    event_json,
    key_value_json,
    memory_json,
    search_json,
    session_json,
    shapes,
    window_json,
)
from ledger.application.json_models import comparison_json as compared
from ledger.application.reading import context_audit, entry_pages, window_views
from ledger.application.replaying.trials import TriedConfig
from ledger.application.searching import exact_text
from ledger.events import CompactionCompleted, EntryAdded, ForkedFrom, MemoryAdded, MemoryFields, RecordCreated
from ledger.events.session_events import Extraction
from ledger.formats.export.file_lines import EventLine
from ledger.history import difference, state_comparison
from ledger.history.difference import Answers
from ledger.history.log_page import ListedEvent, LogPage
from ledger.history.log_reads import EntryChange, EntryFate, EntryRecord, LoggedEvent
from ledger.indexes.search.search_results import SearchResult
from ledger.llm import prices
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.long_term_memory.record_results import LongTermRecord, Revision
from ledger.ports.session_index import IndexedSession
from ledger.server.native import (
    audit_routes,
    caller_routes,
    command_routes,
    data_routes,
    fork_routes,
    list_routes,
    preset_routes,
    record_routes,
    report_routes,
    state_routes,
    transfer_routes,
    trial_routes,
    verify_routes,
    write_routes,
)
from ledger.server.native import entry_routes as native_entries
from ledger.server.native import event_routes as native_events
from ledger.server.ui import login_routes
from ledger.session.state import SessionState
from ledger.verification import Finding, VerifyReport
from projections.entries import Entry
from projections.log import entry_fates
from projections.log.history import PastEntry
from projections.memory_config import budget
from projections.memory_config.config_check import ConfigFinding
from projections.stats import SessionStats
from projections.summaries import Summary
from projections.window import RecalledEntry
from projections.words.word_index import ScoreParts, Why
from projections.working_memory import Memory, WorkingMemory

#: What a field that only one of two has is for.
Reasons = dict[str, str]

MICROSECONDS: Final = "the library's own form of a time, shown as `..._at`"
HEADER: Final = "the header `Idempotent-Replayed` says it, for a repetition has the body of the first answer"
INSIDE: Final = "how the library works, or what follows from other fields"
FLAT: Final = "the library has these fields in a struct of their own"
NAMED: Final = "part of the name that was asked for"
ANSWERED: Final = "the ETag says it"
OF_ENTRIES: Final = {
    "recorded_us": MICROSECONDS,
    **dict.fromkeys(("claimed_at", "write_id", "fallback", "listed", "facts", "pinned", "outcome"), INSIDE),
    **dict.fromkeys(
        ("starts_interaction", "ends_turn", "time_and_place", "answers", "thinks", "of_server_tool"), INSIDE
    ),
}

OF_SUMMARIES: Final = {
    **dict.fromkeys(("recorded_us", "claimed_at"), MICROSECONDS),
    **dict.fromkeys(("tokenizer", "first_version", "starts_at", "ends_at", "trust", "block"), INSIDE),
    **dict.fromkeys(("overlay", "compression_ratio", "entry_count"), INSIDE),
}

#: Each shape, the structs of the library that it is made of, and the fields that only one of the two has.
MADE_OF: Final[dict[type[BaseModel], tuple[tuple[type[msgspec.Struct], ...], Reasons]]] = {
    entry_json.EntryShape: ((Entry,), OF_ENTRIES),
    entry_json.PastEntryShape: ((PastEntry,), OF_ENTRIES),
    entry_json.EntryRecordShape: ((EntryRecord,), {**OF_ENTRIES, "session_version": ANSWERED}),
    entry_json.EntryFateShape: ((EntryFate,), {}),
    entry_json.EntryRowShape: ((entry_pages.EntryRow,), {}),
    entry_json.EntryRowsShape: ((entry_pages.EntryRows,), {}),
    entry_json.SummaryShape: ((Summary,), OF_SUMMARIES),
    entry_json.AddedEntryShape: ((results.AddedEntry,), {}),
    entry_json.AddedShape: ((results.Added,), {"replayed": HEADER}),
    entry_json.EntryChangeShape: ((EntryChange,), {}),
    memory_json.MemoryShape: (
        (Memory, MemoryFields),
        {
            **dict.fromkeys(("recorded_us", "persisted_us"), MICROSECONDS),
            **dict.fromkeys(("write_id", "listed", "edited_version"), INSIDE),
            "fields": FLAT,
        },
    ),
    memory_json.RecordShape: ((LongTermRecord,), {}),
    memory_json.RevisionShape: ((Revision,), {}),
    session_json.SessionShape: (
        (IndexedSession,),
        {"stream_id": INSIDE, "new_runs": INSIDE, "namespace": "a ledger of the library has one"},
    ),
    session_json.BudgetShape: ((budget.Budget,), {}),
    session_json.StatsShape: ((SessionStats,), {}),
    session_json.ExtractionShape: ((Extraction,), {}),
    session_json.StateShape: (
        (SessionState, WorkingMemory),
        {
            **dict.fromkeys(("session_id", "user_id", "namespace"), NAMED),
            **dict.fromkeys(("created_us", "updated_us", "touched_us"), MICROSECONDS),
            **dict.fromkeys(("write_id", "cleared_version", "life", "began", "compactions", "items", "counts"), INSIDE),
            **dict.fromkeys(("progress", "set_at", "contexts"), INSIDE),
            "working": FLAT,
            "window": "its entries are those of `entries` that are active",
            "flags": "`persisted_at` and `extracted` of each entry",
            "entries": "the library reads them by `get_history`, for a state is bounded",
            "opened": "`status`",
            "status": "follows from `opened`, `expires_at` and the clock",
            "context": "follows from `summaries`",
            "config": "`get_config`, the command `config`, `GET .../config`",
            "writes": "in the statistics",
            "rebuild": "`get_rebuild`, `GET .../rebuild`",
        },
    ),
    event_json.EventShape: ((LoggedEvent,), {}),
    event_json.ListedEventShape: ((ListedEvent,), {}),
    compaction_json.CompactionShape: ((CompactionResult,), {"replayed": HEADER}),
    compaction_json.RebuildShape: ((results.RebuildProgress,), {}),
    compared.SpendingShape: ((prices.Spending,), {}),
    compared.SideShape: ((difference.Side,), {}),
    compared.EntryPair: ((state_comparison.Pair,), {}),
    compared.MemoryPair: ((state_comparison.Pair,), {}),
    compared.TextPair: ((state_comparison.Pair,), {}),
    compared.NumberPair: ((state_comparison.Pair,), {}),
    compared.EntryChangesShape: ((state_comparison.EntryChanges,), {}),
    compared.MemoryChangesShape: ((state_comparison.MemoryChanges,), {}),
    compared.SummaryChangesShape: ((state_comparison.SummaryChanges,), {}),
    compared.ChangesShape: ((state_comparison.Changes,), {}),
    compared.DifferenceShape: ((difference.Difference,), {"empty": INSIDE}),
    compared.AnswersShape: ((Answers,), {}),
    compared.ConfigFindingShape: ((ConfigFinding,), {}),
    compared.WhatIfShape: (
        (results.WhatIf,),
        dict.fromkeys(("state", "window"), "as large as the session; `difference` says what is in question"),
    ),
    compared.WhatIfCompactionShape: (
        (CompactionCompleted,),
        {
            **dict.fromkeys(
                ("compaction_id", "summary_id", "created_at", "write_id", "item_id"), "made for the replay alone"
            ),
            **dict.fromkeys(("text", "folds", "trust", "block", "passes", "first_version"), "of the summary"),
            **dict.fromkeys(("starts_at", "ends_at", "tokenizer", "fallback"), "of the summary"),
            **dict.fromkeys(("strategy", "outputs", "over_target", "model_failed", "error", "ended"), INSIDE),
        },
    ),
    search_json.HitShape: ((SearchResult,), {}),
    search_json.WhyShape: ((Why,), {"score": INSIDE}),
    search_json.ScorePartsShape: ((ScoreParts,), {"score": INSIDE}),
    search_json.RecalledShape: ((RecalledEntry,), {}),
    native_events.EventPage: ((LogPage,), {}),
    session_json.FamilyShape: ((Family,), {}),
    session_json.FamilyMemberShape: ((FamilyMember,), {}),
    session_json.ForkedFromShape: ((ForkedFrom,), {}),
    fork_routes.ForkShape: ((results.Forked,), {"replayed": HEADER}),
    key_value_json.KeptShape: ((results.KeptValue,), {"base64": "bytes, which JSON has not"}),
    key_value_json.KeptBatchShape: ((results.KeptBatch,), {"replayed": HEADER, "first_version": INSIDE}),
    entry_json.PoppedShape: ((results.Popped,), {"replayed": HEADER}),
    data_routes.DataShape: ((results.PatchedData,), {"replayed": HEADER}),
    window_json.TimelineShape: ((entry_fates.Timeline,), {}),
    window_json.EntryColumnsShape: ((entry_fates.EntryColumns,), {}),
    window_json.LeftShape: ((entry_fates.Left,), {}),
    window_json.ReturnedShape: ((entry_fates.Returned,), {}),
    window_json.OverlayShape: ((entry_fates.Overlay,), {}),
    window_json.WindowNotKnownShape: ((window_views.WindowNotKnown,), {}),
    window_json.EditedEntryShape: ((entry_fates.EditedEntry,), {}),
    window_json.CreatedSummaryShape: ((entry_fates.CreatedSummary,), {}),
    window_json.EndedSummaryShape: ((entry_fates.EndedSummary,), {}),
    window_json.MarkShape: ((entry_fates.Mark,), {}),
    window_json.WindowShape: ((window_views.ShownWindow,), {}),
    window_json.WindowBudgetShape: ((window_views.WindowBudget,), {}),
    window_json.WindowRecordingShape: ((window_views.WindowRecording,), {}),
    window_json.WindowItemShape: ((window_views.WindowItem,), {}),
    window_json.HiddenEntriesShape: ((window_views.HiddenEntries,), {}),
    window_json.ModelCallShape: ((shown_calls.ModelCall,), {}),
    window_json.ModelCallsShape: ((shown_calls.ModelCallPage,), {}),
    window_json.PastSummaryShape: ((past_summaries.PastSummary,), OF_SUMMARIES),
    window_json.PastSummariesShape: ((past_summaries.PastSummaries,), {}),
    window_json.SummaryNodeShape: ((past_summaries.SummaryNode,), {}),
    window_json.SummaryRequestShape: ((past_summaries.RequestedSummary,), {}),
    window_json.SummaryOutputShape: ((past_summaries.SummaryOutput,), {}),
    window_json.SummaryRecordShape: ((past_summaries.SummaryRecord,), OF_SUMMARIES),
    window_json.TextMatchShape: ((exact_text.TextMatch,), {}),
    window_json.TextMatchesShape: ((exact_text.TextMatches,), {}),
    audit_json.SeenShape: ((context_audit.ContextAudit,), {}),
    audit_json.SeenMessageShape: ((context_audit.SeenMessage,), {}),
    audit_json.LineShape: ((context_audit.SeenLine,), {}),
    audit_json.SourceShape: ((context_audit.LineSource,), {}),
    audit_json.RecordingShape: ((context_audit.ContextRecording,), {}),
    audit_json.DerivedShape: ((context_audit.Derived,), {}),
    audit_json.DerivedSummaryShape: ((context_audit.DerivedSummary,), {}),
    audit_json.DerivedContextShape: ((context_audit.DerivedContext,), {}),
    audit_routes.VerdictShape: ((VerifyReport,), {"ok": INSIDE, "head": "the library says it by `get_log`"}),
    audit_routes.FindingShape: (
        (Finding,),
        dict.fromkeys(("namespace", "session_id", "user_id", "stream_id"), "a verdict of one session; " + NAMED),
    ),
    verify_routes.PlacedFindingShape: ((Finding,), dict.fromkeys(("namespace", "stream_id"), NAMED)),
    verify_routes.NamespaceVerdictShape: ((VerifyReport,), {"ok": INSIDE}),
    trial_routes.TriedShape: (
        (results.WhatIf,),
        {
            "session_id": NAMED,
            "strategy": "the type of the window in `config`",
            "state": "the library has it whole",
        },
    ),
    trial_routes.TrialShape: ((TriedConfig,), {}),
    state_routes.ContextShape: (
        (results.Context,),
        {
            "session_id": NAMED,
            "hidden": "counts what the limit leaves out",
            "request": "the library has `as_openai()`, `as_responses()` and `as_anthropic()`",
            "window": FLAT,
            "config": "`GET .../config`",
            "recorded": "the service records no context",
            "entries": "in `messages` or `text`",
            **dict.fromkeys(("pieces", "shown_messages", "rolling", "current_turn"), INSIDE),
        },
    ),
    command_routes.ConfigShape: (
        (results.Configured, WorkingMemory),
        {
            "replayed": HEADER,
            **dict.fromkeys(("data", "set_at", "memories", "touched_us", "tokens", "flags", "contexts"), "no setting"),
            "expires_at": "in the state",
            "profile": "part of `config`",
            "since": "the library has the events",
            "rebuild_id": "with a rebuild the answer is 202 and another one",
            "opened": "the log has `session.opened`",
        },
    ),
}

#: Answers of a few words, with no thing of the library behind them.
WRAPPERS: Final = {
    login_routes.LoginShape,
    list_routes.SessionPage,
    compared.ConfigCheckShape,
    search_json.HitsShape,
    record_routes.Revisions,
    native_entries.AtVersion,
    command_routes.UnderWay,
    transfer_routes.ImportedShape,
    audit_routes.HeadShape,
    caller_routes.MeShape,
    key_value_json.KeptPageShape,
    entry_json.TranscriptShape,
    write_routes.WritesShape,
    caller_routes.PageRights,
    preset_routes.PresetShape,
    preset_routes.PresetsShape,
    report_routes.ReportShape,
    report_routes.ReportsShape,
    trial_routes.TrialsShape,
    memory_json.MemoryFieldsShape,
    session_json.StateEntryShape,
    session_json.ShownEntryShape,
    session_json.ShownStateShape,
    shapes.Shape,
}

#: Each shape, the events whose fields it shows, and the fields of those that have another name in it, or none.
STORED_AS: Final[dict[type[BaseModel], tuple[tuple[type[msgspec.Struct], ...], Reasons]]] = {
    session_json.StateEntryShape: (
        (EntryAdded,),
        dict.fromkeys(("write_id", "fallback", "listed", "facts", "past"), INSIDE),
    ),
    memory_json.MemoryShape: (
        (MemoryAdded, MemoryFields),
        {"write_id": INSIDE, "listed": INSIDE, "fields": FLAT},
    ),
    memory_json.RecordShape: (
        (RecordCreated, MemoryFields),
        {"write_id": INSIDE, "source": INSIDE, "fields": FLAT},
    ),
    event_json.EventShape: (
        (EventLine,),
        {
            **dict.fromkeys(("occurred_us", "recorded_us"), "hashed as microseconds"),
            **dict.fromkeys(
                ("structure", "content", "content_digest", "codec", "item_id", "key_id", "key_commitment"),
                "parts of the hash",
            ),
            "stream_id": "follows from the names",
        },
    ),
}
