"""The key of a model is that of now at each call, wherever it comes from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.errors import EmbedderFailed, InvalidInput, SummarizerFailed
from ledger.llm.embedders.openai_embedder import OpenAIEmbedder
from ledger.llm.summarizers import configured_summarizer
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.settings import load_settings
from projections.prompts import ModelMessage, PromptPart, SummaryRequest
from tests.support.model_endpoint import Behaviour, Endpoint, Exchange, embeds, says

REQUEST = SummaryRequest(messages=(ModelMessage("user", (PromptPart("Summarize."),)),), template_hash="")


def noting(keys: list[str | None], behaviour: Behaviour) -> Behaviour:
    """Return *behaviour* that notes the key of the request first."""

    def answer(exchange: Exchange) -> None:
        keys.append(exchange.headers["Authorization"])
        behaviour(exchange)

    return answer


@pytest.mark.parametrize("source", ["environment", "file", "OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "function"])
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
    if source == "OPENAI_API_KEY_FILE":
        monkeypatch.setenv("OPENAI_API_KEY_FILE", str(file))
    sources: dict[str, Callable[[str], object]] = {
        "environment": lambda key: monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_API_KEY", key),
        "file": file.write_text,
        "OPENAI_API_KEY_FILE": file.write_text,
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


async def test_an_embedder_reads_the_file_of_the_key_for_each_call(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str | None] = []
    endpoint.answers(noting(keys, embeds(lambda _: [1.0])))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "key"))
    (tmp_path / "key").touch()
    embedder = OpenAIEmbedder(model="m", base_url=endpoint.url)
    for key in ("first", "second"):
        (tmp_path / "key").write_text(f"{key}\n")
        await embedder.embed(["a"])
    await embedder.close()
    assert keys == ["Bearer first", "Bearer second"]


def test_a_key_in_a_file_that_is_not_there_or_given_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for open_model in (OpenAISummarizer, OpenAIEmbedder):
        with pytest.raises(InvalidInput, match="OPENAI_API_KEY_FILE: must be a file that can be read"):
            open_model(model="m")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(InvalidInput, match="must not be set beside OPENAI_API_KEY"):
        configured_summarizer(load_settings(), model="m")


async def test_a_key_that_cannot_be_read_is_a_failure_of_the_call(endpoint: Endpoint) -> None:
    def fails() -> str:
        raise RuntimeError("hunter2")

    with pytest.raises(SummarizerFailed, match=r"could not be read: RuntimeError$"):
        await OpenAISummarizer(model="m", base_url=endpoint.url, api_key=fails).summarize(REQUEST)
    with pytest.raises(EmbedderFailed, match=r"could not be read: RuntimeError$"):
        await OpenAIEmbedder(model="m", base_url=endpoint.url, api_key=fails).embed(["a"])
