"""What seed 002 measures of a memory, against R-002-9."""

import pytest

from ledger.errors import InvalidInput
from ledger.events import CompactionCompleted, to_datetime
from ledger.memory import MemoryLedger
from ledger.session.commands import ClearSession
from ledger.session.views import metrics_of, stats_of
from projections.stats import MemoryMetrics
from tests.support.driver import Driven, Scripted, raises, text_of

CONFIG = {"window": {"type": "full"}, "compactions": [{"type": "summarization", "max_tokens": 100, "model": "tiny"}]}


def session(script=None) -> Driven:
    """A session of V-002-9 after m5: instruction and prompt of 10 tokens each, a summary of 13, and then a call."""
    return Driven(CONFIG, Scripted(script or text_of(13))).add("i10 u10" + " q14" * 5).add("c1:7 r1:8")


def test_metrics_count_what_is_remembered_and_how_often_it_was_compacted() -> None:
    """R-002-9."""
    driven = session()
    (done,) = (event for event in driven.events if isinstance(event.payload, CompactionCompleted))
    expected = MemoryMetrics(
        message_count=5,
        estimated_tokens=48,
        compression_count=1,
        last_compression_at=to_datetime(done.recorded_us),
    )
    assert metrics_of(driven.state) == expected
    assert stats_of(driven.state).last_compaction_at == expected.last_compression_at


@pytest.mark.parametrize(
    ("kind", "count", "tokens"),
    [
        ("user_prompt", 1, 10),
        ("system_instruction", 1, 10),
        ("summary", 1, 13),
        ("tool_use", 1, 7),
        ("tool_call", 1, 7),
        ("tool_result", 1, 8),
        ("step_result", 0, 0),
        ("message", 1, 10),
    ],
)
def test_a_kind_filters_count_and_tokens_but_not_compactions(kind: str, count: int, tokens: int) -> None:
    """R-002-9, R-CFG-8: kinds as ``preserve`` names them."""
    metrics = metrics_of(session().state, kind)
    assert (metrics.message_count, metrics.estimated_tokens, metrics.compression_count) == (count, tokens, 1)


def test_only_completed_compactions_count_and_a_clear_forgets_them() -> None:
    """R-002-9."""
    failed = metrics_of(session(raises).state)
    assert (failed.compression_count, failed.last_compression_at) == (0, None)
    driven = session()
    driven.do(ClearSession("clear"))
    assert metrics_of(driven.state) == MemoryMetrics()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        metrics_of(session().state, "assistant")
    assert refused.value.field == "kind"


async def test_a_ledger_tells_the_metrics_of_a_session(ledger: MemoryLedger) -> None:
    """R-002-9."""
    assert await ledger.get_metrics("unknown") == MemoryMetrics()
    await ledger.add_user_message("s", "hello", tokens=4)
    await ledger.add_tool_call("s", "shell", {"command": "ls"}, tokens=6)
    assert await ledger.get_metrics("s") == MemoryMetrics(message_count=2, estimated_tokens=10)
    assert await ledger.get_metrics("s", kind="tool_use") == MemoryMetrics(message_count=1, estimated_tokens=6)
