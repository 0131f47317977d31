"""Calls that left messages out: the window is what the newest call was sent, and its answer. Source: adapters IN-3."""

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest

from ledger.formats.export.importing import Imported
from ledger.formats.importers import TranscriptFile
from ledger.formats.importers.opentelemetry import call_histories
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.examples import seeds
from tests.support.ledgers import ledger_over
from tests.support.model_spans import attributes_of_call, said, span_json, traces_json

Message = dict[str, Any]
RULES = {"role": "system", "content": "You keep bees."}


def message(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def langfuse(number: int, sent: list[Message], answer: Message) -> Message:
    at = f"2026-05-01T10:{number // 60:02d}:{number % 60:02d}Z"
    return {
        "id": f"o{number}",
        "traceId": f"t{number}",
        "sessionId": "s",
        "type": "GENERATION",
        "startTime": at,
        "endTime": at,
        "input": sent,
        "output": answer,
    }


def langsmith(number: int, sent: list[Message], answer: Message) -> Message:
    at = f"2026-05-01T10:{number // 60:02d}:{number % 60:02d}"
    run = f"00000000-0000-4000-8000-{number:012d}"
    return {
        "id": run,
        "trace_id": run,
        "dotted_order": f"20260501T10{number // 60:02d}{number % 60:02d}000000Z{run}",
        "run_type": "llm",
        "start_time": at,
        "end_time": at,
        "extra": {"metadata": {"thread_id": "s"}},
        "inputs": {"messages": sent},
        "outputs": {"messages": [answer]},
    }


def otlp(number: int, sent: list[Message], answer: Message) -> Message:
    spoken = [said(each["role"], each["content"]) for each in [*sent, answer]]
    return traces_json(span_json(attributes_of_call("s", spoken[:-1], spoken[-1:]), span=number + 1))


FORMATS = {"langfuse": langfuse, "langsmith": langsmith, "otlp": otlp}


async def imported(ledger: MemoryLedger, lines: list[Message]) -> Imported:
    raw = [json.dumps(line).encode() + b"\n" for line in lines]
    return await ledger.import_conversations(TranscriptFile(lambda: iter(raw), name="s"))


async def shown(ledger: MemoryLedger, session: str = "s") -> list[tuple[str, str]]:
    found = (await ledger.get_context(session)).messages
    return [(each["role"], str(each["content"])) for each in found]


def pairs(messages: list[Message]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in messages]


Q1, A1, Q2, A2, Q3, A3 = (
    message(role, f"{text} {number}")
    for number in (1, 2, 3)
    for role, text in (("user", "question"), ("assistant", "answer"))
)
SUMMARY = message("user", "A summary of what came before.")


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "sent",
    [
        [RULES, Q2, A2, Q3],
        [RULES, SUMMARY, Q2, A2, Q3],
        [RULES, A2, Q3],
        [RULES, Q1, SUMMARY, A2, Q3],
        [RULES, Q1, message("assistant", "[cut]"), Q2, A2, Q3],
    ],
    ids=["trimmed", "summarized", "answer only", "first kept", "text cut"],
)
async def test_the_window_is_what_was_sent_and_its_answer__IN_3(form: str, sent: list[Message], growing: bool) -> None:
    calls = [([RULES, Q1], A1), ([RULES, Q1, A1, Q2], A2), (sent, A3), ([*sent, A3, message("user", "more")], A1)]
    lines = [FORMATS[form](number, *call) for number, call in enumerate(calls)]
    ledger = ledger_over(InMemoryStore())
    for number in range(1, len(lines)) if growing else ():
        await imported(ledger, lines[:number])
    done = await imported(ledger, lines)
    assert done.session_ids == ("s",)
    assert await shown(ledger) == pairs([*sent, A3, message("user", "more"), A1])
    assert done.notes == ()
    assert (await imported(ledger, lines)).entries == 0
    assert (await ledger.verify()).ok


@pytest.mark.parametrize("form", FORMATS)
async def test_a_call_that_repeats_nothing_is_a_session_of_its_own_and_is_reported__IN_3(form: str) -> None:
    """Another agent and a conversation that only a summary is left of look alike."""
    calls = [([RULES, Q1], A1), ([RULES, SUMMARY, Q2], A2)]
    ledger = ledger_over(InMemoryStore())
    done = await imported(ledger, [FORMATS[form](number, *call) for number, call in enumerate(calls)])
    assert await shown(ledger) == pairs([RULES, Q1, A1])
    assert await shown(ledger, "s~2") == pairs([RULES, SUMMARY, Q2, A2])
    assert [(note.session_id, note.kind) for note in done.notes] == [("s", "window_not_known")]
    assert (await ledger.get_stats("s")).window_not_known == 1


@pytest.mark.parametrize("form", FORMATS)
async def test_another_question_about_the_answer_is_not_the_agent__IN_3(form: str) -> None:
    """A call with other instructions, or with the answer as its own, does not take the window over."""
    other = message("system", "Name the next question.")
    calls = [([RULES, Q1], A1), ([other, A1, Q2], A2), ([RULES, Q3], A1), ([RULES, Q1, A1, Q2], A2)]
    ledger = ledger_over(InMemoryStore())
    done = await imported(ledger, [FORMATS[form](number, *call) for number, call in enumerate(calls)])
    assert await shown(ledger) == pairs([RULES, Q1, A1, Q2, A2])
    assert len(done.session_ids) == 3


async def wrong(form: str, tried: Iterable[int]) -> list[int]:
    """Return the seeds of conversations whose window is not what the newest call was sent, and its answer."""
    found = []
    for seed in tried:
        chance = random.Random(seed)
        window, lines = [RULES], list[Message]()
        for number in range(chance.randint(2, 20)):
            if number and chance.random() < 0.4:  # what is sent from now on: the newest messages, perhaps a summary
                head = [message("user", f"summary {number}")] if chance.random() < 0.5 else []
                window = [RULES, *head, *window[chance.randint(1, len(window) - 1) :]]
            window.append(message("user", f"question {number}"))
            answer = message("assistant", f"answer {number}")
            lines.append(FORMATS[form](number, list(window), answer))
            window.append(answer)
        ledger = ledger_over(InMemoryStore())
        for end in (chance.randint(1, len(lines)), len(lines)):
            await imported(ledger, lines[:end])
        if await shown(ledger) != pairs(window) or not (await ledger.verify()).ok:
            found.append(seed)
    return found


@pytest.mark.parametrize("form", FORMATS)
async def test_the_window_is_that_of_the_newest_call__IN_3(form: str) -> None:
    with seeds(100) as tried:
        failed = await wrong(form, tried)
    assert not failed, f"seeds {failed[:5]}"


async def test_calls_that_left_messages_out_and_begin_branches_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, each such call began a session of its own."""
    monkeypatch.setattr(call_histories, "goes_on", lambda *_: False)
    assert await wrong("langfuse", range(30))
