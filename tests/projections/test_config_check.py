"""What is probably wrong with a config, by itself and on a session: each finding beside a config that just avoids it.

Source: R-CFG-10.
"""

from typing import Any

import pytest
from hypothesis import given

from ledger.session.views import window_of
from projections.memory_config import config
from projections.memory_config.config_check import ConfigFinding, Trial, check
from tests.support.driver import Driven, Scripted, text_of
from tests.support.examples import up_to
from tests.support.histories import STEPS, configs, happened

Json = dict[str, Any]


def found(raw: Json, notation: str = "") -> list[tuple[str, str]]:
    """Return code and field of each finding on *raw*, on the session of *notation* if there is one."""
    if not notation:
        return places(check(config.load(raw)))
    return places(
        check(config.load(raw), tried(Driven({"tokenizer": "approximate", **raw}, Scripted(text_of(1))).add(notation)))
    )


def tried(session: Driven) -> Trial:
    entries = [event.payload for event in session.events if event.type == "entry.added"]
    said = [entry.role for entry in entries if entry.kind in {"message", "step_result"}]
    return Trial(
        state=session.state,
        window=window_of(session.state),
        turns=said.count("user"),
        answers=said.count("assistant"),
        compactions=tuple(done.key for done in session.completed),
    )


def places(findings: tuple[ConfigFinding, ...]) -> list[tuple[str, str]]:
    return [(finding.code, finding.field) for finding in findings]


def conditions(*texts: str) -> Json:
    return {"window": {"type": "max_tokens", "conditions": list(texts)}}


NEVER = {
    "message.role == 'assistant'": "message.role != 'assistant'",
    "message.rol == 'user'": "message.role == 'user'",
    "message.tokens < 0": "message.tokens < 1",
    "message.tool == 'shell'": "message.tool is None",
    "not (message.kind == 'message')": "not (message.kind == 'context')",
    "message.tokens > 5 and message.tokens < 6": "message.tokens > 5 and message.tokens < 7",
    "interaction.message_count < 1": "interaction.message_count <= 1",
    "interaction.tokens > 2 and interaction.tokens < 2": "interaction.tokens > 2 and interaction.tokens < 4",
    "message.seq == 2": "message.seq < 2",
    "interaction.has_error and not interaction.has_error": "not interaction.has_error",
    "message.role == 'tool' and contains(message.content, 'a')": "contains(message.content, 'a')",
    "message.missing < 3": "message.metadata.missing < 3",
    "len(message.tokens) == 1": "len(message.content) == 1",
}


@pytest.mark.parametrize("never", NEVER)
def test_a_condition_that_no_user_message_meets(never: str) -> None:
    assert found(conditions(never)) == [("condition_never_true", "window.conditions[0]")]
    assert found(conditions(NEVER[never])) == []
    counting = {"type": "neuralyzer", "interaction_threshold_qty": 9, "interaction_conditions": [NEVER[never], never]}
    assert found({"compactions": [counting]}) == [("condition_never_true", "compactions[0].interaction_conditions[1]")]


def test_conditions_that_exclude_each_other() -> None:
    assert found(conditions("message.tokens < 5", "message.tokens > 4")) == [
        ("condition_never_true", "window.conditions")
    ]
    assert found(conditions("message.tokens < 6", "message.tokens > 4")) == []


def test_a_condition_that_no_interaction_of_the_session_meets() -> None:
    """By itself it may hold: an answer may be short."""
    short = conditions("message.tokens < 10")
    assert found(short) == []
    assert found(short, "u5 a10 u5 a10 u5 a10 u5 a10") == [("condition_never_true", "window.conditions")]
    assert found(short, "u5 a10 u5 a10 u5 a10 u5 a9") == []
    assert found(short, "u5 a10 u5 a10 u5 a10") == [], "three turns tell nothing"


def test_a_condition_with_too_many_cases_is_not_judged() -> None:
    never = "interaction.tokens < 0 and message.tokens not in {}"
    assert found(conditions(never.format([1]))) == [("condition_never_true", "window.conditions[0]")]
    assert found(conditions(never.format([10, 20, 30, 40, 50]))) == []


OFTEN = {
    "memory manager": (
        {"max_entries": 10, "recent_window": 8, "min_entries_to_compress": 1},
        {"max_entries": 10, "recent_window": 7, "min_entries_to_compress": 1},
    ),
    "memory manager by hand": (
        {"max_entries": 10, "recent_window": 9, "min_entries_to_compress": 1},
        {"max_entries": 10, "recent_window": 9, "min_entries_to_compress": 1, "auto_compress": False},
    ),
    "neuralyzer": (
        {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 6, "interaction_keep": 5}]},
        {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 7, "interaction_keep": 5}]},
    ),
    "blocks of interactions": (
        {"profile": "rolling_interactions", "size": 1, "order": "chronological"},
        {"profile": "rolling_interactions", "size": 2, "order": "chronological"},
    ),
    "blocks of messages": (
        {"profile": "rolling_messages", "size": 3, "order": "chronological"},
        {"profile": "rolling_messages", "size": 4, "order": "chronological"},
    ),
}
TALK = " ".join(["u20 a20"] * 20)


@pytest.mark.parametrize("name", OFTEN)
def test_a_compaction_in_most_turns(name: str) -> None:
    often, seldom = OFTEN[name]
    (finding,) = found(often)
    assert finding[0] == "compaction_in_most_turns"
    assert finding in found(often, TALK), "and the session does not repeat it"
    assert found(seldom) == found(seldom, TALK) == []


def test_a_compaction_in_most_turns_of_a_session() -> None:
    """The config alone does not tell: it depends on how long the turns are."""
    progressive = {"profile": "working_memory", "context_window": 100, "threshold": 0.8, "keep_ratio": 0.7}
    assert found(progressive) == []
    assert found(progressive, TALK) == [("compaction_in_most_turns", "compactions[0]")]
    assert found({**progressive, "keep_ratio": 0.1}, TALK) == []


def sliding(*preserve: str, most: int = 200) -> Json:
    return {"window": {"type": "sliding_window", "max_tokens": most, "compression_threshold": 1, "preserve": preserve}}


def test_questions_without_their_answers() -> None:
    questions = sliding("user_prompt", most=205)
    assert found(questions) == []
    talk = " ".join(["u10 a50"] * 20)
    assert found(questions, talk) == [("few_assistant_messages", "window")]
    assert found({"window": {"type": "max_tokens", "memory_max_tokens": 200}}, talk) == []
    assert found(sliding("system_instruction"), talk) == []
    assert found(questions, " ".join(["u10"] * 20)) == [], "nobody answered"


def test_preserved_entries_alone_over_the_limit() -> None:
    questions = sliding("user_prompt")
    assert ("preserved_over_limit", "window") in found(questions, "u201")
    assert found(questions, "u200") == []
    pinned = {"window": {"type": "max_tokens", "memory_max_tokens": 50}}
    assert found(pinned, "i51 u1") == [("preserved_over_limit", "window")]
    assert found(pinned, "i50 u1") == []


def test_newest_first() -> None:
    assert found({"profile": "rolling_interactions"}) == [("newest_first", "window.order")]
    assert found({"profile": "rolling_interactions", "order": "chronological"}) == []


def test_the_defaults_of_every_profile_have_nothing_else() -> None:
    profiles: list[Json] = [
        {},
        {"profile": "working_memory"},
        {"profile": "workflow", "max_tokens": 1000},
        {"memory_strategy_id": "max_tokens"},
        {"long_term_memory_id": "summarizer"},
        {"window": {"type": "recall"}},
        {"profile": "none"},
    ]
    assert [found(raw) for raw in profiles] == [[] for _ in profiles]


@up_to(50)
@given(raw=configs(), steps=STEPS)
def test_each_finding_is_one_sentence_about_the_config_and_changes_nothing(raw: Json, steps: list) -> None:
    session = happened(raw, steps)
    before = repr(session.state)
    for finding in check(session.state.config, tried(session)):
        assert finding.message
        assert "\n" not in finding.message
        assert "; " in finding.message, "what is wrong, then what to do"
        assert finding.field.partition(".")[0].partition("[")[0] in {"window", "compactions"}
    assert repr(session.state) == before
