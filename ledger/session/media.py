"""What is known of bytes that a request carries, such as an image: its measure, and the tokens that this costs.

A measure is text: ``160x120`` pixels of an image, ``p12`` pages of a PDF, ``a48000`` bytes of audio, ``900`` bytes of
anything else. Source: R-TOK-8.
"""

import re
from base64 import b64decode
from math import ceil
from typing import Final, Literal

Rule = Literal["anthropic", "openai", "gemini"]
MEASURE: Final = re.compile(r"\d{1,6}x\d{1,6}|[pa]?\d{1,12}")
#: An image of unknown size: the most that one costs at Anthropic's ordinary resolution.
FLAT_IMAGE: Final = 1_600
#: A page of a PDF, or a document of which only the address is known: Anthropic names 1,500 to 3,000.
FLAT_PAGE: Final = 3_000
_LONG_EDGE, _PIXELS_PER_TOKEN = 1_568, 750  # Anthropic
_LOW, _TILE, _TILE_TOKENS, _PATCH, _MOST_PATCHES = 85, 512, 170, 32, 1_536  # OpenAI
_SMALL, _GEMINI_TILE, _GEMINI_TOKENS = 384, 768, 258
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_JPEG_SIZES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_AUDIO: Final = (b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")
_AUDIO_BYTES_PER_TOKEN: Final = 500  # 128 kbit/s of audio at Gemini's 32 tokens for a second
_BYTES_PER_TOKEN: Final = 4


def measured(content: bytes) -> str:
    """Return the measure of *content*, by its first bytes; that of a PDF by the pages that it names."""
    if (size := image_size(content)) is not None:
        return f"{size[0]}x{size[1]}"
    if content[:5] == b"%PDF-":
        pages = len(_PAGE.findall(content))
        return f"p{pages or max(1, len(content) // 50_000)}"  # pages in compressed objects: by an ordinary size
    if content.startswith(_AUDIO) or (content[:4] == b"RIFF" and content[8:12] == b"WAVE"):
        return f"a{len(content)}"
    return str(len(content))


def measured_base64(text: str) -> str:
    """Return the measure of the bytes that *text* is in base64; of what is no base64, its length in characters."""
    try:
        return measured(b64decode(text, validate=False))
    except ValueError:
        return str(len(text))


def tokens_of(measure: str, rule: Rule, *, is_low: bool = False) -> int:
    """Return what the medium with *measure* costs by the published *rule*; *is_low* is OpenAI's ``detail: low``."""
    if "x" in measure:
        width, height = map(int, measure.split("x"))
        return image_tokens(width, height, rule, is_low=is_low)
    if measure[0] == "p":
        return int(measure[1:]) * FLAT_PAGE
    if measure[0] == "a":
        return -(-int(measure[1:]) // _AUDIO_BYTES_PER_TOKEN)
    return -(-int(measure) // _BYTES_PER_TOKEN)


def image_tokens(width: int, height: int, rule: Rule, *, is_low: bool = False) -> int:
    """Return the tokens of an image of *width* x *height* pixels.

    Anthropic: width x height / 750, after it is made to fit 1,568 pixels and some 1,600 tokens. OpenAI: the larger of
    85 + 170 for each tile of 512 pixels, and one for each patch of 32, since the model is not known. Gemini: 258, or
    258 for each tile of 768 pixels.
    """
    width, height = max(1, width), max(1, height)
    if rule == "anthropic":
        scale = min(1.0, _LONG_EDGE / max(width, height))
        return min(FLAT_IMAGE, ceil(width * height * scale**2 / _PIXELS_PER_TOKEN))
    if rule == "gemini":
        if max(width, height) <= _SMALL:
            return _GEMINI_TOKENS
        return _GEMINI_TOKENS * ceil(width / _GEMINI_TILE) * ceil(height / _GEMINI_TILE)
    if is_low:
        return _LOW
    scale = min(1.0, 2_048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = ceil(width * scale / _TILE) * ceil(height * scale / _TILE)
    patches = min(_MOST_PATCHES, ceil(width / _PATCH) * ceil(height / _PATCH))
    return max(_LOW + _TILE_TOKENS * tiles, patches)


def image_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF, JPEG or WebP by its header; None of anything else."""
    if content[:8] == b"\x89PNG\r\n\x1a\n" and len(content) >= 24:
        size = _number(content[16:20]), _number(content[20:24])
    elif content[:6] in (b"GIF87a", b"GIF89a") and len(content) >= 10:
        size = _little(content[6:8]), _little(content[8:10])
    elif content[:4] == b"RIFF" and content[8:12] == b"WEBP" and len(content) >= 30:
        size = _webp(content)
    elif content[:2] == b"\xff\xd8":
        size = _jpeg(content)
    else:
        return None
    return size if all(0 < side < 1_000_000 for side in size) else None


def _jpeg(content: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_SIZES:
            return _number(content[at + 7 : at + 9]), _number(content[at + 5 : at + 7])
        if marker == 0xFF:  # a byte of filling
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # a marker without a length
            at += 2
        else:
            at += 2 + max(2, _number(content[at + 2 : at + 4]))
    return 0, 0


def _webp(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8 ":
            return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(content[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case _:
            return 0, 0


def _number(content: bytes) -> int:
    return int.from_bytes(content, "big")


def _little(content: bytes) -> int:
    return int.from_bytes(content, "little")
