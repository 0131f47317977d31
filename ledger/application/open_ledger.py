"""Open the library: one namespace, one actor, and its own services."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from ledger.application.handle import NamespaceHandle
from ledger.application.services import open_services
from ledger.errors import InvalidInput
from ledger.ports import Store
from ledger.ports.models import Embedder
from ledger.settings import load_settings
from ledger.strict_json import check_flag
from ledger.summarizers import SummarizerChoice
from projections.config import MemoryConfig

L = TypeVar("L")


@asynccontextmanager
async def open_ledger(
    facade: Callable[[NamespaceHandle], L],
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
) -> AsyncIterator[L]:
    """Open services with the arguments of `MemoryLedger.open`, and yield the *facade* over them."""
    if store is not None and (isinstance(store, type) or not isinstance(store, Store)):
        raise InvalidInput("wrong_type", "must be a store, such as InMemoryStore()", field="store")
    if embedder is not None and (isinstance(embedder, type) or not isinstance(embedder, Embedder)):
        raise InvalidInput("wrong_type", "must be an embedder, such as OpenAIEmbedder(model=…)", field="embedder")
    check_flag(group_commit, field="group_commit")
    check_flag(allow_unsafe, field="allow_unsafe")
    settings = load_settings(database_url=database_url, namespace=namespace, data_dir=data_dir, actor=actor)
    async with open_services(
        settings,
        store=store,
        config=config,
        summarizer=summarizer,
        embedder=embedder,
        group_commit=group_commit,
        allow_unsafe=allow_unsafe,
    ) as services:
        yield facade(services.handle(settings.namespace, settings.actor))
