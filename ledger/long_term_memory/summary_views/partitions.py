"""The partitions of a summary view: the records of a namespace, grouped by fields. Source: http W-37."""

import heapq
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from ledger.events import SummaryViewDefinition
from ledger.long_term_memory import LongTermMemory
from ledger.long_term_memory.summary_views.definitions import conditions_of, group_conditions
from ledger.ports.record_store import StoredRecord
from projections.records.summary_views import group_key

#: Partitions of a view: each run may call a model once for each.
MOST_PARTITIONS: Final = 1_000
#: Records of a partition that a model is shown.
MOST_SHOWN: Final = 200

_Order: TypeAlias = tuple[datetime, datetime, str, str, str]


class TooManyPartitions(Exception):
    """A view has more than `MOST_PARTITIONS` partitions."""

    def __init__(self) -> None:
        super().__init__(
            f"the view has more than {MOST_PARTITIONS:,} partitions; group by fewer fields, or add filters"
        )


class Members(msgspec.Struct):
    """The records of one partition: the number of all, and the first `MOST_SHOWN`, oldest first."""

    group: dict[str, str]
    count: int = 0
    shown: list[StoredRecord] = []

    def add(self, records: Sequence[StoredRecord]) -> None:
        """Add a page of records."""
        self.count += len(records)
        self.shown = heapq.nsmallest(MOST_SHOWN, [*self.shown, *records], key=_order)


async def find_partitions(
    memory: LongTermMemory,
    namespace: str,
    definition: SummaryViewDefinition,
    *,
    now: datetime,
    group: Mapping[str, str] | None = None,
) -> dict[str, Members]:
    """Return the partitions of a view that have records, by `group_key`; with *group* only that one.

    *memory* is that of the view's namespace. A record that lacks a field of the group belongs to no partition.

    Raises:
        TooManyPartitions: there are more than `MOST_PARTITIONS`.
        InvalidInput: ``bad_filter``.
    """
    found: dict[str, Members] = {}
    conditions = conditions_of(definition, now=now)
    if group is not None:
        conditions += group_conditions(group)
        if group.get("namespace", namespace) != namespace:
            return found
    async for page in memory.pages(conditions):
        grouped: dict[str, tuple[dict[str, str], list[StoredRecord]]] = {}
        for record in page:
            own = _group_of(record, namespace, definition.group_by)
            if own is not None:
                grouped.setdefault(group_key(own), (own, []))[1].append(record)
        for key, (own, records) in grouped.items():
            found.setdefault(key, Members(own)).add(records)
        if len(found) > MOST_PARTITIONS:
            raise TooManyPartitions
    return found


def _group_of(record: StoredRecord, namespace: str, fields: Sequence[str]) -> dict[str, str] | None:
    values = {
        "user_id": record.user_id,
        "namespace": namespace,
        "session_id": record.record.fields.session_id,
        "memory_type": record.record.fields.memory_type,
    }
    group = {field: value for field in fields if (value := values[field])}
    return group if len(group) == len(fields) else None


def _order(stored: StoredRecord) -> _Order:
    record = stored.record
    created = record.created_at
    return (
        record.fields.event_date or created,
        created,
        record.fields.session_id or "",
        record.fields.extraction_strategy,
        record.record_id,
    )
