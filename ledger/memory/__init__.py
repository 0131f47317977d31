"""The memory of AI agents: conversations as events, kept for ever, shown within a budget.

    async with MemoryLedger.open() as ledger:
        await ledger.add_user_message("session-1", "How do I add auth?")
        prompt = await ledger.get_context_for_llm("session-1")

Every method takes the session id first, and the user id, if there is one, by name.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ledger.embedders import configured_embedder
from ledger.memory.adding import Adding
from ledger.memory.auditing import Auditing
from ledger.memory.carrying import Carrying
from ledger.memory.forking import Forking
from ledger.memory.keeping import Keeping
from ledger.memory.managing import Managing
from ledger.memory.searching import Searching
from ledger.memory.trying import Trying
from ledger.opening import open_store
from ledger.ports import Store
from ledger.ports.search import Embedder
from ledger.prices import load_prices
from ledger.settings import load_settings
from ledger.summarizers import SummarizerChoice, configured_summarizer
from projections.config import MemoryConfig

__all__ = ["MemoryLedger"]


class MemoryLedger(Adding, Keeping, Managing, Forking, Trying, Auditing, Searching, Carrying):
    """Sessions of one namespace; made by `open`, which also closes it.

    Reading methods take ``version`` or ``at`` (a moment) to look back: they answer as they did then.
    """

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        data_dir: Path | str | None = None,
        actor: str | None = None,
        config: Mapping[str, Any] | MemoryConfig | None = None,
        summarizer: SummarizerChoice = None,
        embedder: Embedder | None = None,
        store: Store | None = None,
        group_commit: bool = True,
        allow_unsafe: bool = False,
    ) -> "AsyncIterator[MemoryLedger]":
        """Open the ledger, on the embedded PostgreSQL unless *database_url* or *store* say otherwise.

        What is not given comes from the environment (see `settings`). *config* is the memory config of
        sessions that begin here, *summarizer* writes the summaries of sessions without their own, *embedder* gives
        search an idea of meaning.

        Raises:
            InvalidInput: an argument or a setting is wrong.
            DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
        """
        settings = load_settings(database_url=database_url, namespace=namespace, data_dir=data_dir, actor=actor)
        model = configured_summarizer(settings) if summarizer is None else None
        vectors = configured_embedder(settings) if embedder is None else None
        own = store or await open_store(settings, group_commit=group_commit, allow_unsafe=allow_unsafe)
        try:
            ledger = cls(
                own,
                namespace=settings.namespace,
                actor=settings.actor,
                config=config,
                compaction_lease_s=settings.compaction_lease_s,
                summarizer_timeout_s=settings.summarizer_timeout_s,
                prices=load_prices(settings.prices),
                search_language=settings.search_language,
                embedder=embedder or vectors,
            )
            ledger.set_summarizer(None, model if summarizer is None else summarizer)
            try:
                yield ledger
            finally:
                await ledger.close()
        finally:
            for client in (model, vectors):
                if client is not None:
                    await client.close()
            if store is None:
                await own.close()
