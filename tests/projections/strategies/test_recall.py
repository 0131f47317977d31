"""The recall window against R-REC-1 to R-REC-5 and its vectors: entries of 10 tokens, interactions of ``u a``."""

import pytest

from ledger.events import KnowledgeSource
from ledger.session.views import window_of
from projections.log.history import HISTORY
from projections.rendering import chat_messages, context_text
from projections.strategies.base import NO_HINTS, Hints
from projections.strategies.retrieved import hints_for, hints_of, homes_of
from projections.window import Knowledge, Window
from projections.words.word_index import ScoreParts, Why
from tests.support.driver import Driven

TWENTY = " ".join(["[u a]"] * 20)


def recall(**fields: object) -> dict:
    return {"window": {"type": "recall", "max_tokens": 100, "recent_share": 0.5, "context_before": 0, **fields}}


def hits_on(session: Driven, *places: int, erased: bool = False) -> Hints:
    """Return hits on entries by their place, best first, as a search would give them."""
    kinds = {"active", "covered", "erased"} if erased else {"active", "covered"}
    entries = [past for past in HISTORY.fold(session.events).entries if past.status in kinds]
    ranked = [
        (session.added[place - 1], Why(by_words=ScoreParts(words=1 / (1 + rank)))) for rank, place in enumerate(places)
    ]
    return hints_of(ranked, homes_of(entries))


def shown(session: Driven, window: Window) -> list[int]:
    return [session.added.index(entry.version) + 1 for entry in window.entries]


def marked(session: Driven, window: Window) -> list[int]:
    return [session.added.index(version) + 1 for version, _ in window.recalled]


def test_without_hits_the_newest_interactions_fill_the_budget__V_REC_1() -> None:
    """R-REC-2, R-REC-5: as with a recent share of 1."""
    session = Driven(recall()).add(TWENTY)
    assert shown(session, window_of(session.state)) == list(range(31, 41))
    whole = Driven(recall(recent_share=1)).add(TWENTY)
    assert window_of(whole.state).items == window_of(session.state, NO_HINTS).items


def test_hits_come_before_the_newest_in_their_original_order__V_REC_2() -> None:
    session = Driven(recall()).add(TWENTY)
    window = window_of(session.state, hits_on(session, 8, 3))
    assert (shown(session, window), window.tokens) == ([3, 8, *range(33, 41)], 100)
    assert marked(session, window) == [3, 8]
    assert dict(window.recalled)[session.added[7]] > dict(window.recalled)[session.added[2]]


def test_the_budget_is_filled_to_the_end__V_REC_7() -> None:
    """R-REC-6: what does not fit is passed over, and what a hit showed already comes once."""
    session = Driven(recall(recent_share=0.1)).add("[u a] [u a] [u60 a60] [u a] [u a]")
    window = window_of(session.state, hits_on(session, 8))
    assert (shown(session, window), window.tokens) == ([1, 2, 3, 4, 7, 8, 9, 10], 80)
    assert marked(session, window) == [8]
    plain = window_of(session.state)
    assert shown(session, plain) == [7, 8, 9, 10], "without hits the newest ones only"


def test_what_is_shown_anyway_is_shown_once_and_not_marked__V_REC_3() -> None:
    session = Driven(recall()).add(TWENTY)
    window = window_of(session.state, hits_on(session, 39, 3))
    assert (shown(session, window), marked(session, window)) == ([3, 4, *range(33, 41)], [3])


@pytest.mark.parametrize(
    ("budget", "expected"), [(80, [*range(1, 9)]), (60, [2, 3, 5, 6, 7, 8]), (39, [2, 3]), (19, [])]
)
def test_a_tool_call_and_its_result_are_shown_together_or_not_at_all__V_REC_4(budget: int, expected: list[int]) -> None:
    session = Driven(recall(max_tokens=budget)).add("[u c1 r1 a] [u a] [u a]")
    assert shown(session, window_of(session.state, hits_on(session, 3))) == expected


def test_a_hit_that_does_not_fit_does_not_stop_the_next__V_REC_5() -> None:
    session = Driven(recall()).add("[u70 a] [u a] [u a] [u a] [u a]")
    window = window_of(session.state, hits_on(session, 1, 3))
    assert marked(session, window) == [3]


def test_covered_entries_are_shown_erased_ones_only_if_asked_for__V_REC_6() -> None:
    """R-REC-4."""
    summarising = {"type": "token_threshold", "max_entries": 6, "recent_window": 2, "min_entries_to_compress": 1}
    covered = Driven({**recall(max_tokens=200), "compactions": [summarising]}).add("[u a] [u a] [u a] [u a]")
    assert covered.completed
    assert 1 in shown(covered, window_of(covered.state, hits_on(covered, 1)))
    erasing = {"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}
    erased = Driven({**recall(), "compactions": [erasing]}).add("[u a] [u a] [u a]")
    assert [event.effect for event in erased.completed] == ["erase"]
    entries = {past.version: past for past in HISTORY.fold(erased.events).entries if past.status == "active"}
    hints = hints_for(erased.state.config.window, entries, query=" ".join(entry.content for entry in entries.values()))
    assert 1 not in shown(erased, window_of(erased.state, hints))
    assert 1 in shown(erased, window_of(erased.state, hits_on(erased, 1, erased=True))), "the control: given, shown"


def test_a_hit_is_shown_with_the_unit_before_it_or_alone() -> None:
    """R-REC-3: widened if that fits, else not."""
    session = Driven(recall(context_before=1)).add(TWENTY)
    assert marked(session, window_of(session.state, hits_on(session, 4))) == [3, 4]
    tight = Driven(recall(context_before=1, max_tokens=50, recent_share=0.8)).add(TWENTY)
    assert marked(tight, window_of(tight.state, hits_on(tight, 4))) == [4]


def test_the_current_turn_and_pinned_entries_are_outside_the_budget() -> None:
    """R-REC-2."""
    session = Driven(recall()).add("s500 " + TWENTY + " u900")
    window = window_of(session.state)
    assert shown(session, window)[0] == 1
    assert shown(session, window)[-1] == 42
    assert window.tokens == 500 + 100 + 900


def test_equal_inputs_give_equal_windows() -> None:
    """R-REC-5."""
    session = Driven(recall()).add(TWENTY)
    hints = hits_on(session, 8, 3)
    assert window_of(session.state, hints) == window_of(session.state, hints)


def test_a_gap_before_a_recalled_entry_is_a_line() -> None:
    """R-REC-4: in text, and in chat a message of its own; none where nothing is left out."""
    session = Driven(recall(max_tokens=50, recent_share=0.4)).add("[u a] [u a] [u c1 r1 a] [u a] [u a]")
    window = window_of(session.state, hits_on(session, 4, 6))
    assert marked(session, window) == [4, 6, 7]
    assert [place for place in marked(session, window) if session.added[place - 1] in window.gaps] == [4, 6]
    lines = context_text(window).split("\n")
    assert lines.count("[…]") == 3, "also between the last one recalled and the newest"
    assert sorted(session.added.index(version) + 1 for version in window.gaps) == [4, 6, 11]
    assert lines[1] == "[…]"
    messages = chat_messages(window)
    gap = {"role": "user", "content": "[…]"}
    asked = next(place for place, message in enumerate(messages) if message.get("tool_calls"))
    assert messages[0] == messages[asked - 1] == gap
    assert messages[asked]["content"] is None, "the assistant did not say that"
    plain = window_of(session.state)
    assert "[…]" not in context_text(plain)
    from_the_start = window_of(session.state, hits_on(session, 1))
    assert [session.added.index(version) + 1 for version in from_the_start.gaps] == [9], "not before the first entry"


def test_knowledge_stands_after_the_summaries_and_outside_the_budget() -> None:
    """R-KB-2: one context item."""
    session = Driven(recall()).add("s5 " + TWENTY)
    source = KnowledgeSource(session_id="other", version=9, first_character=0, characters=4)
    pieces = tuple(Knowledge(text, source) for text in ("Michael lives in Seattle.", "Old."))
    window = window_of(session.state, Hints(knowledge=pieces, knowledge_tokens=9))
    assert (window.tokens, window.knowledge_tokens) == (105, 9)
    text = context_text(window)
    assert text.startswith("=== Knowledge ===\nMichael lives in Seattle.\n\nOld.\n\n=== Recent Conversation ===")
    found = [place for place, item in enumerate(chat_messages(window)) if "Knowledge" in str(item["content"])]
    assert found == [1], "after what is pinned"
