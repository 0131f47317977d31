"""The memory of AI agents: conversations as events, stored for ever, shown within a budget.

    async with MemoryLedger.open() as ledger:
        await ledger.add_user_message("session-1", "How do I add auth?")
        prompt = await ledger.get_context_for_llm("session-1")

Every method takes the session id first, and the user id, if there is one, by name.
"""

from __future__ import annotations

import warnings

from ledger.application.facade.operations import lazy_module, operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Any

    from ledger.application import open_ledger
    from ledger.application.auditing import past_summaries, provenance
    from ledger.application.auditing import shown_calls as model_calls
    from ledger.application.auditing import stored_log as log
    from ledger.application.compacting import compact as compaction
    from ledger.application.forking import fork as forks
    from ledger.application.forking import fork_family as family
    from ledger.application.handle import NamespaceHandle
    from ledger.application.indexing import projection_builds as stored_projections
    from ledger.application.reading import contexts as context
    from ledger.application.reading import entry_pages, transcript
    from ledger.application.reading import key_value_reads as kept_reading
    from ledger.application.reading import session_reads as reading
    from ledger.application.reading import timeline_pages as viewing
    from ledger.application.reading import window_views as windows
    from ledger.application.replaying import replay_session as what_if
    from ledger.application.searching import exact_text as finding
    from ledger.application.searching import session_search as search
    from ledger.application.transferring import transfer_sessions as transfer
    from ledger.application.writing import configuration, lifetime, restore, session_writes, tail
    from ledger.application.writing import entry_writes as entries
    from ledger.application.writing import key_values as kept
    from ledger.application.writing import provider_messages as messages
    from ledger.application.writing import session_object as session_data
    from ledger.llm.summarizers import SummarizerChoice
    from ledger.long_term_memory import LongTermMemory
    from ledger.ports import Store
    from ledger.ports.language_models import Embedder
    from ledger.settings import Secret
    from projections.memory_config.config import MemoryConfig
else:
    provenance = lazy_module("ledger.application.auditing.provenance")
    compaction = lazy_module("ledger.application.compacting.compact")
    configuration = lazy_module("ledger.application.writing.configuration")
    context = lazy_module("ledger.application.reading.contexts")
    entries = lazy_module("ledger.application.writing.entry_writes")
    entry_pages = lazy_module("ledger.application.reading.entry_pages")
    finding = lazy_module("ledger.application.searching.exact_text")
    family = lazy_module("ledger.application.forking.fork_family")
    forks = lazy_module("ledger.application.forking.fork")
    kept = lazy_module("ledger.application.writing.key_values")
    kept_reading = lazy_module("ledger.application.reading.key_value_reads")
    lifetime = lazy_module("ledger.application.writing.lifetime")
    log = lazy_module("ledger.application.auditing.stored_log")
    messages = lazy_module("ledger.application.writing.provider_messages")
    open_ledger = lazy_module("ledger.application.open_ledger")
    past_summaries = lazy_module("ledger.application.auditing.past_summaries")
    reading = lazy_module("ledger.application.reading.session_reads")
    restore = lazy_module("ledger.application.writing.restore")
    search = lazy_module("ledger.application.searching.session_search")
    session_data = lazy_module("ledger.application.writing.session_object")
    session_writes = lazy_module("ledger.application.writing.session_writes")
    stored_projections = lazy_module("ledger.application.indexing.projection_builds")
    tail = lazy_module("ledger.application.writing.tail")
    transcript = lazy_module("ledger.application.reading.transcript")
    transfer = lazy_module("ledger.application.transferring.transfer_sessions")
    viewing = lazy_module("ledger.application.reading.timeline_pages")
    what_if = lazy_module("ledger.application.replaying.replay_session")
    windows = lazy_module("ledger.application.reading.window_views")
    model_calls = lazy_module("ledger.application.auditing.shown_calls")

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """The sessions of one namespace; `open` creates it, and closes it at the end of the ``async with`` block.

    Without a block, `connect` creates it and `close` closes it. One that was never closed closes itself when nothing
    refers to it any more or its event loop ends, with a `ResourceWarning`.

    Methods that read a state, context or statistics take ``version`` or ``at`` (a time): they answer as they did then.
    """

    def __init__(self, handle: NamespaceHandle) -> None:
        self._handle = handle
        self._closing: open_ledger.Closing | None = None  # of `connect`

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        data_dir: Path | str | None = None,
        password: Secret | None = None,
        actor: str | None = None,
        config: Mapping[str, Any] | MemoryConfig | None = None,
        summarizer: SummarizerChoice = None,
        embedder: Embedder | None = None,
        store: Store | None = None,
        group_commit: bool = True,
        allow_unsafe: bool = False,
    ) -> AbstractAsyncContextManager[MemoryLedger]:
        """Open the ledger, on the embedded PostgreSQL unless *database_url* or *store* is given.

        *data_dir* means the embedded PostgreSQL there, whatever database the environment names. *password* is that of
        the URL, or a function that returns it, async or not, which is called for each new connection. Other values come
        from the environment (see `settings`). *config* is the memory config of new sessions, *summarizer* writes the
        summaries of sessions without their own, *embedder* makes search by meaning possible. With *group_commit*
        concurrent writes share a commit; without it each commits alone, at a twentieth of the throughput or less.

        Raises:
            InvalidInput: an argument or a setting is wrong.
            DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
        """
        return open_ledger.open_ledger(
            cls,
            database_url,
            namespace,
            data_dir=data_dir,
            password=password,
            actor=actor,
            config=config,
            summarizer=summarizer,
            embedder=embedder,
            store=store,
            group_commit=group_commit,
            allow_unsafe=allow_unsafe,
        )

    @classmethod
    async def connect(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        data_dir: Path | str | None = None,
        password: Secret | None = None,
        actor: str | None = None,
        config: Mapping[str, Any] | MemoryConfig | None = None,
        summarizer: SummarizerChoice = None,
        embedder: Embedder | None = None,
        store: Store | None = None,
        group_commit: bool = True,
        allow_unsafe: bool = False,
    ) -> MemoryLedger:
        """Open the ledger without a block, for a notebook, a server or a worker; `close` closes it.

        The arguments and errors are those of `open`.
        """
        opening = cls.open(
            database_url,
            namespace,
            data_dir=data_dir,
            password=password,
            actor=actor,
            config=config,
            summarizer=summarizer,
            embedder=embedder,
            store=store,
            group_commit=group_commit,
            allow_unsafe=allow_unsafe,
        )
        ledger = await opening.__aenter__()
        ledger._closing = open_ledger.Closing(opening)  # noqa: SLF001 - its own
        return ledger

    async def close(self) -> None:
        """Finish running work, and close what was opened; closing again does nothing.

        Later calls raise `Unavailable`. A compaction that does not end soon is recorded as abandoned.

        Raises:
            InvalidInput: a handler called it.
        """
        services = self._handle.services
        services.notifications.check_no_handler()
        await (services.close() if self._closing is None else self._closing.now())

    def __del__(self) -> None:
        closing = getattr(self, "_closing", None)
        if closing is not None and closing.begin():
            message = "a ledger was not closed; await its `close`, or open it in an `async with` block"
            warnings.warn(message, ResourceWarning, source=self, stacklevel=1)

    @property
    def long_term(self) -> LongTermMemory:
        """Long-term memory: the records of this namespace, which outlive sessions."""
        return self._handle.long_term

    # entries
    add_user_message = operation(lambda: entries.add_user_message)
    add_assistant_message = operation(lambda: entries.add_assistant_message)
    add_tool_call = operation(lambda: entries.add_tool_call)
    add_tool_result = operation(lambda: entries.add_tool_result)
    add_context = operation(lambda: entries.add_context)
    add_entries = operation(lambda: entries.add_entries)
    add_messages = operation(lambda: messages.add_messages)
    write_sessions = operation(lambda: session_writes.write_sessions)
    edit_entry = operation(lambda: entries.edit_entry)
    remove_entry = operation(lambda: entries.remove_entry)
    remove_entries = operation(lambda: tail.remove_entries)
    pop_entry = operation(lambda: tail.pop_entry)
    replace_tail = operation(lambda: tail.replace_tail)
    restore_entry = operation(lambda: restore.restore_entry)
    get_entry = operation(lambda: log.get_entry)
    list_entries = operation(lambda: entry_pages.list_entries)
    get_active_entries = operation(lambda: reading.get_active_entries)
    get_transcript = operation(lambda: transcript.get_transcript)

    # what the model is shown
    get_context = operation(lambda: context.get_context)
    get_context_for_llm = operation(lambda: context.get_context_for_llm)
    get_attachments = operation(lambda: messages.get_attachments)
    get_window = operation(lambda: windows.get_window)
    model_calls = operation(lambda: model_calls.model_calls)
    seen = operation(lambda: provenance.seen)
    derived = operation(lambda: provenance.derived)

    # sessions
    list_sessions = operation(lambda: reading.list_sessions)
    get_state = operation(lambda: reading.get_state)
    get_stats = operation(lambda: reading.get_stats)
    get_metrics = operation(lambda: reading.get_metrics)
    get_summaries = operation(lambda: reading.get_summaries)
    list_summaries = operation(lambda: past_summaries.list_summaries)
    get_summary = operation(lambda: past_summaries.get_summary)
    get_data = operation(lambda: session_data.get_data)
    patch_data = operation(lambda: session_data.patch_data)
    set_data = operation(lambda: session_data.set_data)
    keep = operation(lambda: kept.keep)
    get_kept = operation(lambda: kept_reading.get_kept)
    get_kept_values = operation(lambda: kept_reading.get_kept_values)
    list_kept = operation(lambda: kept_reading.list_kept)
    update_config = operation(lambda: configuration.update_config)
    get_rebuild = operation(lambda: configuration.get_rebuild)
    set_expiry = operation(lambda: lifetime.set_expiry)
    clear_session = operation(lambda: lifetime.clear_session)
    restore = operation(lambda: restore.restore)
    fork = operation(lambda: forks.fork)
    family = operation(lambda: family.family)

    # compaction
    compress = operation(lambda: compaction.compress)
    plan_compression = operation(lambda: compaction.plan_compression)
    set_summarizer = operation(lambda: compaction.set_summarizer)
    settle = operation(lambda: compaction.settle)
    on = operation(lambda: compaction.on)

    # looking back
    get_history = operation(lambda: reading.get_history)
    timeline = operation(lambda: viewing.timeline)
    fold = operation(lambda: reading.fold)
    get_events = operation(lambda: log.get_events)
    get_log = operation(lambda: log.get_log)
    get_feed = operation(lambda: log.get_feed)
    what_if = operation(lambda: what_if.what_if)
    diff = operation(lambda: what_if.diff)

    # search
    search = operation(lambda: search.search)
    find = operation(lambda: finding.find)
    embed_pending = operation(lambda: search.embed_pending)

    # export and import
    export_session = operation(lambda: transfer.export_session)
    import_session = operation(lambda: transfer.import_session)
    export_file = operation(lambda: transfer.export_file)
    import_file = operation(lambda: transfer.import_file)
    import_conversations = operation(lambda: transfer.import_conversations)

    # proofs, and what is stored beside the log
    verify = operation(lambda: log.verify)
    matches_replay = operation(lambda: log.matches_replay)
    stored_projections = operation(lambda: stored_projections.stored_projections)
    projection_builds = operation(lambda: stored_projections.projection_builds)
    rebuild_projections = operation(lambda: stored_projections.rebuild_projections)
