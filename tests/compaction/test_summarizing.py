"""The checks of a summarizer's answer, and the summary without a model, against strategies §5."""

import asyncio

import pytest
from msgspec.structs import replace

from ledger.errors import SummarizerFailed
from ledger.events.limits import CONTENT_BYTES
from ledger.llm.compaction.summarizing import execute
from ledger.llm.summarizers.extractive import Extractive
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.llm.summarizers.overview import overview_of
from ledger.llm.summarizers.usable import usable
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import SummaryText
from ledger.session.views import plan_manual
from tests.support.driver import Driven, Scripted, SetClock
from tests.support.specification import given

V_SUM_1 = """\
[Previous conversation summary]
2 user messages
First: "Help me debug this API"
Last: "Thanks"
Tools used: shell, read_file
1 error encountered"""


def conversation(*items: tuple[str, dict]):
    session = given()
    for item, fields in items:
        session.add(item, **fields)
    return tuple(session.state.window.entries)


def described(entries) -> str:
    return "\n".join(overview_of(entries).lines)


def test_the_overview_tells_first_last_tools_and_errors__V_SUM_1() -> None:
    """R-SUM-10."""
    entries = conversation(
        ("u", {"content": "Help me debug this API"}),
        ("c1", {"tool_name": "shell"}),
        ("r1", {"tool_name": "shell", "content": "error: x"}),
        ("c2", {"tool_name": "read_file"}),
        ("c3", {"tool_name": "shell"}),
        ("u", {"content": "Thanks"}),
    )
    assert described(entries) == V_SUM_1


def test_without_user_or_tool_entries_two_lines_are_left__V_SUM_2() -> None:
    assert described(conversation(("a", {}), ("x", {}))) == "[Previous conversation summary]\n0 user messages"


def test_one_user_message_is_singular_and_has_no_last_message() -> None:
    """R-SUM-10."""
    assert described(conversation(("u", {"content": "Hi"}))).splitlines()[1:] == ["1 user message", 'First: "Hi"']


@pytest.mark.parametrize(
    ("content", "quoted"),
    [
        ("a \n\t b", "a b"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 100 + "..."),
        ("日" * 101, "日" * 100 + "..."),
        ('say "hi"', 'say "hi"'),
    ],
)
def test_quotes_are_one_line_of_at_most_100_characters(content: str, quoted: str) -> None:
    """R-SUM-10."""
    assert described(conversation(("u", {"content": content}))).splitlines()[2] == f'First: "{quoted}"'


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"content": "Error: no such file"}, 1),
        ({"content": "  Traceback (most recent call last)"}, 1),
        ({"content": "EXCEPTION in thread"}, 1),
        ({"content": "errors: 0"}, 0),
        ({"content": "no error"}, 0),
        ({"content": "error", "tool_status": "ok"}, 0),
        ({"content": "fine", "tool_status": "error"}, 1),
    ],
)
def test_an_error_is_recognized_by_its_status_or_its_first_word(fields: dict, errors: int) -> None:
    """R-SUM-10."""
    lines = described(conversation(("c1", {}), ("r1", fields))).splitlines()
    assert ("1 error encountered" in lines) is (errors == 1)


def test_errors_are_plural_and_counted_only_in_results() -> None:
    """R-SUM-10."""
    failed = {"tool_status": "error"}
    assert described(conversation(("r1", failed), ("r2", failed))).endswith("2 errors encountered")
    assert "error" not in described(conversation(("a", {"content": "Error: I was wrong"})))


def test_a_folded_summary_is_read_again_and_not_repeated() -> None:
    """R-SUM-10, R-SUM-11."""
    settings = {"max_entries": 1, "recent_window": 0, "min_entries_to_compress": 1, "max_summary_tokens": 0}
    session = Driven(settings, Extractive()).add("u100 a100 u100 a100")
    first, second = session.completed
    assert first.text.splitlines() == [
        "[Previous conversation summary]",
        "1 user message",
        'First: "u100 1"',
        "[3] Assistant: a100 2",
    ]
    assert second.text.splitlines() == [
        "[Previous conversation summary]",
        "2 user messages",
        'First: "u100 1"',
        'Last: "u100 3"',
        "[3] Assistant: a100 2",
        "[6] User: u100 3",
        "[7] Assistant: a100 4",
    ]
    assert (first.method, first.model, first.outputs) == ("heuristic", None, ())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param("<think>a</think> x", "x", id="V-SUM-4-thought"),
        ("  x \n", "x"),
        ("<think>a</think>x<think>b</think>y", "xy"),
        ("x <think>never closed", "x"),
        ("<think>a\nb</think>\n\nx", "x"),
        ("a < think > b", "a < think > b"),
        ("I'm sure of it: sorry is not said.", "I'm sure of it: sorry is not said."),
    ],
)
def test_thoughts_are_removed_then_blanks_around(answer: str, text: str) -> None:
    """R-SUM-5."""
    assert usable(answer) == text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param("<think>a", "empty", id="V-SUM-4-unclosed"),
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>a</think> ", "empty"),
        ("x\0", "invalid_output"),
        ("\ud800", "invalid_output"),
        ("x" * (CONTENT_BYTES + 1), "invalid_output"),
        ("日" * (CONTENT_BYTES // 3 + 1), "invalid_output"),
        ("x" * (2 * CONTENT_BYTES + 1), "invalid_output"),
        ("I cannot help with that.", "invalid_output"),
        ("As an AI language model, I", "invalid_output"),
        ("No prior history to summarise.", "invalid_output"),
    ],
)
def test_an_answer_without_usable_text_is_refused(answer: str, reason: str) -> None:
    """R-CMP-6, trust M-3, I-53."""
    with pytest.raises(SummarizerFailed) as refused:
        usable(answer)
    assert refused.value.reason == reason


def test_an_answer_as_long_as_an_entry_may_be_is_accepted() -> None:
    assert len(usable("x" * CONTENT_BYTES)) == CONTENT_BYTES


class Hanging:
    method = "llm"
    model = None

    async def summarize(self, request) -> SummaryText:
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_summarizer_that_does_not_answer_in_time_fails() -> None:
    """R-SUM-1, trust M-1."""
    session = Driven({"recent_window": 0, "auto_compress": False}).append("u a")
    job = session.request(plan_manual(session.state, None, force=True))
    with pytest.raises(SummarizerFailed) as failed:
        await execute(
            job.asked,
            job.begin(),
            Hanging(),
            on_failure="fail",
            tokenizer=TOKENIZERS["o200k_base"],
            clock=SetClock(),
            models=ModelCalls(0.01),
        )
    assert failed.value.reason == "timeout"


def test_what_a_model_reports_of_its_usage_is_recorded() -> None:
    """R-CMP-3, R-WIF-4."""

    class Counting(Scripted):
        async def summarize(self, request) -> SummaryText:
            return replace(await super().summarize(request), input_tokens=70, output_tokens=3)

    session = Driven({"recent_window": 0, "auto_compress": False}, Counting()).append("u a")
    done = session.compress(force=True)
    assert [(output.input_tokens, output.output_tokens, output.text) for output in done.outputs] == [(70, 3, None)]
    assert session.state.counts.model_tokens == 73
