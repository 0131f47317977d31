"""Calls of models that one write can record: each goes on where the one before ends. Source: adapters IN-13."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ledger.formats.importers.elements.steps import hidden
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall


def groups_of(calls: Iterable[ReportedCall]) -> list[list[ReportedCall]]:
    """Return the *calls* in groups, each of which `combined` makes one call; the order in a session stays."""
    groups: list[list[ReportedCall]] = []
    newest: dict[str, tuple[list[ReportedCall], tuple[str, ...]]] = {}
    for call in calls:
        group, ids = newest.get(call.session_id, ([], ()))
        shared = min(len(ids), len(call.ids))
        if not group or ids[:shared] != call.ids[:shared]:
            group, ids = [], ()
            groups.append(group)
        group.append(call)
        newest[call.session_id] = group, max(ids, call.ids, key=len)
    return groups


def combined(group: Sequence[ReportedCall]) -> ReportedCall:
    """Return one call that shows what all of a *group* show, with the record of each."""
    whole = group[0]
    for call in group[1:]:
        instructions = whole.instructions or call.instructions
        longer = call if len(call.ids) > len(whole.ids) else whole
        whole = replace(
            longer,
            entries=(*whole.entries, *call.entries[len(whole.ids) :]),
            instructions=instructions,
            besides=(*whole.besides, whole.record, *map(hidden, call.instructions), *call.besides),
            record=call.record,
            of_agent=whole.of_agent and call.of_agent,
        )
    return whole
