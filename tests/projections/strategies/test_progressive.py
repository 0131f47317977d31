"""The working memory's summaries of seed 004 against R-004-1 to R-004-6 and their vectors."""

import pytest

from ledger.events import CompactionFailed
from projections.model_windows import window_tokens
from projections.strategies.progressive import piece_tokens, pieces
from tests.support.driver import Driven, Scripted


def session(notation: str, *script, **fields: object) -> Driven:
    strategy = {"type": "progressive", "context_window": 1000, **fields}
    return Driven({"window": {"type": "full"}, "compactions": [strategy]}, Scripted(*(script or ("so far",)))).add(
        notation
    )


def covered(driven: Driven) -> list[str]:
    return [driven.places(done.covered) for done in driven.completed]


def remaining(notation: str, **fields: object) -> list[str]:
    """Return what a batch of all of *notation* covers, as places."""
    return covered(session(f"[{notation}]", **fields))


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        pytest.param("u80 a80 " * 5, ["1-5"], id="V-004-1"),
        pytest.param("u70 a70 " * 5, [], id="V-004-2-exactly"),
        pytest.param("u70 a70 " * 5 + "u1", ["1-5"], id="V-004-2-one-more"),
        pytest.param("u60 " * 7 + "a130 " * 3, ["1-7"], id="V-004-3"),
        pytest.param("u100 u100 u100 u500", ["1-3"], id="V-004-4"),
        pytest.param("u50 u900 u50", ["1-2"], id="V-004-4-middle"),
        pytest.param("u400 u400", ["1"], id="V-004-4-two"),
        pytest.param("u900", [], id="V-004-5"),
    ],
)
def test_the_newest_messages_stay(notation: str, expected: list[str]) -> None:
    """R-004-2."""
    assert remaining(notation) == expected


def test_the_trigger_is_rounded_down__V_004_6() -> None:
    assert remaining("u30 u33", context_window=90) == []
    assert remaining("u30 u34", context_window=90) == ["1"]


@pytest.mark.parametrize(
    ("window", "most"), [(4096, 3354), (8192, 6938), (16385, 14517), (128000, 120600), (200000, 189000)]
)
def test_what_fits_into_one_call__V_004_8(window: int, most: int) -> None:
    assert piece_tokens(window) == most


def test_every_message_is_in_exactly_one_call_in_order__V_004_9(monkeypatch: pytest.MonkeyPatch) -> None:
    """R-004-5: each answer is the next call's previous summary."""
    monkeypatch.setattr("projections.strategies.progressive.piece_tokens", lambda window: 30)
    driven = session("[" + "u80 a80 " * 5 + "]", "one", "two", "three", "four")
    asked = driven.summarizer.asked
    assert len(asked) > 1
    spoken = "\n".join(request.messages[0].parts[-1].text for request in asked)
    assert spoken.split("\n") == ["user: u80 1", "assistant: a80 2", "user: u80 3", "assistant: a80 4", "user: u80 5"]
    previous = [request.messages[0].text.split("The summary so far:\n")[1].split("\n")[0] for request in asked]
    assert previous == ["", "one", "two", "three"][: len(asked)]


def test_a_message_longer_than_a_call_is_cut() -> None:
    """R-004-5."""
    cut = list(pieces(iter(["a" * 95, "bb"]), 20, len))
    assert all(len(piece) <= 20 for piece in cut)
    assert "".join(cut).replace("\n", "") == "a" * 95 + "bb"


def test_the_answer_none_is_no_summary__V_004_10() -> None:
    """R-004-6."""
    driven = session("[" + "u80 a80 " * 5 + "]", "so far", "NONE")
    (live,) = driven.state.summaries.live
    driven.add("[" + "u80 a80 " * 4 + "]")
    assert isinstance(driven.events[-1].payload, CompactionFailed)
    assert driven.events[-1].payload.reason == "empty"
    assert driven.state.summaries.live == (live,)


def test_one_summary_goes_on() -> None:
    """R-004-3."""
    driven = session("[" + "u80 a80 " * 5 + "]", "first", "second")
    driven.add("[" + "u80 a80 " * 4 + "]")
    assert [summary.text for summary in driven.state.summaries.live] == ["second"]
    assert "The summary so far:\nfirst\n" in driven.summarizer.asked[1].messages[0].text


def test_the_one_message_holds_the_summary_before_and_the_lines_oldest_first() -> None:
    """R-004-4: ``role: content``; without a summary, nothing stands in its place."""
    prompt = "{prev_summary}|{messages_joined}|{other}"
    driven = session("[u100 c1:100 r1:100 a100 u400]", "first", "second", prompt=prompt)
    driven.add("[u400 a10]")
    texts = []
    for asked in driven.summarizer.asked:
        (message,) = asked.messages
        assert message.role == "user"
        texts.append(message.text)
    assert texts == [
        "|user: u100 1\nassistant: c1:100 2\ntool: r1:100 3\nassistant: a100 4|{other}",
        "first|user: u400 5\nuser: u400 6|{other}",
    ]


def test_the_limit_is_the_models_window_or_16000() -> None:
    """R-004-1."""
    assert window_tokens("openai/gpt-4o-mini") == 128_000
    assert window_tokens("gpt-4") == 8_192
    assert window_tokens("unheard of") is None
    assert remaining("u5600 a5601", context_window=None, model_name="unheard of") == ["1"]
    assert remaining("u5600 a5600", context_window=None) == []


def test_it_can_be_switched_off() -> None:
    assert remaining("u80 a80 " * 9, enabled=False) == []
