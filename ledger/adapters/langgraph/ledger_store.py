"""A store of LangGraph that keeps its items as records of long-term memory. Source: adapters LG-15."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp

from ledger.adapters.langgraph.item_reads import get, namespaces, search
from ledger.adapters.langgraph.store_items import USER, item_id, paths_of, records_of, text_id, texts_of
from ledger.adapters.opened_ledger import OpenedInBlocks, OpenedLedger, repeated
from ledger.adapters.sdk_sessions import past_of
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.settings import Secret

_WHAT: Final = "the store"


class LedgerStore(OpenedInBlocks, BaseStore):
    """Long-term memory of LangGraph in the ledger: each item is a record, with its past values in the log.

        async with LedgerStore.open() as store:
            graph = builder.compile(store=store)

    A search with a query looks at the whole value of each item, or at the parts that *index* names:
    ``index={"fields": ["title", "parts[*].text"]}``, and ``index`` of `put` for one item. An item has no time to live:
    ``ttl`` of `put` is refused.
    """

    supports_ttl = False

    def __init__(self, ledger: MemoryLedger | OpenedLedger, *, index: Mapping[str, Any] | None = None) -> None:
        """Use an open *ledger*.

        Raises:
            InvalidInput: *index* has more than ``fields``, or these are no list of paths.
        """
        self._paths = paths_of(index)
        self._when: dict[str, Any] = {}
        self._opened = ledger if isinstance(ledger, OpenedLedger) else OpenedLedger(ledger=ledger, what=_WHAT)

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        index: Mapping[str, Any] | None = None,
        data_dir: Path | str | None = None,
        password: Secret | None = None,
        actor: str | None = None,
        embedder: Any = None,
        store: Any = None,
    ) -> Self:
        """Return a store that opens the ledger at the beginning of a ``with`` or ``async with`` block.

        Without *database_url* the environment chooses the database, or it is the embedded PostgreSQL. *password* is
        that of `MemoryLedger.open`, which may be a function. The *embedder* embeds what is searched;
        without one, searches are by words.

        Raises:
            InvalidInput: *index* has more than ``fields``, or these are no list of paths.
        """
        names = {"data_dir": data_dir, "password": password, "actor": actor, "embedder": embedder, "store": store}
        given = {name: value for name, value in names.items() if value}
        return cls(OpenedLedger(database_url, namespace, what=_WHAT, **given), index=index)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `abatch` does, without an event loop."""
        return self._opened.call(repeated(partial(self._batch, ops=list(ops))))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Read, then put and delete: all changes are one write.

        Raises:
            InvalidInput: a value is not JSON or too large, an option is not supported, or the store is of the past;
                nothing is written.
        """
        return await self._opened.run_once(partial(self._batch, ops=list(ops)))  # equal changes again change nothing

    async def aversion(self) -> int:
        """Return the version of the store: how often its records were changed so far."""
        return await self._opened.run(_version)

    def version(self) -> int:
        """Do what `aversion` does, without an event loop."""
        return self._opened.call(_version)

    def at(self, *, version: int | None = None, at: datetime | str | None = None) -> Self:
        """Return the store as it was at a version or at a moment; it can only be read, and a query is by words.

        Reading an item costs what is stored about it; a search looks at every change up to then. Close it as the store.

        Raises:
            InvalidInput: not one of them was given.
        """
        when = past_of(version, at)
        past = self.__class__.__new__(self.__class__)
        past.__dict__.update(self.__dict__)
        past._opened = self._opened.again()  # noqa: SLF001 - its own
        past._when = {**when}  # noqa: SLF001 - its own
        return past

    async def _batch(self, ledger: MemoryLedger, ops: Sequence[Op]) -> list[Result]:
        records = ledger.long_term.past(USER, **self._when) if self._when else ledger.long_term
        results: list[Result] = []
        changes: dict[str, PutOp] = {}
        for op in ops:
            found: Result = None
            match op:
                case GetOp():
                    found = await get(records, op)
                case SearchOp():
                    found = await search(records, op)
                case ListNamespacesOp():
                    found = await namespaces(records, op)
                case PutOp() if self._when:
                    raise InvalidInput("read_only", "is of the past, which can only be read", field="store")
                case PutOp():
                    changes[item_id(op.namespace, op.key)] = op
                case _:
                    raise InvalidInput("bad_operation", f"{type(op).__name__} is not an operation", field="ops")
            results.append(found)
        if changes:
            await _write(ledger, changes, self._paths)
        return results


async def _write(ledger: MemoryLedger, changes: Mapping[str, PutOp], paths: Sequence[str]) -> None:
    """Put and delete items, and the records of what is searched of them, in one write."""
    records = [record for op in changes.values() if op.value is not None for record in records_of(op, paths)]
    before = await ledger.long_term.get_many(list(changes), counts_reads=False)
    known = [*changes, *(text_id(each.record_id, at) for each in before for at in range(texts_of(each)))]
    put = {record["id"] for record in records}
    await ledger.long_term.create(records, deduplicate=False, delete=[each for each in known if each not in put])


async def _version(ledger: MemoryLedger) -> int:
    return await ledger.long_term.version(USER)
