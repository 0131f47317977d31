"""Whatever a model answers, only a usable summary hides entries. Source: R-CMP-3, R-CMP-6; trust M-2, M-3, I-53."""

import pytest

from ledger.errors import CompactionNotCompleted
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.model_endpoint import (
    Behaviour,
    Endpoint,
    drip,
    echo,
    gives,
    hang,
    hang_up,
    raw,
    says,
    status,
)
from tests.support.model_scene import LONG, SMALL, TRIGGER, completed, messages, model_at, outcomes, said, talk

BAD_ANSWERS = {
    "nothing": (says(""), "empty"),
    "null": (says(None), "empty"),
    "blanks": (says(" \n\t "), "empty"),
    "only thoughts": (says("<think>let me see</think>\n"), "empty"),
    "thoughts without end": (says("<think>let me see, the user wants"), "empty"),
    "the prompt": (echo, "no_gain"),
    "more than its source": (says(LONG), "no_gain"),
    "10 MB": (says("x " * 5_000_000), "invalid_output"),
    "10 MB in one word": (says("x" * 10_000_000), "invalid_output"),
    "a refusal": (says("I'm sorry, but I can't help with that."), "invalid_output"),
    "a typographic refusal": (says("I\u2019m sorry, but I can\u2019t help with that."), "invalid_output"),
    "a refusal in its field": (says(None, refusal="I won't."), "invalid_output"),
    "no prior history": (says("No prior history."), "invalid_output"),
    "cut off": (says("They spoke of the", finish_reason="length"), "invalid_output"),
    "NUL": (says("A sum\x00mary."), "invalid_output"),
    "half a character": (raw(b'{"choices":[{"message":{"content":"\\ud800"}}]}'), "invalid_output"),
    "no choices": (gives({"choices": []}), "invalid_output"),
    "choices missing": (gives({"object": "chat.completion"}), "invalid_output"),
    "a list of parts": (says([{"type": "text", "text": "A summary."}]), "invalid_output"),
    "a bare list": (gives([1, 2]), "invalid_output"),
    "no JSON": (raw(b"<html>busy</html>"), "invalid_output"),
    "half a JSON": (raw(b'{"choices": [{"message": {"cont'), "invalid_output"),
    "bytes": (raw(b"\xff\xfe\x00"), "invalid_output"),
    "429": (status(429), "error"),
    "500": (status(500), "error"),
    "401": (status(401), "error"),
    "a closed connection": (hang_up, "error"),
}
#: Those that another store might choke on.
ODD = ("NUL", "half a character", "10 MB", "bytes")


@pytest.mark.parametrize(("behaviour", "reason"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
async def test_a_bad_answer_is_recorded_as_a_failure_and_hides_nothing(
    small: MemoryLedger, endpoint: Endpoint, behaviour: Behaviour, reason: str
) -> None:
    endpoint.answers(behaviour)
    await talk(small)
    await small.settle()
    assert await outcomes(small) == ["requested", f"failed {reason}"]
    assert await said(small) == messages(1, TRIGGER)
    stats = await small.get_stats("s")
    assert (stats.total_entries, stats.active_entries, stats.summaries) == (TRIGGER, TRIGGER, 0)
    assert (await small.verify()).ok


@pytest.mark.parametrize(("behaviour", "reason"), [BAD_ANSWERS[name] for name in ODD], ids=ODD)
async def test_a_bad_answer_can_be_recorded_in_every_store(
    on_store: MemoryLedger, endpoint: Endpoint, behaviour: Behaviour, reason: str
) -> None:
    endpoint.answers(behaviour)
    await talk(on_store)
    await on_store.settle()
    assert await outcomes(on_store) == ["requested", f"failed {reason}"]
    assert await said(on_store) == messages(1, TRIGGER)


@pytest.mark.parametrize("behaviour", [hang, drip])
async def test_an_answer_that_does_not_end_fails_at_the_deadline(
    endpoint: Endpoint, store: Store, namespace: str, behaviour: Behaviour
) -> None:
    endpoint.answers(behaviour)
    async with (
        model_at(endpoint, timeout_s=0.3, max_retries=2) as model,
        MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=model) as ledger,
    ):
        await talk(ledger)
        await ledger.settle()
        assert await outcomes(ledger) == ["requested", "failed timeout"]
        assert await said(ledger) == messages(1, TRIGGER)


async def test_odd_usage_does_not_spoil_a_good_answer(on_store: MemoryLedger, endpoint: Endpoint) -> None:
    """A count of the wrong type, once stored, would make the session unreadable for ever."""
    endpoint.answers(
        says("A summary.", usage={"prompt_tokens": "120", "completion_tokens": -1.5, "total_tokens": None})
    )
    await talk(on_store)
    await on_store.settle()
    (output,) = (await completed(on_store)).outputs
    assert (output.input_tokens, output.output_tokens) == (None, None)
    assert await said(on_store) == messages(TRIGGER, TRIGGER)


async def test_a_manual_compaction_tells_its_caller_what_failed(small: MemoryLedger, endpoint: Endpoint) -> None:
    await talk(small, 4)
    endpoint.answers(says(""))
    with pytest.raises(CompactionNotCompleted, match=r"empty.*every entry is still in the window") as failure:
        await small.compress("s")
    assert failure.value.reason == "empty"
    assert await said(small) == messages(1, 4)


@pytest.mark.parametrize(("behaviour", "error"), [(status(500), "error: "), (says(""), "empty: "), (echo, "no_gain: ")])
async def test_on_failure_heuristic_completes_without_the_model_and_records_its_error(
    endpoint: Endpoint, store: Store, namespace: str, behaviour: Behaviour, error: str
) -> None:
    endpoint.answers(behaviour)
    config = {**SMALL, "onFailure": "heuristic"}
    async with (
        model_at(endpoint) as model,
        MemoryLedger.open(namespace=namespace, store=store, config=config, summarizer=model) as ledger,
    ):
        await talk(ledger)
        await ledger.settle()
        created = await completed(ledger)
        assert (created.method, created.model, created.outputs) == ("heuristic", None, ())
        assert created.error is not None
        assert created.error.startswith(error)
        assert created.text.startswith("[Previous conversation summary]\n5 user messages")
        assert await said(ledger) == messages(TRIGGER, TRIGGER)
