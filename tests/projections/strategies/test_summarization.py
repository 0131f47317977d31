"""The summarization of seed 002 against R-002-4 to R-002-7 and its vectors."""

import pytest

from ledger.session.views import stats_of, window_of
from projections.summaries import Summary
from tests.support.driver import Driven, Scripted, text_of

BASE = {"type": "summarization", "max_tokens": 100, "model": "tiny"}
M = " q14"


def session(notation: str, **fields: object) -> Driven:
    settings = {"window": {"type": "full"}, "compactions": [{**BASE, **fields}]}
    return Driven(settings, Scripted(text_of(13))).add(notation)


def shown(driven: Driven) -> str:
    """Return the window: tags of entries, ``S`` and the number of entries it covers for a summary, and tokens."""
    window = window_of(driven.state)
    items = (
        f"S{item.entry_count}" if isinstance(item, Summary) else item.content.split()[0][0] for item in window.items
    )
    return f"{' '.join(items)} = {window.tokens}"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (5, "i u S5 = 33"),
        (9, "i u S5 S4 = 46"),
        (12, "i u S5 S4 S3 = 59"),
        (14, "i u S5 S4 S3 S2 = 72"),
    ],
)
def test_summaries_that_are_preserved_pile_up__V_002_9(steps: int, expected: str) -> None:
    """R-002-5."""
    assert shown(session("i10 u10" + M * steps)) == expected


def test_summaries_that_are_not_preserved_are_folded_into_one__V_002_10() -> None:
    driven = session("i10 u10", preserve=["system_instruction", "user_prompt"])
    runs = {}
    for step in range(1, 14):
        driven.add("q14")
        runs[step] = len(driven.completed)
    assert [step for step in runs if runs[step] > runs.get(step - 1, 0)] == [5, 9, 13]
    assert stats_of(driven.state).total_tokens == 33
    assert len(driven.state.summaries.live) == 1


def test_with_nothing_to_take_away_no_model_is_asked__V_002_11() -> None:
    driven = session("i40 u50")
    assert not driven.summarizer.asked
    assert stats_of(driven.state).near_limit


def test_a_batch_is_evaluated_once_and_as_a_whole__V_002_12() -> None:
    driven = session("i10 u10 q40").add("[c1:30 r1:30]")
    assert len(driven.summarizer.asked) == 1
    assert driven.places(driven.completed[0].covered) == "3-5"


def test_a_step_that_has_begun_is_not_cut_off__V_002_13() -> None:
    """R-002-4."""
    driven = session("i10 u10 q50 p20")
    assert not driven.completed
    assert driven.add("q5").completed


def test_a_call_that_waits_holds_it_up() -> None:
    """R-002-4."""
    driven = session("u10 q50 c1:40")
    assert not driven.completed
    assert driven.add("r1:5").completed


def test_without_a_compressor_nothing_happens_but_a_report__V_002_14() -> None:
    """R-002-7."""
    driven = Driven({"profile": "workflow", "maxTokens": 100}).add("u250 q250")
    assert not driven.completed
    assert stats_of(driven.state).near_limit
    assert window_of(driven.state).tokens == 500


def test_the_prompt_names_the_task_and_groups_the_steps() -> None:
    """R-002-6, R-SUM-3."""
    driven = session("u10 [p5 c1:5 r1:5 q20] [p5 q60]", temperature=0.7, enable_thinking=True)
    (asked,) = driven.summarizer.asked
    assert asked.model == "tiny"
    assert asked.parameters == {"temperature": 0.7, "chat_template_kwargs": {"enable_thinking": True}}
    task, steps = [part.text for part in asked.messages[-1].parts if part.data]
    assert task == "u10 1"
    first, second = steps.split("\n\n")
    assert [line.split(":")[0] for line in first.split("\n")] == [
        "User",
        "Tool Call (tool1)",
        "Tool Result (tool1)",
        "Assistant",
    ]
    assert second.startswith("User: p5")
