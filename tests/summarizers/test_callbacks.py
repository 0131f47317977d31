"""Summarizers of the user: functions and objects. Source: R-SUM-1, R-SUM-2, R-000-10."""

import asyncio
import threading
from collections.abc import Awaitable
from functools import partial
from typing import Any

import pytest

from ledger.errors import CompactionNotCompleted, InvalidInput, SummarizerFailed
from ledger.llm.summarizers.extractive import Extractive
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint
from tests.support.model_scene import SMALL, TRIGGER, completed, messages, outcomes, said, talk


async def of_one(summarizer: Any, **config: Any) -> MemoryLedger:
    """Return a ledger in memory after one attempt of *summarizer*."""
    ledger = ledger_over(InMemoryStore(), config={**SMALL, **config})
    ledger.set_summarizer(None, summarizer)
    await talk(ledger)
    await ledger.settle()
    return ledger


async def asynchronous(prompt: str) -> str:
    await asyncio.sleep(0)
    return f"From {prompt.count('message')} messages."


def awaitable(prompt: str) -> Awaitable[str]:
    return asynchronous(prompt)


class Callable:
    """An object that is called like a function, and answers later."""

    async def __call__(self, prompt: str) -> str:
        return await asynchronous(prompt)


@pytest.mark.parametrize(
    "callback",
    [
        lambda prompt: f"From {prompt.count('message')} messages.",
        asynchronous,
        partial(asynchronous),
        Callable(),
        awaitable,
    ],
    ids=["sync", "async", "partial", "object", "sync that returns an awaitable"],
)
async def test_a_callback_may_be_sync_or_async(callback: Any) -> None:
    ledger = await of_one(callback)
    created = await completed(ledger)
    assert (created.text, created.method, created.model) == ("From 5 messages.", "callback", None)
    assert await said(ledger) == messages(TRIGGER, TRIGGER)


async def test_a_sync_callback_runs_in_another_thread() -> None:
    threads = []

    def callback(prompt: str) -> str:
        threads.append(threading.current_thread())
        return "A summary."

    await of_one(callback)
    assert threads != [threading.current_thread()]


def with_target(prompt: str, target_tokens: int) -> str:
    return f"In {target_tokens} tokens."


def with_any(prompt: str, **options: Any) -> str:
    return f"In {options['target_tokens']} tokens."


def without_target(prompt: str, temperature: float = 0) -> str:
    return "In any number of tokens."


@pytest.mark.parametrize(
    ("callback", "text"),
    [
        (with_target, "In 15 tokens."),
        (with_any, "In 15 tokens."),
        (without_target, "In any number of tokens."),
    ],
)
async def test_the_target_is_passed_to_a_callback_that_accepts_it(callback: Any, text: str) -> None:
    assert (await completed(await of_one(callback))).text == text


async def test_a_callback_gets_the_prompt_with_the_conversation_fenced() -> None:
    prompts = []

    def callback(prompt: str) -> str:
        prompts.append(prompt)
        return "A summary."

    await of_one(callback, prompt="Sum up:\n{content}\nBriefly.")
    first, *_, last = prompts[0].splitlines()
    assert (first, last) == ("Sum up:", "Briefly.")
    assert prompts[0].count("[conversation ") == 2


def raises(prompt: str) -> str:
    raise RuntimeError("the key is sk-secret")


async def raises_later(prompt: str) -> str:
    raise RuntimeError("the key is sk-secret")


@pytest.mark.parametrize("callback", [raises, raises_later])
async def test_what_a_callback_raises_is_a_failure_whose_words_are_not_stored(callback: Any) -> None:
    """V-000-11, V-CMP-4; what it raises may hold anything, so only its type is kept (trust P-16)."""
    ledger = await of_one(callback)
    assert await outcomes(ledger) == ["requested", "failed error"]
    failed = (await ledger.get_events("s"))[-1].payload
    assert failed.detail == "the summarizer raised RuntimeError"
    assert await said(ledger) == messages(1, TRIGGER)


@pytest.mark.parametrize("answer", [None, 5, b"A summary.", ["A summary."], {"text": "A summary."}])
async def test_a_callback_that_returns_no_text_fails(answer: object) -> None:
    ledger = await of_one(lambda prompt: answer)
    assert await outcomes(ledger) == ["requested", "failed invalid_output"]


async def test_with_on_failure_heuristic_a_raising_callback_is_replaced_and_its_error_recorded() -> None:
    """V-000-11."""
    created = await completed(await of_one(raises, onFailure="heuristic"))
    assert (created.method, created.error) == ("heuristic", "error: the summarizer raised RuntimeError")


async def test_without_a_callback_the_heuristic_writes_and_no_call_is_recorded() -> None:
    """R-SUM-9."""
    ledger = await of_one(None)
    created = await completed(ledger)
    assert (created.method, created.outputs, created.error) == ("heuristic", (), None)
    assert (await ledger.get_stats("s")).model_calls == 0


async def test_a_session_may_have_its_own_summarizer_or_the_heuristic() -> None:
    ledger = ledger_over(InMemoryStore(), config=SMALL)
    ledger.set_summarizer(None, lambda prompt: "For all.")
    ledger.set_summarizer("own", lambda prompt: "For one.")
    ledger.set_summarizer("own", lambda prompt: "For another's.", user_id="somebody")
    ledger.set_summarizer("none", lambda prompt: "For one.")
    ledger.set_summarizer("none", None)
    for session in ("own", "none", "other"):
        await talk(ledger, session=session)
    await ledger.settle()
    texts = [(await completed(ledger, session)).text for session in ("own", "none", "other")]
    assert texts[::2] == ["For one.", "For all."]
    assert texts[1].startswith("[Previous conversation summary]")


async def test_a_summarizer_set_again_counts_from_the_next_compaction() -> None:
    ledger = await of_one(raises)
    ledger.set_summarizer(None, lambda prompt: "A summary.")
    assert (await ledger.compress("s")).summary.text == "A summary."
    ledger.set_summarizer(None, None)
    await talk(ledger, 3, first=TRIGGER + 1)
    assert (await ledger.compress("s")).summary.method == "heuristic"


class Own:
    """A summarizer of one's own, as the port has it."""

    def __init__(self, answer: Any, *, method: Any = "llm", model: Any = "mine-1") -> None:
        self.answer, self.method, self.model = answer, method, model

    async def summarize(self, request: SummaryRequest) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_a_summarizer_object_is_recorded_with_its_method_and_model() -> None:
    created = await completed(await of_one(Own(SummaryText("A summary.", 10, 3))))
    assert (created.method, created.model) == ("llm", "mine-1")
    assert (created.outputs[0].input_tokens, created.outputs[0].output_tokens) == (10, 3)


@pytest.mark.parametrize("answer", ["A summary.", None, SummaryText(None), SummaryText(5)])  # type: ignore[arg-type]
async def test_a_summarizer_object_that_breaks_its_promise_fails(answer: Any) -> None:
    assert await outcomes(await of_one(Own(answer))) == ["requested", "failed invalid_output"]


@pytest.mark.parametrize("usage", ["12", 1.5, -1, True, 2**70])
async def test_a_count_that_could_not_be_read_again_is_left_out(usage: Any) -> None:
    ledger = await of_one(Own(SummaryText("A summary.", usage, usage)))
    (output,) = (await completed(ledger)).outputs
    assert (output.input_tokens, output.output_tokens) == (None, None)


async def test_a_summarizer_may_give_any_text_as_the_reason_of_a_failure() -> None:
    ledger = await of_one(Own(SummarizerFailed("overloaded", "half \ud800 \x00 " + "x" * 9_000)))  # type: ignore[arg-type]
    assert await outcomes(ledger) == ["requested", "failed error"]
    detail = (await ledger.get_events("s"))[-1].payload.detail
    assert detail.startswith("half ? ? xxx")
    assert len(detail) == 500


@pytest.mark.parametrize(
    "wrong", [5, "a prompt", Own("x", method="mine"), Own("x", method="imported"), Own("x", model=5)]
)
def test_what_could_not_summarise_or_not_be_recorded_is_refused_at_once(wrong: Any) -> None:
    ledger = ledger_over(InMemoryStore())
    with pytest.raises(InvalidInput) as refusal:
        ledger.set_summarizer(None, wrong)
    assert refusal.value.code == "bad_summarizer"


async def test_the_heuristic_itself_may_be_chosen(endpoint: Endpoint) -> None:
    ledger = await of_one(Extractive())
    assert (await completed(ledger)).method == "heuristic"


async def test_a_manual_compaction_that_fails_names_the_reason() -> None:
    ledger = await of_one(raises)
    with pytest.raises(CompactionNotCompleted) as failure:
        await ledger.compress("s", force=True)
    assert failure.value.reason == "error"
