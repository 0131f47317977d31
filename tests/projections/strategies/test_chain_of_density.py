"""Chain of Density against R-COD-1 to R-COD-6 and its vectors: scripted answers, counted calls."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given as law
from hypothesis import strategies as st

from ledger.events import CompactionCompleted, CompactionFailed
from tests.support.driver import Driven, Scripted, raises

WORDS = " ".join(f"word{number}" for number in range(80))


def answer(*entities: str, summary: str | None = None) -> str:
    return json.dumps({"missing_entities": entities, "summary": "short" if summary is None else summary})


class Model(Scripted):
    """Answers as the script says, call by call; then with a new thing each time, keeping what it must."""

    def __init__(self, *script) -> None:
        super().__init__(*script, "unused")
        self.learned: list[str] = []

    async def summarize(self, request):
        number = len(self.asked)
        if number >= len(self.script) - 1:
            self.script = (*self.script[:number], *[""] * (number - len(self.script) + 1), "")
            self.learned.append(f"thing{number}")
            self.script = (*self.script[:number], answer(f"thing{number}", summary=" ".join(self.learned)))
        return await super().summarize(request)


def run(*script, loops: int = 5) -> tuple[int, object]:
    """Return the number of calls and the outcome of a session with one interaction that is summarised."""
    strategy = {"type": "summarizer", "interaction_threshold_qty": 1, "cod_max_loops": loops}
    session = Driven({"window": {"type": "full"}, "compactions": [strategy]}, Model(*script))
    session.append(f"[u{200} a{200}]", content=WORDS).settle()
    return len(session.summarizer.asked), session.events[-1].payload


def passes(done: object) -> tuple[int, str | None]:
    assert isinstance(done, CompactionCompleted), done
    return len(done.passes), done.ended


@pytest.mark.parametrize("text", ["Here:\n```json\n{}\n```", "```\n{}\n```", "{}", " {} "])
def test_an_answer_may_be_fenced(text: str) -> None:
    calls, done = run(text.replace("{}", answer("Ada")), loops=1)
    assert (calls, passes(done), done.text) == (1, (1, "complete"), "short")


def test_a_later_pass_that_is_too_long_leaves_the_one_before() -> None:
    """R-COD-5, R-CMP-6: of what can stand for the entries, the last; every pass is recorded."""
    calls, done = run(answer("Ada", summary="Ada"), answer("Bo", summary="Ada Bo " * 500), loops=2)
    assert (calls, passes(done), done.text) == (2, (2, "partial"), "Ada")
    assert done.tokens_after < done.tokens_before
    calls, done = run(answer("Ada", summary="Ada " * 500), loops=1)
    assert isinstance(done, CompactionFailed)
    assert done.reason == "no_gain"


def test_a_later_pass_that_cannot_be_stored_leaves_the_one_before() -> None:
    """R-COD-5, trust M-3."""
    bad = answer("Bo", summary="Ada Bo \x00")
    calls, done = run(answer("Ada", summary="Ada"), bad, bad)
    assert (calls, passes(done), done.text) == (3, (1, "partial"), "Ada")


def test_what_is_asked_for_is_said_whatever_the_system_prompt() -> None:
    model = Model(answer("Ada"))
    strategy = {"type": "summarizer", "interaction_threshold_qty": 1, "cod_max_loops": 2}
    config = {"window": {"type": "full"}, "compactions": [strategy], "summarizer": {"system_prompt": "Be kind."}}
    Driven(config, model).append(f"[u{200} a{200}]", content=WORDS).settle()
    for request in model.asked:
        (system, user) = (message.text for message in request.messages)
        assert system == "Be kind."
        assert '"missing_entities"' in user
        assert '"summary"' in user


def test_as_many_passes_as_are_allowed__V_COD_1() -> None:
    """R-COD-1, R-COD-6."""
    calls, done = run()
    assert (calls, passes(done)) == (5, (5, "complete"))
    assert done.text == done.passes[-1].summary
    assert [item.entity_count for item in done.passes] == [1, 2, 3, 4, 5]
    assert all(item.density == round(item.entity_count / item.tokens, 6) for item in done.passes)
    assert len(done.outputs) == 5
    calls, done = run(loops=1)
    assert (calls, passes(done)) == (1, (1, "complete"))


def test_nothing_missing_ends_it_with_the_pass_before__V_COD_2() -> None:
    calls, done = run(answer("a", summary="a x"), answer("b", summary="a b"), answer(summary="a b c"))
    assert (calls, passes(done), done.text) == (3, (2, "converged"), "a b")


def test_an_entity_lost_twice_ends_it_with_the_pass_before__V_COD_3() -> None:
    """R-COD-4: one repair in a pass."""
    calls, done = run(answer("Ada", summary="Ada"), answer("Bob", summary="Bob"), answer("Bob", summary="still"))
    assert (calls, passes(done), done.text) == (3, (1, "degraded"), "Ada")


def test_an_entity_lost_once_is_asked_for__V_COD_4() -> None:
    script = (answer("a", summary="a x"), answer("b", summary="b"), answer("b", summary="A b"), answer(summary="A b"))
    calls, done = run(*script)
    assert (calls, passes(done), done.text) == (4, (2, "converged"), "A b")


def test_a_call_that_fails__V_COD_5() -> None:
    calls, failed = run(raises)
    assert isinstance(failed, CompactionFailed)
    assert (calls, failed.reason) == (1, "error")
    calls, done = run(answer("a", summary="a"), answer("b", summary="a b"), answer("c", summary="a b c"), raises)
    assert (calls, passes(done), done.text) == (4, (3, "partial"), "a b c")


def test_an_answer_that_is_no_json_is_asked_for_again__V_COD_6() -> None:
    calls, done = run("Certainly! Here is your summary.")
    assert (calls, passes(done)) == (6, (5, "complete"))
    calls, failed = run("no", "no")
    assert isinstance(failed, CompactionFailed)
    assert (calls, failed.reason) == (2, "invalid_output")


def test_an_empty_summary_twice__V_COD_7() -> None:
    calls, done = run(answer("a", summary="a x"), answer("b", summary=" "), answer("b", summary=""))
    assert (calls, passes(done), done.text) == (3, (1, "partial"), "a x")


def test_the_first_three_new_entities_count__V_COD_8() -> None:
    """R-COD-4: stripped, and without doubles."""
    _, done = run(answer(" a ", "A", "b", "c", "d", summary="a b c d"), loops=1)
    assert done.passes[0].entities == ("a", "b", "c")


@pytest.mark.parametrize(
    ("last", "calls", "ended"),
    [
        pytest.param([answer("b", summary=" ")] * 2, 3, "partial", id="invalid and lost: invalid"),
        pytest.param([answer(summary=" ")] * 2, 3, "partial", id="invalid and none missing: invalid"),
        pytest.param([answer(summary="lost")], 2, "converged", id="none missing and lost: none missing"),
        pytest.param([answer("b", summary="b")] * 2, 3, "degraded", id="lost"),
        pytest.param([raises], 2, "partial", id="an exception"),
        pytest.param([answer("b", summary="b"), raises], 3, "partial", id="an exception in the repair"),
    ],
)
def test_a_pass_is_checked_for_validity_then_for_none_missing_then_for_what_was_lost(
    last: list, calls: int, ended: str
) -> None:
    """R-COD-5: each keeps the pass before."""
    asked, done = run(answer("a", summary="a x"), *last)
    assert (asked, passes(done), done.text) == (calls, (1, ended), "a x")


@pytest.mark.parametrize("first", [[raises], ["no", "no"], [answer("a", summary="")] * 2])
def test_without_a_usable_first_pass_it_fails_and_nothing_is_removed(first: list) -> None:
    """R-COD-5."""
    strategy = {"type": "summarizer", "interaction_threshold_qty": 1}
    session = Driven({"window": {"type": "full"}, "compactions": [strategy]}, Scripted(*first))
    session.append("[u200 a200]").settle()
    assert isinstance(session.events[-1].payload, CompactionFailed)
    assert len(session.state.window.entries) == 2


def test_an_answer_in_a_code_fence_is_understood() -> None:
    calls, done = run(f"```json\n{answer('a', summary='a x')}\n```", loops=1)
    assert (calls, done.text) == (1, "a x")


def test_each_pass_gets_source_previous_summary_and_what_to_keep() -> None:
    """R-COD-2, R-COD-3."""
    strategy = {"type": "summarizer", "interaction_threshold_qty": 1, "cod_max_loops": 2, "instructions": "Prices."}
    session = Driven(
        {"window": {"type": "full"}, "compactions": [strategy]},
        Model(answer("Lisbon", summary="to Lisbon"), answer("May", summary="Lisbon, May")),
    )
    session.append("[u200 a200]", content=WORDS).settle()
    first, second = session.summarizer.asked
    assert WORDS in first.messages[-1].text
    assert "about 81 words" in first.messages[-1].text
    assert "Above all: Prices." in first.messages[-1].text
    data = [part.text for part in second.messages[-1].parts if part.data]
    assert data[0] == "Lisbon"
    assert data[-1] == "to Lisbon"
    assert first.target_tokens == 108


def scripts() -> st.SearchStrategy[list[str]]:
    names = st.lists(st.sampled_from(["a", "b", "c", "d", "", "  "]), max_size=4)
    good = st.builds(lambda named, text: answer(*named, summary=text), names, st.text("abcd ", max_size=8))
    return st.lists(
        st.one_of(good, st.sampled_from(["", "no", "{}", '{"summary": 1, "missing_entities": []}'])), max_size=8
    )


@law(scripts(), st.integers(1, 4))
def test_entities_never_shrink_and_calls_are_bounded__LAW_20(script: list[str], loops: int) -> None:
    calls, done = run(*script, loops=loops)
    assert calls <= 2 * loops
    if isinstance(done, CompactionCompleted):
        counts: Iterator[int] = iter([item.entity_count for item in done.passes])
        assert list(counts) == sorted(item.entity_count for item in done.passes)
