"""Which records a policy forgets. Pure. Source: http W-28."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from ledger.errors import InvalidInput
from ledger.long_term_memory.record_drafts import check_record_id
from ledger.long_term_memory.search_queries import count_of, number_of
from ledger.ports.record_store import StoredRecord
from projections.records.recency import DAY_S, Recency
from projections.records.record_filters import MEMORY_TYPES

MOST_PINNED: Final = 10_000


class ForgetPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What to forget: records that are too old or unread for too long, in days; of the rest, all but *budget*.

    With *memory_type_allowlist* only records of these types are forgotten.
    """

    max_age_days: float | None = None
    max_inactive_days: float | None = None
    budget: int | None = None
    memory_type_allowlist: frozenset[str] | None = None
    hard_age_multiplier: float = 12.0


def forget_policy(body: object) -> ForgetPolicy:
    """Return the policy that *body*, a mapping, describes; unknown fields are ignored, null is absent.

    Raises:
        InvalidInput: *body* is not a mapping, or a field is wrong.
    """
    if not isinstance(body, Mapping):
        raise InvalidInput("missing_field" if body is None else "wrong_type", "must be an object", field="policy")
    given: dict[str, Any] = {}
    for name in ("max_age_days", "max_inactive_days", "hard_age_multiplier"):
        if body.get(name) is not None:
            given[name] = number_of(body[name], field=f"policy.{name}", least=0.0)
    if body.get("budget") is not None:
        given["budget"] = count_of(body["budget"], field="policy.budget", least=0)
    allowed = body.get("memory_type_allowlist")
    if allowed is not None:
        if not isinstance(allowed, list | tuple) or not set(map(str, allowed)) <= set(MEMORY_TYPES):
            message = f"must be a list of {', '.join(MEMORY_TYPES)}"
            raise InvalidInput("bad_memory_type", message, field="policy.memory_type_allowlist")
        given["memory_type_allowlist"] = frozenset(map(str, allowed))
    return ForgetPolicy(**given)


def pinned_ids(body: object) -> frozenset[str]:
    """Return the ids of records that the caller excludes from forgetting.

    Raises:
        InvalidInput: *body* is not a list of ids.
    """
    if body is None:
        return frozenset()
    if not isinstance(body, list | tuple | set | frozenset) or len(body) > MOST_PINNED:
        raise InvalidInput("wrong_type", f"must be a list of at most {MOST_PINNED} ids", field="pinned_ids")
    return frozenset(check_record_id(value, field="pinned_ids") for value in body)


def forgotten(
    scanned: Sequence[StoredRecord], policy: ForgetPolicy, *, now: datetime, pinned: Collection[str] = ()
) -> list[StoredRecord]:
    """Return the records of *scanned* to forget, in order. Pinned ones stay, and do not count against the budget."""
    allowed = policy.memory_type_allowlist
    candidates = [
        record
        for record in scanned
        if not record.record.fields.pinned
        and record.record.record_id not in pinned
        and (allowed is None or record.record.fields.memory_type in allowed)
    ]
    too_old = {record.key for record in candidates if _too_old(record, policy, now)}
    if policy.budget is not None:
        rest = [record for record in candidates if record.key not in too_old]
        freshest = sorted(rest, key=lambda record: -_recency(record, now))
        too_old |= {record.key for record in freshest[policy.budget :]}
    return [record for record in candidates if record.key in too_old]


def _too_old(record: StoredRecord, policy: ForgetPolicy, now: datetime) -> bool:
    age = (now - record.record.created_at).total_seconds() / DAY_S
    inactive = (now - record.last_accessed).total_seconds() / DAY_S
    match policy.max_age_days, policy.max_inactive_days:
        case None, None:
            return False
        case None, float(most):
            return inactive > most
        case float(most), None:
            return age > most
        case float(most_age), float(most_inactive):
            return age > most_age * policy.hard_age_multiplier or (age > most_age and inactive > most_inactive)
        case _:
            raise AssertionError("days are floats")


def _recency(record: StoredRecord, now: datetime) -> float:
    return Recency().of(last_accessed=record.last_accessed, created_at=record.record.created_at, now=now)
