"""Open the library: one namespace, one actor, and its own services."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ledger.application.handle import NamespaceHandle
from ledger.application.services import open_services
from ledger.errors import InvalidInput
from ledger.events.strict_json import check_flag
from ledger.llm.summarizers import SummarizerChoice
from ledger.ports import Store
from ledger.ports.language_models import Embedder
from ledger.settings import Secret, load_settings
from projections.memory_config.config import MemoryConfig

L = TypeVar("L")


class Closing:
    """A task that closes *opened* when it is asked to, or when its event loop cancels its tasks at the end."""

    def __init__(self, opened: AbstractAsyncContextManager[object]) -> None:
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(_close(opened, self._asked))

    async def now(self) -> None:
        """Close, and wait for it."""
        self._asked.set()
        await asyncio.shield(self._task)

    def begin(self) -> bool:
        """Begin to close, in any thread; return False if that was asked for before."""
        if self._asked.is_set():
            return False
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._asked.set)
        return True


async def _close(opened: AbstractAsyncContextManager[object], asked: asyncio.Event) -> None:
    try:
        await asked.wait()
    finally:
        await opened.__aexit__(None, None, None)


@asynccontextmanager
async def open_ledger(
    facade: Callable[[NamespaceHandle], L],
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
) -> AsyncIterator[L]:
    """Open services with the arguments of `MemoryLedger.open`, and yield the *facade* over them."""
    # The list is written twice, compared by a test: the facade shows it without loading what opens a ledger, and here
    # mypy checks that each argument reaches the services.
    if store is not None and (isinstance(store, type) or not isinstance(store, Store)):
        raise InvalidInput("wrong_type", "must be a store, such as InMemoryStore()", field="store")
    if embedder is not None and (isinstance(embedder, type) or not isinstance(embedder, Embedder)):
        raise InvalidInput("wrong_type", "must be an embedder, such as OpenAIEmbedder(model=…)", field="embedder")
    check_flag(group_commit, field="group_commit")
    check_flag(allow_unsafe, field="allow_unsafe")
    if password is not None and not (isinstance(password, str) or callable(password)):
        raise InvalidInput("wrong_type", "must be text, or a function that returns it", field="password")
    settings = load_settings(database_url=database_url, namespace=namespace, data_dir=data_dir, actor=actor)
    async with open_services(
        settings,
        store=store,
        config=config,
        summarizer=summarizer,
        embedder=embedder,
        group_commit=group_commit,
        allow_unsafe=allow_unsafe,
        password=password,
    ) as services:
        yield facade(NamespaceHandle(services, settings.namespace, settings.actor))
