"""The key of a model is that of now at each call, wherever it comes from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.embedders.openai import OpenAIEmbedder
from ledger.errors import EmbedderFailed, SummarizerFailed
from ledger.settings import load_settings
from ledger.summarizers import configured_summarizer
from ledger.summarizers.openai import OpenAISummarizer
from projections.prompts import ModelMessage, PromptPart, SummaryRequest
from tests.support.model_endpoint import Behaviour, Endpoint, Exchange, embeds, says

REQUEST = SummaryRequest(messages=(ModelMessage("user", (PromptPart("Summarize."),)),), template_hash="")


def noting(keys: list[str | None], behaviour: Behaviour) -> Behaviour:
    """Return *behaviour* that notes the key of the request first."""

    def answer(exchange: Exchange) -> None:
        keys.append(exchange.headers["Authorization"])
        behaviour(exchange)

    return answer


@pytest.mark.parametrize("source", ["environment", "file", "OPENAI_API_KEY", "function"])
async def test_each_call_has_the_key_of_now(
    endpoint: Endpoint, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str | None] = []
    endpoint.answers(noting(keys, says("ok")))
    file, given = tmp_path / "key", [""]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_BASE_URL", endpoint.url)
    monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_MODEL", "m")
    if source == "file":
        monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_API_KEY_FILE", str(file))
    sources: dict[str, Callable[[str], object]] = {
        "environment": lambda key: monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_API_KEY", key),
        "file": file.write_text,
        "OPENAI_API_KEY": lambda key: monkeypatch.setenv("OPENAI_API_KEY", key),
        "function": lambda key: given.__setitem__(0, key),
    }
    give = sources[source]
    give("first")
    if source == "function":
        model = OpenAISummarizer(model="m", base_url=endpoint.url, api_key=lambda: given[0])
    else:
        found = configured_summarizer(load_settings())
        assert found is not None
        model = found
    await model.summarize(REQUEST)
    give("second")
    await model.summarize(REQUEST)
    await model.close()
    assert keys == ["Bearer first", "Bearer second"]


async def test_an_embedder_asks_its_function_for_each_call(endpoint: Endpoint) -> None:
    keys: list[str | None] = []
    endpoint.answers(noting(keys, embeds(lambda _: [1.0])))
    valid = iter(["first", "second"])

    async def key() -> str:
        return next(valid)

    embedder = OpenAIEmbedder(model="m", base_url=endpoint.url, api_key=key)
    await embedder.embed(["a"])
    await embedder.embed(["a"])
    await embedder.close()
    assert keys == ["Bearer first", "Bearer second"]


async def test_a_key_that_cannot_be_read_is_a_failure_of_the_call(endpoint: Endpoint) -> None:
    def fails() -> str:
        raise RuntimeError("hunter2")

    with pytest.raises(SummarizerFailed, match=r"could not be read: RuntimeError$"):
        await OpenAISummarizer(model="m", base_url=endpoint.url, api_key=fails).summarize(REQUEST)
    with pytest.raises(EmbedderFailed, match=r"could not be read: RuntimeError$"):
        await OpenAIEmbedder(model="m", base_url=endpoint.url, api_key=fails).embed(["a"])
