"""What each shape of the public JSON is made of, and why a field is only in one of the two."""

from typing import Final

import msgspec
from pydantic import BaseModel

from ledger import prices, results
from ledger.application import context_audit, entry_pages, finding, model_calls, past_summaries, windows
from ledger.application.family import Family, FamilyMember
from ledger.backtest.trials import TriedConfig
from ledger.compaction.result import CompactionResult
from ledger.events import CompactionCompleted, EntryAdded, ForkedFrom, MemoryAdded, MemoryFields, RecordCreated
from ledger.events.session import Extraction
from ledger.history import comparing, difference
from ledger.history.log import EntryChange, EntryFate, EntryRecord, LoggedEvent
from ledger.history.log_page import ListedEvent, LogPage
from ledger.json_models import auditing, base, compacting, entries, events, kept, memories, searching, sessions, viewing
from ledger.json_models import comparing as compared
from ledger.long_term_memory.results import LongTermRecord, Revision
from ledger.ports.session_index import IndexedSession
from ledger.search.results import SearchResult
from ledger.server.native import (
    audit,
    forks,
    me,
    presets,
    records,
    reports,
    session_commands,
    session_data,
    session_list,
    session_reads,
    transfer,
    trying,
    verify_stream,
    writes,
)
from ledger.server.native import entries as native_entries
from ledger.server.native import events as native_events
from ledger.server.ui import login
from ledger.session.state import SessionState
from ledger.transfer.lines import EventLine
from ledger.verification import Finding, VerifyReport
from ledger.what_if.run import Answers
from projections import budget, entry_fates
from projections.config_check import ConfigFinding
from projections.entries import Entry
from projections.history import PastEntry
from projections.stats import SessionStats
from projections.summaries import Summary
from projections.window import RecalledEntry
from projections.word_index import ScoreParts, Why
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
    **dict.fromkeys(("claimed_at", "write_id", "fallback", "listed", "pinned", "outcome"), INSIDE),
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
    entries.EntryShape: ((Entry,), OF_ENTRIES),
    entries.PastEntryShape: ((PastEntry,), OF_ENTRIES),
    entries.EntryRecordShape: ((EntryRecord,), {**OF_ENTRIES, "session_version": ANSWERED}),
    entries.EntryFateShape: ((EntryFate,), {}),
    entries.EntryRowShape: ((entry_pages.EntryRow,), {}),
    entries.EntryRowsShape: ((entry_pages.EntryRows,), {}),
    entries.SummaryShape: ((Summary,), OF_SUMMARIES),
    entries.AddedEntryShape: ((results.AddedEntry,), {}),
    entries.AddedShape: ((results.Added,), {"replayed": HEADER}),
    entries.EntryChangeShape: ((EntryChange,), {}),
    memories.MemoryShape: (
        (Memory, MemoryFields),
        {
            **dict.fromkeys(("recorded_us", "persisted_us"), MICROSECONDS),
            **dict.fromkeys(("write_id", "listed", "edited_version"), INSIDE),
            "fields": FLAT,
        },
    ),
    memories.RecordShape: ((LongTermRecord,), {}),
    memories.RevisionShape: ((Revision,), {}),
    sessions.SessionShape: (
        (IndexedSession,),
        {"stream_id": INSIDE, "new_runs": INSIDE, "namespace": "a ledger of the library has one"},
    ),
    sessions.BudgetShape: ((budget.Budget,), {}),
    sessions.StatsShape: ((SessionStats,), {}),
    sessions.ExtractionShape: ((Extraction,), {}),
    sessions.StateShape: (
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
    events.EventShape: ((LoggedEvent,), {}),
    events.ListedEventShape: ((ListedEvent,), {}),
    compacting.CompactionShape: ((CompactionResult,), {"replayed": HEADER}),
    compacting.RebuildShape: ((results.RebuildProgress,), {}),
    compared.SpendingShape: ((prices.Spending,), {}),
    compared.SideShape: ((difference.Side,), {}),
    compared.EntryPair: ((comparing.Pair,), {}),
    compared.MemoryPair: ((comparing.Pair,), {}),
    compared.TextPair: ((comparing.Pair,), {}),
    compared.NumberPair: ((comparing.Pair,), {}),
    compared.EntryChangesShape: ((comparing.EntryChanges,), {}),
    compared.MemoryChangesShape: ((comparing.MemoryChanges,), {}),
    compared.SummaryChangesShape: ((comparing.SummaryChanges,), {}),
    compared.ChangesShape: ((comparing.Changes,), {}),
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
            **dict.fromkeys(("strategy", "outputs", "over_target", "error", "ended"), INSIDE),
        },
    ),
    searching.HitShape: ((SearchResult,), {}),
    searching.WhyShape: ((Why,), {"score": INSIDE}),
    searching.ScorePartsShape: ((ScoreParts,), {"score": INSIDE}),
    searching.RecalledShape: ((RecalledEntry,), {}),
    native_events.EventPage: ((LogPage,), {}),
    sessions.FamilyShape: ((Family,), {}),
    sessions.FamilyMemberShape: ((FamilyMember,), {}),
    sessions.ForkedFromShape: ((ForkedFrom,), {}),
    forks.ForkShape: ((results.Forked,), {"replayed": HEADER}),
    kept.KeptShape: ((results.KeptValue,), {"base64": "bytes, which JSON has not"}),
    kept.KeptBatchShape: ((results.KeptBatch,), {"replayed": HEADER, "first_version": INSIDE}),
    entries.PoppedShape: ((results.Popped,), {"replayed": HEADER}),
    session_data.DataShape: ((results.PatchedData,), {"replayed": HEADER}),
    viewing.TimelineShape: ((entry_fates.Timeline,), {}),
    viewing.EntryColumnsShape: ((entry_fates.EntryColumns,), {}),
    viewing.LeftShape: ((entry_fates.Left,), {}),
    viewing.ReturnedShape: ((entry_fates.Returned,), {}),
    viewing.OverlayShape: ((entry_fates.Overlay,), {}),
    viewing.WindowNotKnownShape: ((windows.WindowNotKnown,), {}),
    viewing.EditedEntryShape: ((entry_fates.EditedEntry,), {}),
    viewing.CreatedSummaryShape: ((entry_fates.CreatedSummary,), {}),
    viewing.EndedSummaryShape: ((entry_fates.EndedSummary,), {}),
    viewing.MarkShape: ((entry_fates.Mark,), {}),
    viewing.WindowShape: ((windows.ShownWindow,), {}),
    viewing.WindowBudgetShape: ((windows.WindowBudget,), {}),
    viewing.WindowRecordingShape: ((windows.WindowRecording,), {}),
    viewing.WindowItemShape: ((windows.WindowItem,), {}),
    viewing.HiddenEntriesShape: ((windows.HiddenEntries,), {}),
    viewing.ModelCallShape: ((model_calls.ModelCall,), {}),
    viewing.ModelCallsShape: ((model_calls.ModelCallPage,), {}),
    viewing.PastSummaryShape: ((past_summaries.PastSummary,), OF_SUMMARIES),
    viewing.PastSummariesShape: ((past_summaries.PastSummaries,), {}),
    viewing.SummaryNodeShape: ((past_summaries.SummaryNode,), {}),
    viewing.SummaryRequestShape: ((past_summaries.RequestedSummary,), {}),
    viewing.SummaryOutputShape: ((past_summaries.SummaryOutput,), {}),
    viewing.SummaryRecordShape: ((past_summaries.SummaryRecord,), OF_SUMMARIES),
    viewing.TextMatchShape: ((finding.TextMatch,), {}),
    viewing.TextMatchesShape: ((finding.TextMatches,), {}),
    auditing.SeenShape: ((context_audit.ContextAudit,), {}),
    auditing.SeenMessageShape: ((context_audit.SeenMessage,), {}),
    auditing.LineShape: ((context_audit.SeenLine,), {}),
    auditing.SourceShape: ((context_audit.LineSource,), {}),
    auditing.RecordingShape: ((context_audit.ContextRecording,), {}),
    auditing.DerivedShape: ((context_audit.Derived,), {}),
    auditing.DerivedSummaryShape: ((context_audit.DerivedSummary,), {}),
    auditing.DerivedContextShape: ((context_audit.DerivedContext,), {}),
    audit.VerdictShape: ((VerifyReport,), {"ok": INSIDE, "head": "the library says it by `get_log`"}),
    audit.FindingShape: (
        (Finding,),
        dict.fromkeys(("namespace", "session_id", "user_id", "stream_id"), "a verdict of one session; " + NAMED),
    ),
    verify_stream.PlacedFindingShape: ((Finding,), dict.fromkeys(("namespace", "stream_id"), NAMED)),
    verify_stream.NamespaceVerdictShape: ((VerifyReport,), {"ok": INSIDE}),
    trying.TriedShape: (
        (results.WhatIf,),
        {
            "session_id": NAMED,
            "strategy": "the type of the window in `config`",
            "state": "the library has it whole",
        },
    ),
    trying.TrialShape: ((TriedConfig,), {}),
    session_reads.ContextShape: (
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
    session_commands.ConfigShape: (
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
    login.LoginShape,
    session_list.SessionPage,
    compared.ConfigCheckShape,
    searching.HitsShape,
    records.Revisions,
    native_entries.AtVersion,
    session_commands.UnderWay,
    transfer.ImportedShape,
    audit.HeadShape,
    me.MeShape,
    kept.KeptPageShape,
    entries.TranscriptShape,
    writes.WritesShape,
    me.PageRights,
    presets.PresetShape,
    presets.PresetsShape,
    reports.ReportShape,
    reports.ReportsShape,
    trying.TrialsShape,
    memories.MemoryFieldsShape,
    sessions.StateEntryShape,
    sessions.ShownEntryShape,
    sessions.ShownStateShape,
    base.Shape,
}

#: Each shape, the events whose fields it shows, and the fields of those that have another name in it, or none.
STORED_AS: Final[dict[type[BaseModel], tuple[tuple[type[msgspec.Struct], ...], Reasons]]] = {
    sessions.StateEntryShape: (
        (EntryAdded,),
        dict.fromkeys(("write_id", "fallback", "listed", "past"), INSIDE),
    ),
    memories.MemoryShape: (
        (MemoryAdded, MemoryFields),
        {"write_id": INSIDE, "listed": INSIDE, "fields": FLAT},
    ),
    memories.RecordShape: (
        (RecordCreated, MemoryFields),
        {"write_id": INSIDE, "source": INSIDE, "fields": FLAT},
    ),
    events.EventShape: (
        (EventLine,),
        {
            **dict.fromkeys(("occurred_us", "recorded_us"), "hashed as microseconds"),
            **dict.fromkeys(("payload_digest", "codec", "item_id", "key_id", "key_commitment"), "parts of the hash"),
            "stream_id": "follows from the names",
        },
    ),
}
