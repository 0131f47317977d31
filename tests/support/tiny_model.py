"""A tiny embedding model: an ONNX file that looks each token up in a table, and a tokenizer of a dozen words."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CONCEPTS = (("dog", "retriever", "puppy"), ("car", "engine", "garage"), ("query", "passage", ":"))
WORDS = ("[UNK]", "[CLS]", "[SEP]", *(word for concept in CONCEPTS for word in concept))


def write_tiny_model(folder: Path, files: Mapping[str, object] | None = None, *, scale: float = 1.0) -> Path:
    """Write the model and *files*, JSON by path, into *folder*; words of one concept have the same vector.

    The vector of a concept is *scale* in the concept's place, that of [CLS] is (0, 0, 0, 1).
    """
    folder.mkdir(parents=True, exist_ok=True)
    table = [[scale * (word in concept) for concept in CONCEPTS] + [float(word == "[CLS]")] for word in WORDS]
    (folder / "model.onnx").write_bytes(_looks_up(table))
    for name, content in {"tokenizer.json": tokenizer(), **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def tokenizer(**changes: Any) -> dict[str, Any]:
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    parts = ({"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}})
    single = [{kind: {**each, "type_id": 0} for kind, each in part.items()} for part in parts]
    return {
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": None,
        "added_tokens": [_special(name) for name in WORDS[:3]],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: number for number, word in enumerate(WORDS)},
        },
        **changes,
    }


def _special(word: str) -> dict[str, object]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": WORDS.index(word), "content": word, "special": True, **flags}


def _looks_up(table: Sequence[Sequence[float]]) -> bytes:
    """Return the graph ``last_hidden_state = Gather(table, input_ids)``; the numbers are those of ONNX's fields."""
    raw = b"".join(struct.pack("<f", value) for row in table for value in row)
    weights = _fields((1, len(table)), (1, len(table[0])), (2, 1), (8, b"table"), (9, raw))
    node = _fields((1, b"table"), (1, b"input_ids"), (2, b"last_hidden_state"), (4, b"Gather"))
    inputs = [(11, _tensor(name, 7, b"batch", b"tokens")) for name in (b"input_ids", b"attention_mask")]
    output = _tensor(b"last_hidden_state", 1, b"batch", b"tokens", b"width")
    graph = _fields((1, node), (2, b"tiny"), (5, weights), *inputs, (12, output))
    return _fields((1, 8), (7, graph), (8, _fields((1, b""), (2, 17))))


def _tensor(name: bytes, kind: int, *dimensions: bytes) -> bytes:
    shape = _fields(*((1, _fields((2, each))) for each in dimensions))
    return _fields((1, name), (2, _fields((1, _fields((1, kind), (2, shape))))))


def _fields(*fields: tuple[int, int | bytes]) -> bytes:
    """Return the fields of a protobuf message."""
    message = b""
    for number, value in fields:
        if isinstance(value, int):
            message += _varint(number << 3) + _varint(value)
        else:
            message += _varint(number << 3 | 2) + _varint(len(value)) + value
    return message


def _varint(value: int) -> bytes:
    head, rest = value & 0x7F, value >> 7
    return bytes([head | 0x80]) + _varint(rest) if rest else bytes([head])
