"""Law: an answer is one unit, so every request of any window of any history is one that the providers take.

Source: R-GEN-8, R-WIN-3; adapters PM-2.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.formats.messages import REQUESTS
from ledger.formats.messages.anthropic import anthropic_request
from ledger.formats.messages.message_intake import read_messages
from ledger.llm.tokenizers import entry_event
from ledger.session.commands import AddEntries, ClearSession, EditEntry, RemoveEntry
from ledger.session.entry_drafts import draft_entry
from ledger.session.views import answer_with_entry, window_of
from projections import rendering, tool_pairs
from projections.entries import Entry
from projections.memory_config import config as memory_config
from projections.strategies import rolling
from projections.token_limits import fitted
from projections.window import Window
from tests.support import histories
from tests.support.answers import AnswerStep, Said, history
from tests.support.driver import Driven, Scripted
from tests.support.examples import seeds
from tests.support.histories import some_config
from tests.support.interrupted_histories import answer, erase

PARTS = 8


def requests_of(window: Window) -> dict[str, Any]:
    shown = rendering.shown_messages(window.oldest_first())
    return {name: make(shown, {}) for name, make in REQUESTS.items()}


def take(session: Driven, step: AnswerStep, said: Said, random: Random) -> None:
    """Apply *step*; compactions are asked for at once, and answered when the step says so."""
    active = session.state.window.entries
    chosen = active[round(step.place * (len(active) - 1))] if active else None
    write_id = next(session.ids)
    match step.kind:
        case "say" | "results" | "context":
            taken = session.state.compactions.reserved
            staying = [entry for entry in active if not taken(((entry.version, entry.version),))]
            said.adds(step, str([(entry.content, entry.arguments, entry.data) for entry in staying]))
            raw, _ = read_messages(step.messages) if step.messages else ([{"kind": "context", "content": "a file"}], {})
            events = [
                entry_event(
                    draft_entry(each),
                    write_id=write_id,
                    entry_id=f"e{len(session.added) + at}",
                    tokenizer="approximate",
                )
                for at, each in enumerate(raw)
            ]
            session.do(AddEntries(tuple(events)))
            for number in range(len(session.state.config.compactions)):
                session.request(session.plan(number))
        case "settle":
            while any(session.state.compactions.find(job.asked.compaction_id) for job in session.jobs):
                answer(session, random.random())
        case "erase":
            erase(session, step.place)
        case "clear":
            session.do(ClearSession(write_id))
        case "edit" if chosen is not None and chosen.kind == "message":
            said.changed("edit", f"{chosen.content} {chosen.data}")
            session.do(
                EditEntry(
                    write_id=write_id,
                    entry_id=chosen.entry_id,
                    content=f"edited {chosen.content}",
                    tokens=7,
                    tokenizer="caller",
                )
            )
        case "remove" if chosen is not None:
            for entry in answer_with_entry(session.state, chosen):
                session.do(RemoveEntry(write_id, entry.entry_id))
        case "pop" if active:
            said.changed("pop", active[-1].content)
            session.do(RemoveEntry(write_id, active[-1].entry_id))


def windows_of(session: Driven, random: Random) -> list[Window]:
    """Return every window of the session that a caller may ask for."""
    found = []
    for kind, fields in sorted(histories.WINDOWS.items()):
        other = memory_config.load({"window": {"type": kind, **random.choice(fields)}}).window
        state = replace(session.state, config=session.state.config.model_copy(update={"window": other}))
        hints = histories.hints_for(other, histories.recallable(session), query="found word question")
        found.append(window_of(state, hints))
        found.append(fitted(found[-1], random.randint(1, 200)))
    return found


def check_answers(seed: int) -> None:
    """Assert that no provider refuses a request, and that each answer is in it whole or not at all."""
    random = Random(seed)
    steps, said = history(random, random.randint(5, 30))
    session = Driven(some_config(random), Scripted(histories.short))
    for number, step in enumerate(steps):
        take(session, step, said, random)
        if number % 4 == 0 or step is steps[-1]:
            for window in windows_of(session, random):
                assert said.faults(requests_of(window)) == [], f"seed {seed}, step {number}"


def check_all(tried: Iterable[int]) -> None:
    for seed in tried:
        check_answers(seed)


def test_every_request_of_any_window_is_taken_by_the_providers() -> None:
    """100 histories."""
    with seeds(100) as tried:
        check_all(tried)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_request_of_any_window_of_many_histories_is_taken(part: int) -> None:
    """2,000 histories, in parts that each end within the time of a test, and may run side by side."""
    with seeds(2000 // PARTS) as tried:
        check_all(tried)


def as_it_was(answer: tool_pairs.AnswerRun | None, entry: Entry) -> tool_pairs.AnswerRun | None:
    """Return an answer that has only calls in a row."""
    return tool_pairs.AnswerRun(entry.write_id, True, False, True, 0) if entry.kind == "tool_call" else None


class OfOneWrite(tool_pairs.AnswerRun, frozen=True):
    """An answer that ends with its write, but for calls in a row."""

    def goes_on_with(self, entry: Entry) -> bool:
        goes_on = super().goes_on_with(entry)
        return goes_on and (entry.write_id == self.write_id or (self.calls and entry.kind == "tool_call"))


WHOLE = rendering.shown_messages


def without_pending_results(window: Window) -> list[rendering.ShownMessage]:
    return [shown for shown in WHOLE(window) if shown.message["content"] != rendering.NO_RESULT]


def without_thinking(shown: Sequence[rendering.ShownMessage], attachments: Mapping[str, bytes]) -> dict[str, Any]:
    request = anthropic_request(shown, attachments)
    for message in request["messages"]:
        message["content"] = [block for block in message["content"] if block["type"] != "thinking"]
    return request


BROKEN = {
    "only_calls_are_an_answer": (tool_pairs, "answer_after", as_it_was),
    "a_waiting_call_has_no_result": (rendering, "shown_messages", without_pending_results),
    "thinking_is_left_out": (sys.modules[__name__], "REQUESTS", {**REQUESTS, "anthropic": without_thinking}),
    "an_entry_is_removed_alone": (sys.modules[__name__], "answer_with_entry", lambda state, entry: (entry,)),
    "an_answer_is_of_one_write": (tool_pairs, "AnswerRun", OfOneWrite),
    "items_are_shown_as_they_are_counted": (rolling, "_with_whole_answers", lambda active, groups: groups),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_variant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative controls."""
    monkeypatch.setattr(*BROKEN[name])
    with pytest.raises(AssertionError):
        check_all(range(200))
