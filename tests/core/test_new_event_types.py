"""A new type of event is decided on wherever the code treats what it does not name by a default."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ledger.events import EVENT_TYPES
from projections import working_memory

ROOT: Final = Path(__file__).parents[2]
#: Types for which somebody looked at each of `places`. Look at them, then add the new one.
LOOKED_AT: Final = frozenset(
    [
        "compaction.completed",
        "compaction.continued",
        "compaction.discarded",
        "compaction.failed",
        "compaction.requested",
        "config.changed",
        "context.rendered",
        "context.set",
        "data.changed",
        "entries.extracted",
        "entries.indexed",
        "entries.returned",
        "entry.added",
        "entry.edited",
        "entry.removed",
        "expiry.set",
        "kept.removed",
        "kept.set",
        "memory.added",
        "memory.edited",
        "memory.promoted",
        "memory.removed",
        "rebuild.answered",
        "rebuild.completed",
        "rebuild.failed",
        "rebuild.requested",
        "record.created",
        "record.deleted",
        "record.edited",
        "record.merged",
        "record.restored",
        "session.cleared",
        "session.opened",
        "session.restored",
        "summary_view.created",
        "summary_view.deleted",
        "summary_view.partition_summarized",
        "summary_view.run_completed",
        "summary_view.run_failed",
        "summary_view.run_requested",
        "summary_view.run_started",
        "token.created",
        "token.revoked",
    ]
)
#: What a client's request writes to a session: it postpones the expiry.
FROM_CLIENTS: Final = frozenset(
    [
        "config.changed",
        "context.set",
        "data.changed",
        "entry.added",
        "entry.edited",
        "entry.removed",
        "expiry.set",
        "kept.removed",
        "kept.set",
        "memory.added",
        "memory.edited",
        "memory.removed",
        "rebuild.requested",
        "session.cleared",
        "session.opened",
        "session.restored",
    ]
)
#: Of streams that are no sessions.
ELSEWHERE: Final = ("record.", "summary_view.", "token.")


CLASSES: Final = frozenset(cls.__name__ for cls in EVENT_TYPES.values())


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in CLASSES}


def is_default(case: ast.match_case) -> bool:
    pattern = case.pattern
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None


def places() -> Iterator[str]:
    """Yield where events that are not named have a default, or are left out of a list of types."""
    for path in sorted((*(ROOT / "ledger").rglob("*.py"), *(ROOT / "projections").rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Match):
                *named, last = node.cases
                found = set().union(*(names_in(case.pattern) for case in named))
                if found and is_default(last) and "assert_never" not in ast.dump(last):
                    yield f"{path.relative_to(ROOT)}:{last.pattern.lineno}"
            elif isinstance(node, ast.Tuple | ast.Set) and len(names_in(node)) > 2:
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def unseen() -> str:
    """Return what to do about types that nobody looked at; empty if there are none."""
    new = sorted(EVENT_TYPES.keys() - LOOKED_AT)
    return f"decide about {', '.join(new)} at {', '.join(places())}; then add it to LOOKED_AT" if new else ""


def test_each_type_was_looked_at_where_a_default_takes_what_is_not_named() -> None:
    assert not unseen()
    assert EVENT_TYPES.keys() >= LOOKED_AT


def test_each_event_of_a_session_comes_from_a_client_or_does_not() -> None:
    """http W-20."""
    others = {cls.type for cls in working_memory.NOT_FROM_CLIENTS}
    of_sessions = {name for name in EVENT_TYPES if not name.startswith(ELSEWHERE)}
    assert not others & FROM_CLIENTS
    assert of_sessions == others | FROM_CLIENTS, "say if it postpones the expiry: NOT_FROM_CLIENTS"


def test_a_type_that_nobody_looked_at_is_named_with_each_place__control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setitem(EVENT_TYPES, "session.of_no_release", EVENT_TYPES["data.changed"])
    found = unseen()
    assert "session.of_no_release" in found
    for place in ("projections/working_memory.py", "projections/log/backlog.py", "ledger/session/evolve.py"):
        assert f"{place}:" in found
    with pytest.raises(AssertionError, match="postpones"):
        test_each_event_of_a_session_comes_from_a_client_or_does_not()
