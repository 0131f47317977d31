"""What a request carries of an entry beside its text: the texts and media in its data. Source: R-TOK-8."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ledger.session.attachments import DATA_URL, measure_of
from ledger.session.media import FLAT_IMAGE, FLAT_PAGE, Rule, measured_base64, tokens_of
from projections.entries import Entry

#: How the name of a tokenizer ends in an entry whose count has more than its text.
BY_REQUEST: Final = "+request"
#: Parts of the data that say the entry's own text, too, in the shape of its provider; what goes with it.
_SAME: Final = ("content", "item", "output", "text", "call")
_THOUGHTS: Final = ("thinking", "thought", "reasoning", "reasoning_content", "reasoning_details")
_MORE: Final = (*_THOUGHTS, "block", "result", "audio")
#: What of an adapter's item is sent, where that is not all of it.
_SENT_OF_ITEM: Final[Mapping[str, str]] = {"claude-agent": "message", "google-adk": "content", "langchain": "data"}
#: Bookkeeping that no model reads, or that an entry of its own says.
_NOT_SENT: Final = frozenset(
    {"id", "type", "role", "status", "usage", "model", "stop_reason", "stop_sequence", "cache_control", "tool_calls"}
    | {"call_id", "tool_use_id", "tool_call_id", "container_id", "media_type", "mime_type", "mimeType", "detail"}
    | {"format", "response_metadata", "usage_metadata", "annotations", "logprobs", "timestamp", "finish_reason"}
    | {"tool_use", "part_kind", "kind", "run_id", "provider_name", "provider_details", "index"}
)
_IMAGES: Final = frozenset({"image", "image_url", "input_image", "computer_screenshot", "image-url", "image_file"})
_FILES: Final = frozenset(
    {"document", "file", "input_file", "container_upload", "document-url", "uploaded-file", "video-url", "audio-url"}
)
_BASE64: Final = frozenset({"data", "file_data", "result", "base64"})
_GEMINI: Final = frozenset({"inline_data", "inlineData", "file_data", "fileData"})
_LEAST_BASE64: Final = 256


class CountedParts(NamedTuple):
    """*same*: texts that the entry's own text may repeat; *more*: others; *media*: tokens of images and files."""

    same: str
    more: str
    media: int


def counted_parts(data: Any) -> CountedParts | None:
    """Return what a request carries of *data*; None if it is nothing, as of data that a program keeps for itself."""
    if not isinstance(data, dict):
        return None
    found = _Walk()
    same, more = list[str](), list[str]()
    sdk = data.get("sdk")
    if isinstance(sdk, str):
        item = data.get("item")
        part = _SENT_OF_ITEM.get(sdk)
        sent = item.get(part) if part and isinstance(item, dict) else item
        (more if "at" in data else same).extend(found.texts(sent))
        same += [data["json"]] if isinstance(data.get("json"), str) else []
        found.media += sum(_large(each) for each in data.get("large") or () if isinstance(each, dict))
    else:
        for key in _SAME:
            if key in data:
                same.extend(found.texts(data[key], key))
    if not isinstance(sdk, str) or "serde" in data:  # the item of others has the thinking, too
        for key in _MORE:
            if key in data:
                more.extend(found.texts(data[key], key))
    if not same and not more and not found.media:
        return None
    return CountedParts("\n".join(same), "\n".join(more), found.media)


def counted_by_text(entry: Entry) -> bool:
    """Tell whether an older release counted *entry* by its text alone, although a request carries more of it."""
    is_older = not entry.tokenizer.endswith(BY_REQUEST) and entry.tokenizer != "caller"
    return (
        is_older and entry.edited_version is None and entry.data is not None and counted_parts(entry.data) is not None
    )


class _Walk:
    """A walk through blocks: yields their texts and sums up the tokens of media."""

    def __init__(self) -> None:
        self.media = 0

    def texts(self, value: Any, key: str = "", rule: Rule = "openai", is_low: bool = False) -> Iterator[str]:
        if isinstance(value, str):
            measure = _measure(value, key)
            if measure is None:
                yield value
            else:
                self.media += tokens_of(measure, rule, is_low=is_low)
        elif isinstance(value, list):
            for each in value:
                yield from self.texts(each, key, rule, is_low)
        elif isinstance(value, dict):
            yield from self._block(value, key, rule, is_low)
        elif value is not None and not isinstance(value, bool):
            yield str(value)

    def _block(self, block: dict[str, Any], key: str, rule: Rule, is_low: bool) -> Iterator[str]:
        kind = str(block.get("type") or block.get("kind"))
        if key in _GEMINI and isinstance(block.get("data") or block.get("mimeType") or block.get("mime_type"), str):
            rule = "gemini"
        elif isinstance(block.get("source"), dict) or (kind == "base64" and "media_type" in block):
            rule = "anthropic"
        is_low = is_low or block.get("detail") == "low"
        before = self.media
        is_medium = kind in _IMAGES or kind in _FILES
        texts = list[str]()
        for name, each in block.items():
            if name not in _NOT_SENT:
                texts.extend(self.texts(each, name, rule, is_low))
        yield from texts
        if is_medium and self.media == before and not _says_text(block):  # only its address or id is known
            flat = FLAT_IMAGE if kind in _IMAGES else FLAT_PAGE
            self.media += tokens_of("1x1", "openai", is_low=True) if is_low else flat


def _says_text(block: Mapping[str, Any]) -> bool:
    """Tell whether a document is given as text."""
    source = block.get("source")
    return isinstance(source, dict) and source.get("type") in {"text", "content"}


def _measure(text: str, key: str) -> str | None:
    """Return the measure of bytes that are in *text*, or elsewhere under the digest that it names; None of text."""
    if (known := measure_of(text)) is not None:
        return known
    if len(text) < _LEAST_BASE64 and not text.startswith("data:"):
        return None
    if url := DATA_URL.match(text):
        return measured_base64(url[2])
    return measured_base64(text) if key in _BASE64 and _looks_like_base64(text) else None


def _looks_like_base64(text: str) -> bool:
    return text[:256].isascii() and not any(sign.isspace() for sign in text[:256])


def _large(stored: Mapping[str, Any]) -> int:
    measure = stored.get("measure")
    return tokens_of(measure, "anthropic") if isinstance(measure, str) else FLAT_PAGE
