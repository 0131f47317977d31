"""Parts of a message that are no text, from any shape into any: images, files and audio."""

import re
from typing import Any, Final, NamedTuple

from ledger.events import JsonObject

_DATA_URL: Final = re.compile(r"data:([^;,]*)[^,]*;base64,(.*)\Z", re.DOTALL)
_PDF: Final = "application/pdf"


class ContentPart(NamedTuple):
    """A part: its text, or a medium that is at *url*, which may be a ``data:`` URL; *raw* as it was given."""

    raw: JsonObject
    kind: str  # "text", "image", "file", "audio" or "other"
    text: str = ""
    url: str = ""
    name: str | None = None

    @property
    def type(self) -> str:
        """The type that its shape gives it."""
        return str(self.raw.get("type"))


def parts_of(content: Any) -> list[ContentPart]:
    """Return the parts of a message's content, of whatever shape; none if it is no list of parts."""
    if not isinstance(content, list) or not all(isinstance(raw, dict) for raw in content):
        return []
    return [_part(raw) for raw in content]


def media_of(url: str) -> tuple[str, str] | None:
    """Return the media type and the base64 text of a ``data:`` URL; None of any other."""
    found = _DATA_URL.match(url)
    return (found[1] or "application/octet-stream", found[2]) if found else None


def named(part: ContentPart) -> str:
    """Return what stands for a part where it cannot be shown: its type."""
    return part.text or f"[{part.type}]"


def _part(raw: JsonObject) -> ContentPart:
    kind = raw.get("type")
    match kind:
        case "text" | "input_text" | "output_text":
            return ContentPart(raw, "text", str(raw.get("text", "")))
        case "image_url" | "input_image":
            return _medium(raw, "image", raw.get("image_url"))
        case "input_audio":
            return _audio(raw, raw.get("input_audio"))
        case "file":
            return _file(raw, raw.get("file"))
        case "input_file":
            return _file(raw, raw)
        case "image" | "document":
            return _source(raw, "image" if kind == "image" else "file", raw.get("source"))
        case _:
            return ContentPart(raw, "other")


def _medium(raw: JsonObject, kind: str, url: Any, name: Any = None) -> ContentPart:
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str):
        return ContentPart(raw, "other")
    return ContentPart(raw, kind, "", url, name if isinstance(name, str) else None)


def _audio(raw: JsonObject, audio: Any) -> ContentPart:
    if not isinstance(audio, dict):
        return ContentPart(raw, "other")
    return _medium(raw, "audio", f"data:audio/{audio.get('format')};base64,{audio.get('data')}")


def _file(raw: JsonObject, file: Any) -> ContentPart:
    if not isinstance(file, dict):
        return ContentPart(raw, "other")
    data = file.get("file_data")
    if isinstance(data, str) and not data.startswith("data:"):
        data = f"data:{_PDF};base64,{data}"
    return _medium(raw, "file", data or file.get("file_url"), file.get("filename"))


def _source(raw: JsonObject, kind: str, source: Any) -> ContentPart:
    match source:
        case {"type": "base64", "media_type": str(media), "data": str(data)}:
            return _medium(raw, kind, f"data:{media};base64,{data}", raw.get("title"))
        case {"type": "url", "url": str(url)}:
            return _medium(raw, kind, url, raw.get("title"))
        case {"type": "text", "data": str(text)}:
            return ContentPart(raw, "text", text)
        case _:
            return ContentPart(raw, "other")
