"""Long-term memory without ``await``; a test compares every signature with `LongTermMemory`'s."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal

from ledger.records import LongTermMemory
from ledger.records.forgetting import ForgetPolicy
from ledger.records.questions import RecordSearch
from ledger.records.shown import Forgotten, LongTermRecord, RecordPage, Revision

P = ParamSpec("P")
R = TypeVar("R")


class SyncLongTermMemory:
    """`LongTermMemory`, method by method; may be used from several threads."""

    def __init__(self, portal: BlockingPortal, memory: LongTermMemory) -> None:
        self._portal = portal
        self._memory = memory

    def create(self, records: Sequence[Mapping[str, Any]], *, deduplicate: bool = True) -> None:
        """See `LongTermMemory.create`."""
        self._call(self._memory.create, records, deduplicate=deduplicate)

    def get(self, record_id: str) -> LongTermRecord:
        """See `LongTermMemory.get`."""
        return self._call(self._memory.get, record_id)

    def search(self, body: Mapping[str, Any] | RecordSearch) -> RecordPage:
        """See `LongTermMemory.search`."""
        return self._call(self._memory.search, body)

    def patch(self, record_id: str, changes: Mapping[str, Any]) -> LongTermRecord:
        """See `LongTermMemory.patch`."""
        return self._call(self._memory.patch, record_id, changes)

    def delete(self, record_ids: Sequence[str]) -> int:
        """See `LongTermMemory.delete`."""
        return self._call(self._memory.delete, record_ids)

    def forget(
        self,
        policy: Mapping[str, Any] | ForgetPolicy,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        limit: int = 1_000,
        dry_run: bool = True,
        pinned: Sequence[str] | None = None,
    ) -> Forgotten:
        """See `LongTermMemory.forget`."""
        return self._call(
            self._memory.forget,
            policy,
            namespace=namespace,
            user_id=user_id,
            session_id=session_id,
            limit=limit,
            dry_run=dry_run,
            pinned=pinned,
        )

    def compact(self, *, namespace: str | None = None, user_id: str | None = None) -> int:
        """See `LongTermMemory.compact`."""
        return self._call(self._memory.compact, namespace=namespace, user_id=user_id)

    def history(self, record_id: str) -> list[Revision]:
        """See `LongTermMemory.history`."""
        return self._call(self._memory.history, record_id)

    def restore(
        self, record_id: str, revision: int, *, namespace: str | None = None, user_id: str | None = None
    ) -> LongTermRecord:
        """See `LongTermMemory.restore`."""
        return self._call(self._memory.restore, record_id, revision, namespace=namespace, user_id=user_id)

    def embed_pending(self) -> int:
        """See `LongTermMemory.embed_pending`."""
        return self._call(self._memory.embed_pending)

    def _call(self, method: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.call(partial(method, *args, **kwargs))
