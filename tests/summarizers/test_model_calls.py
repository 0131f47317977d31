"""Calls of models are counted by model and outcome; so many models that a config could name are counted as others."""

import pytest

from ledger.errors import EmbedderFailed
from ledger.llm.summarizers.model_answers import CountedEmbedder, ModelCalls
from ledger.ports import SummaryText
from projections.prompts import SummaryRequest


class Model:
    method, model = "llm", "own"

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        return SummaryText("text", 2, None)


async def test_a_config_cannot_make_series_without_end() -> None:
    calls = ModelCalls()
    for number in range(1_000):
        await calls.answer(Model(), SummaryRequest(messages=(), template_hash="", model=f"m{number}"))
    assert len(calls.ended) == 101
    assert calls.ended["other", "ok"] == 900
    assert calls.tokens["other", "input"] == 1_800


async def test_counts_of_another_process_are_added_once() -> None:
    calls, others = ModelCalls(), ModelCalls()
    for each in (calls, others, others):
        await each.answer(Model(), SummaryRequest(messages=(), template_hash=""))
    calls.add(others.take())
    calls.add(others.take())
    assert (calls.ended, calls.tokens["own", "input"]) == ({("own", "ok"): 3}, 6)


async def test_calls_of_an_embedder_are_counted() -> None:
    class Embedder:
        model = "vectors"

        async def embed(self, texts: object) -> list[list[float]]:
            if not texts:
                raise EmbedderFailed("no")
            return [[1.0]]

    calls = ModelCalls()
    embedder = CountedEmbedder(Embedder(), calls)
    assert await embedder.embed(["a"]) == [[1.0]]
    with pytest.raises(EmbedderFailed):
        await embedder.embed([])
    assert calls.ended == {("vectors", "ok"): 1, ("vectors", "error"): 1}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("A summary.", "ok"),
        ("", "empty"),
        (" \n", "empty"),
        ("<think>Hm.</think>", "empty"),
        ("I'm sorry, I cannot help with that.", "invalid_output"),
        ("As an AI language model, I do not summarize.", "invalid_output"),
        ("a\0b", "invalid_output"),
        ("x" * 2_000_000, "invalid_output"),
    ],
)
async def test_an_answer_that_nobody_can_use_is_not_counted_as_ok(text: str, outcome: str) -> None:
    class Answering(Model):
        async def summarize(self, request: SummaryRequest) -> SummaryText:
            return SummaryText(text, 2, 1)

    calls = ModelCalls()
    await calls.answer(Answering(), SummaryRequest(messages=(), template_hash=""))
    assert calls.ended == {("own", outcome): 1}
    assert calls.tokens == {("own", "input"): 2, ("own", "output"): 1}, "it was paid for"
