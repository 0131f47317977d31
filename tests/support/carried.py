"""Random messages of all provider shapes whose cost in a request is known: texts by words, media by size."""

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import Any, Final

from ledger.llm.tokenizers import encoding

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


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "read"}, *blocks]}]


def after(text: str, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [*blocks, {"type": "text", "text": "ok"}]},
    ]


def answered(content: Any, **call: Any) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", **_CALL, **call}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]},
    ]


def item(**item: Any) -> list[dict[str, Any]]:
    said = {"type": "message", "role": "assistant", "id": "m", "status": "completed"}
    return [
        {"role": "user", "content": "go"},
        item,
        {**said, "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
    ]


def from_text(make: Callable[[str], list[dict[str, Any]]]) -> Callable[[Random], Made]:
    def made(random: Random) -> Made:
        text = words(random)
        return make(text), tokens(text)

    return made


def from_image(
    make: Callable[[str, str], list[dict[str, Any]]], cost: Callable[[int, int], int]
) -> Callable[[Random], Made]:
    def made(random: Random) -> Made:
        media, data, width, height = image(random)
        return make(media, data), cost(width, height)

    return made


def source(media: str, data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def document(source: dict[str, Any]) -> dict[str, Any]:
    return {"type": "document", "source": source}


def pdf(random: Random) -> Made:
    pages = random.randint(1, 9)
    data = b64encode(b"%PDF-1.7\n" + b"<< /Type /Page >>\n" * pages + b"<< /Type /Pages >>".ljust(900)).decode()
    return user(document({"type": "base64", "media_type": "application/pdf", "data": data})), pages * 1_500


def text_file(text: str) -> list[dict[str, Any]]:
    data = "data:text/plain;base64," + b64encode(text.encode()).decode()
    return user({"type": "file", "file": {"filename": "a.txt", "file_data": data}})


def called(text: str) -> list[dict[str, Any]]:
    function = {"name": "look", "arguments": json.dumps({"t": text})}
    call = {"id": "c", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
