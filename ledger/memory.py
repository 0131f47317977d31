"""The memory of AI agents: conversations as events, stored for ever, shown within a budget.

    async with MemoryLedger.open() as ledger:
        await ledger.add_user_message("session-1", "How do I add auth?")
        prompt = await ledger.get_context_for_llm("session-1")

Every method takes the session id first, and the user id, if there is one, by name.
"""

from __future__ import annotations

import warnings

from ledger.application.facade.operations import lazy_package, operation, with_arguments_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Any

    from ledger.application.handle import NamespaceHandle
    from ledger.llm.summarizers import SummarizerChoice
    from ledger.long_term_memory import LongTermMemory
    from ledger.ports import Store
    from ledger.ports.language_models import Embedder
    from ledger.settings import Secret
    from projections.memory_config.config import MemoryConfig

if TYPE_CHECKING:  # so that types are known; each module is loaded when one of its functions is first used
    import ledger.application.auditing.past_summaries
    import ledger.application.auditing.provenance
    import ledger.application.auditing.shown_calls
    import ledger.application.auditing.stored_log
    import ledger.application.compacting.compact
    import ledger.application.forking.fork
    import ledger.application.forking.fork_family
    import ledger.application.indexing.projection_builds
    import ledger.application.open_ledger
    import ledger.application.reading.contexts
    import ledger.application.reading.entry_pages
    import ledger.application.reading.key_value_reads
    import ledger.application.reading.session_reads
    import ledger.application.reading.timeline_pages
    import ledger.application.reading.transcript
    import ledger.application.reading.window_views
    import ledger.application.replaying.replay_session
    import ledger.application.searching.exact_text
    import ledger.application.searching.session_search
    import ledger.application.transferring.transfer_sessions
    import ledger.application.writing.configuration
    import ledger.application.writing.entry_changes
    import ledger.application.writing.entry_writes
    import ledger.application.writing.key_values
    import ledger.application.writing.lifetime
    import ledger.application.writing.provider_messages
    import ledger.application.writing.restore
    import ledger.application.writing.session_object
    import ledger.application.writing.session_writes
    import ledger.application.writing.tail
else:
    ledger = lazy_package("ledger")

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """The sessions of one namespace; `open` creates it, and closes it at the end of the ``async with`` block.

    Without a block, `connect` creates it and `close` closes it. One that was never closed closes itself when nothing
    refers to it any more or its event loop ends, with a `ResourceWarning`.

    Methods that read a state, context or statistics take ``version`` or ``at`` (a time): they answer as they did then.
    """

    def __init__(self, handle: NamespaceHandle) -> None:
        self._handle = handle
        self._closing: ledger.application.open_ledger.Closing | None = None  # of `connect`

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
        return ledger.application.open_ledger.open_ledger(
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
    @with_arguments_of(open)
    async def connect(cls, *args: Any, **kwargs: Any) -> MemoryLedger:
        """Open the ledger without a block, for a notebook, a server or a worker; `close` closes it.

        The arguments and errors are those of `open`.
        """
        opening = cls.open(*args, **kwargs)
        opened = await opening.__aenter__()
        opened._closing = ledger.application.open_ledger.Closing(opening)  # noqa: SLF001 - its own
        return opened

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
    add_user_message = operation(lambda: ledger.application.writing.entry_writes.add_user_message)
    add_assistant_message = operation(lambda: ledger.application.writing.entry_writes.add_assistant_message)
    add_tool_call = operation(lambda: ledger.application.writing.entry_writes.add_tool_call)
    add_tool_result = operation(lambda: ledger.application.writing.entry_writes.add_tool_result)
    add_context = operation(lambda: ledger.application.writing.entry_writes.add_context)
    add_entries = operation(lambda: ledger.application.writing.entry_writes.add_entries)
    add_messages = operation(lambda: ledger.application.writing.provider_messages.add_messages)
    write_sessions = operation(lambda: ledger.application.writing.session_writes.write_sessions)
    edit_entry = operation(lambda: ledger.application.writing.entry_changes.edit_entry)
    remove_entry = operation(lambda: ledger.application.writing.entry_changes.remove_entry)
    remove_entries = operation(lambda: ledger.application.writing.tail.remove_entries)
    pop_entry = operation(lambda: ledger.application.writing.tail.pop_entry)
    replace_tail = operation(lambda: ledger.application.writing.tail.replace_tail)
    restore_entry = operation(lambda: ledger.application.writing.restore.restore_entry)
    get_entry = operation(lambda: ledger.application.auditing.stored_log.get_entry)
    list_entries = operation(lambda: ledger.application.reading.entry_pages.list_entries)
    get_active_entries = operation(lambda: ledger.application.reading.session_reads.get_active_entries)
    get_transcript = operation(lambda: ledger.application.reading.transcript.get_transcript)

    # what the model is shown
    get_context = operation(lambda: ledger.application.reading.contexts.get_context)
    get_context_for_llm = operation(lambda: ledger.application.reading.contexts.get_context_for_llm)
    get_attachments = operation(lambda: ledger.application.writing.provider_messages.get_attachments)
    get_window = operation(lambda: ledger.application.reading.window_views.get_window)
    model_calls = operation(lambda: ledger.application.auditing.shown_calls.model_calls)
    seen = operation(lambda: ledger.application.auditing.provenance.seen)
    derived = operation(lambda: ledger.application.auditing.provenance.derived)

    # sessions
    list_sessions = operation(lambda: ledger.application.reading.session_reads.list_sessions)
    get_state = operation(lambda: ledger.application.reading.session_reads.get_state)
    get_stats = operation(lambda: ledger.application.reading.session_reads.get_stats)
    get_metrics = operation(lambda: ledger.application.reading.session_reads.get_metrics)
    get_summaries = operation(lambda: ledger.application.reading.session_reads.get_summaries)
    list_summaries = operation(lambda: ledger.application.auditing.past_summaries.list_summaries)
    get_summary = operation(lambda: ledger.application.auditing.past_summaries.get_summary)
    get_data = operation(lambda: ledger.application.writing.session_object.get_data)
    patch_data = operation(lambda: ledger.application.writing.session_object.patch_data)
    set_data = operation(lambda: ledger.application.writing.session_object.set_data)
    keep = operation(lambda: ledger.application.writing.key_values.keep)
    get_kept = operation(lambda: ledger.application.reading.key_value_reads.get_kept)
    get_kept_values = operation(lambda: ledger.application.reading.key_value_reads.get_kept_values)
    list_kept = operation(lambda: ledger.application.reading.key_value_reads.list_kept)
    update_config = operation(lambda: ledger.application.writing.configuration.update_config)
    get_rebuild = operation(lambda: ledger.application.writing.configuration.get_rebuild)
    set_expiry = operation(lambda: ledger.application.writing.lifetime.set_expiry)
    clear_session = operation(lambda: ledger.application.writing.lifetime.clear_session)
    restore = operation(lambda: ledger.application.writing.restore.restore)
    fork = operation(lambda: ledger.application.forking.fork.fork)
    family = operation(lambda: ledger.application.forking.fork_family.family)

    # compaction
    compress = operation(lambda: ledger.application.compacting.compact.compress)
    plan_compression = operation(lambda: ledger.application.compacting.compact.plan_compression)
    set_summarizer = operation(lambda: ledger.application.compacting.compact.set_summarizer)
    settle = operation(lambda: ledger.application.compacting.compact.settle)
    on = operation(lambda: ledger.application.compacting.compact.on)

    # looking back
    get_history = operation(lambda: ledger.application.reading.session_reads.get_history)
    timeline = operation(lambda: ledger.application.reading.timeline_pages.timeline)
    fold = operation(lambda: ledger.application.reading.session_reads.fold)
    get_events = operation(lambda: ledger.application.auditing.stored_log.get_events)
    get_log = operation(lambda: ledger.application.auditing.stored_log.get_log)
    get_feed = operation(lambda: ledger.application.auditing.stored_log.get_feed)
    what_if = operation(lambda: ledger.application.replaying.replay_session.what_if)
    diff = operation(lambda: ledger.application.replaying.replay_session.diff)

    # search
    search = operation(lambda: ledger.application.searching.session_search.search)
    find = operation(lambda: ledger.application.searching.exact_text.find)
    embed_pending = operation(lambda: ledger.application.searching.session_search.embed_pending)

    # export and import
    export_session = operation(lambda: ledger.application.transferring.transfer_sessions.export_session)
    import_session = operation(lambda: ledger.application.transferring.transfer_sessions.import_session)
    export_file = operation(lambda: ledger.application.transferring.transfer_sessions.export_file)
    import_file = operation(lambda: ledger.application.transferring.transfer_sessions.import_file)
    import_conversations = operation(lambda: ledger.application.transferring.transfer_sessions.import_conversations)

    # proofs, and what is stored beside the log
    verify = operation(lambda: ledger.application.auditing.stored_log.verify)
    matches_replay = operation(lambda: ledger.application.auditing.stored_log.matches_replay)
    stored_projections = operation(lambda: ledger.application.indexing.projection_builds.stored_projections)
    projection_builds = operation(lambda: ledger.application.indexing.projection_builds.projection_builds)
    rebuild_projections = operation(lambda: ledger.application.indexing.projection_builds.rebuild_projections)
