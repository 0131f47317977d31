"""Random messages of all provider shapes whose cost in a request is known: texts by words, media by size."""

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import Any, Final

from ledger.tokenizers import encoding

WORDS: Final = ["compost", "heap", "tomato", "water", "lever", "gravel", "spade", "winter", "beetroot", "fence"]
Made = tuple[list[dict[str, Any]], int]  # messages, and the tokens that a request needs for them
_CALL: Final = {"name": "look", "input": {}}


def png(width: int, height: int) -> bytes:
    """Return the header of a PNG, padded to the size of a small picture."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height)


def jpeg(width: int, height: int) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF" + bytes(10)
    return b"\xff\xd8" + app + b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3)


def webp(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + sides


IMAGES: Final[dict[str, Callable[[int, int], bytes]]] = {"png": png, "gif": gif, "jpeg": jpeg, "webp": webp}


def tokens(text: str) -> int:
    return len(encoding("o200k_base").encode_ordinary(text))


def words(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.choice((1, 20, 400, 2000))))


def image(random: Random) -> tuple[str, str, int, int]:
    """Return an image's media type, its base64, and its sides."""
    kind, width, height = random.choice(sorted(IMAGES)), random.randint(1, 3000), random.randint(1, 3000)
    content = IMAGES[kind](width, height).ljust(600, b"\x01")
    return f"image/{kind}", b64encode(content).decode(), width, height


def anthropic_cost(width: int, height: int) -> int:
    """Return the least that an image costs: of what fits, width x height / 750; of others about 1,500, if not slim."""
    if max(width, height) > 1568:
        width, height = width * 1568 // max(width, height), height * 1568 // max(width, height)
    return min(1_500, width * height // 750)


def openai_cost(width: int, height: int) -> int:
    return 255 if min(width, height) < 512 else 765 if max(width, height) < 1_024 else 425


def _user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "read"}, *blocks]}]


def _after(text: str, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [*blocks, {"type": "text", "text": "ok"}]},
    ]


def _answered(content: Any, **call: Any) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", **_CALL, **call}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]},
    ]


def _item(**item: Any) -> list[dict[str, Any]]:
    said = {"type": "message", "role": "assistant", "id": "m", "status": "completed"}
    return [
        {"role": "user", "content": "go"},
        item,
        {**said, "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
    ]


def _text(make: Callable[[str], list[dict[str, Any]]]) -> Callable[[Random], Made]:
    def made(random: Random) -> Made:
        text = words(random)
        return make(text), tokens(text)

    return made


def _image(
    make: Callable[[str, str], list[dict[str, Any]]], cost: Callable[[int, int], int]
) -> Callable[[Random], Made]:
    def made(random: Random) -> Made:
        media, data, width, height = image(random)
        return make(media, data), cost(width, height)

    return made


def _source(media: str, data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def _pdf(random: Random) -> Made:
    pages = random.randint(1, 9)
    data = b64encode(b"%PDF-1.7\n" + b"<< /Type /Page >>\n" * pages + b"<< /Type /Pages >>".ljust(900)).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return _user({"type": "document", "source": source}), pages * 1_500


def _file(text: str) -> list[dict[str, Any]]:
    data = "data:text/plain;base64," + b64encode(text.encode()).decode()
    return _user({"type": "file", "file": {"filename": "a.txt", "file_data": data}})


def _called(text: str) -> list[dict[str, Any]]:
    function = {"name": "look", "arguments": json.dumps({"t": text})}
    call = {"id": "c", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]


#: Each kind of block of each shape: how to make messages with it.
KINDS: Final[dict[str, Callable[[Random], Made]]] = {
    "text": _text(lambda text: [{"role": "user", "content": text}]),
    "anthropic text": _text(lambda text: _user({"type": "text", "text": text})),
    "anthropic image": _image(lambda media, data: _user(_source(media, data)), anthropic_cost),
    "anthropic image in a result": _image(lambda media, data: _answered([_source(media, data)]), anthropic_cost),
    "anthropic image by address": lambda _: (
        _user({"type": "image", "source": {"type": "url", "url": "https://e.example/a.png"}}),
        1_500,
    ),
    "anthropic document": _text(
        lambda text: _user({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}})
    ),
    "anthropic document of blocks": _text(
        lambda text: _user(
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": text}]}}
        )
    ),
    "anthropic pdf": _pdf,
    "anthropic document by id": lambda _: (
        _user({"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
        1_500,
    ),
    "anthropic search result": _text(
        lambda text: _user(
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": text}]}
        )
    ),
    "anthropic thinking": _text(lambda text: _after("go", {"type": "thinking", "thinking": text, "signature": "s"})),
    "anthropic signature": _text(lambda text: _after("go", {"type": "thinking", "thinking": "hm", "signature": text})),
    "anthropic redacted thinking": _text(lambda text: _after("go", {"type": "redacted_thinking", "data": text})),
    "anthropic call": _text(lambda text: _answered("ok", input={"t": text})),
    "anthropic result": _text(_answered),
    "anthropic result of blocks": _text(lambda text: _answered([{"type": "text", "text": text}])),
    "anthropic document in a result": _text(
        lambda text: _answered([{"type": "document", "source": {"type": "text", "data": text}}])
    ),
    "anthropic web search": _text(
        lambda text: _after(
            "go",
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "w",
                "content": [{"type": "web_search_result", "url": "https://e.example", "encrypted_content": text}],
            },
        )
    ),
    "anthropic code execution": _text(
        lambda text: _after(
            "go",
            {"type": "server_tool_use", "id": "w", "name": "code_execution", "input": {"code": "1"}},
            {
                "type": "code_execution_tool_result",
                "tool_use_id": "w",
                "content": {"type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0},
            },
        )
    ),
    "responses reasoning": _text(
        lambda text: _item(type="reasoning", id="rs", summary=[{"type": "summary_text", "text": text}])
    ),
    "responses encrypted reasoning": _text(
        lambda text: _item(type="reasoning", id="rs", summary=[], encrypted_content=text)
    ),
    "responses code interpreter": _text(
        lambda text: _item(type="code_interpreter_call", id="ci", code=text, status="completed", outputs=[])
    ),
    "responses output of code": _text(
        lambda text: _item(type="code_interpreter_call", id="ci", code="1", outputs=[{"type": "logs", "logs": text}])
    ),
    "responses file search": _text(
        lambda text: _item(type="file_search_call", id="fs", queries=["x"], results=[{"text": text, "score": 0.5}])
    ),
    "responses call": _text(
        lambda text: [
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": json.dumps({"t": text})},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ]
    ),
    "responses output": _text(
        lambda text: [
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": text}]},
        ]
    ),
    "responses image": _image(
        lambda media, data: [
            {"role": "user", "content": [{"type": "input_image", "image_url": f"data:{media};base64,{data}"}]}
        ],
        openai_cost,
    ),
    "responses compaction": _text(lambda text: _item(type="compaction", id="cm", encrypted_content=text)),
    "chat image": _image(
        lambda media, data: _user({"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}),
        openai_cost,
    ),
    "chat image, low detail": lambda random: (
        _user(
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{image(random)[1]}", "detail": "low"},
            }
        ),
        85,
    ),
    "chat file": _text(_file),
    "chat audio": lambda random: (
        _user(
            {
                "type": "input_audio",
                "input_audio": {"format": "wav", "data": b64encode(b"RIFF....WAVE" + bytes(96_000)).decode()},
            }
        ),
        20,  # 2 s at OpenAI's 10 tokens a second
    ),
    "chat call": _text(_called),
}
