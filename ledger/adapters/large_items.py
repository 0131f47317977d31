"""Items that are too large for an entry: long texts and bytes of them are stored beside it. Source: adapters LF-5."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from functools import reduce
from hashlib import sha256
from operator import getitem
from typing import Any, Final

from msgspec.structs import replace

from ledger.adapters.packed_items import packed, unpacked
from ledger.application.handle import NamespaceHandle
from ledger.application.writing.values_by_digest import read_by_digest
from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.ids import Stream
from ledger.events.limits import CONTENT_BYTES
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.fitting import beginning
from ledger.session.attachments import DATA_URL, SPACE, check_beside, decoded, parts_of
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.media import measured
from projections.entries import Entry

_TOO_LARGE: Final = frozenset({"content_too_large", "data_too_large"})
_LONG: Final = 64 * 1024  # characters of a text: a shorter one stays in the item
_REST: Final = 256 * 1024  # bytes of an item without its long texts: a larger one is stored beside the entry too


class LargeValues:
    """Bytes that the entries of one write need beside them, each once under its SHA-256."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._bytes = 0

    def add(self, content: bytes, *, field: str) -> list[str]:
        """Take *content* and return the digests of its parts, in their order.

        Raises:
            InvalidInput: ``too_large``: the write would store more than 80 MiB beside its entries.
        """
        parts = parts_of(content)
        digests = [sha256(part).hexdigest() for part in parts]
        for digest, part in zip(digests, parts, strict=True):
            if digest not in self._values:
                self._values[digest] = part
                self._bytes += len(part)
        check_beside(self._bytes, field=field)
        return digests

    def drafts(self) -> list[KeptDraft]:
        """Return the values to store in the write of the entries."""
        return [KeptDraft(space=SPACE, key=digest, value=part) for digest, part in self._values.items()]


def item_draft(sdk: str, item: JsonObject, derived: JsonObject, large: LargeValues, *, field: str = "") -> EntryDraft:
    """Return the entry with the fields *derived* from *item*, and the item in its data.

    Of an item over the limits of an entry, long texts and bytes go into *large*, and a long content is cut.

    Raises:
        InvalidInput: ``too_large``, as `LargeValues.add` says; or a field has what none of an entry may have.
    """
    content, beside = derived.get("content", ""), derived.get("data") or {}
    try:
        return draft_entry({**derived, "data": {**beside, **packed(sdk, item, content)}}, field=field)
    except InvalidInput as fault:
        if fault.code not in _TOO_LARGE:
            raise
    fitted = {**derived, "data": _packed(sdk, item, content, large, field)}
    if content:
        fitted["content"] = beginning(content)
    if len(canonical_json(derived.get("arguments"))) > CONTENT_BYTES:
        fitted["arguments"] = None
    return draft_entry(fitted, field=field)


def item_draft_or_plain(
    sdk: str, item: JsonObject, derived: JsonObject, plain: JsonObject, large: LargeValues, *, field: str = ""
) -> EntryDraft:
    """Return what `item_draft` does; with the fields *plain* if one *derived* has what none of an entry may have.

    Raises:
        InvalidInput: ``too_large``, as `LargeValues.add` says.
    """
    try:
        return item_draft(sdk, item, derived, large, field=field)
    except InvalidInput as fault:
        if fault.code == "too_large":
            raise
    return item_draft(sdk, item, plain, large, field=field)


async def with_large_values(handle: NamespaceHandle, stream: Stream, entries: list[Entry], version: int) -> list[Entry]:
    """Return *entries*, read at *version*, with what is stored beside them in their data: one look-up for all.

    Raises:
        LogCorrupted: a value is missing.
    """
    needing = [entry for entry in entries if isinstance(entry.data, dict) and "large" in entry.data]
    if not needing:
        return entries
    keys = {digest for entry in needing for each in entry.data["large"] for digest in each["parts"]}
    found = await read_by_digest(handle, stream, SPACE, keys, until=version)
    if len(found) < len(keys):
        raise LogCorrupted(f"session {stream.session_id} lacks a stored value; run `memory-ledger verify`")
    whole = {entry.version: _whole(entry, found) for entry in needing}
    return [whole.get(entry.version, entry) for entry in entries]


def _packed(sdk: str, item: JsonObject, content: str, large: LargeValues, field: str) -> JsonObject:
    """Return *item* as data that says which texts of it are in *large*, and the place of each."""
    shown, taken = beginning(content), list[JsonObject]()

    def without_long(value: Any, way: list[str | int]) -> Any:
        if isinstance(value, dict):
            return {key: without_long(each, [*way, key]) if clean(key) == key else each for key, each in value.items()}
        if isinstance(value, list):
            return [without_long(each, [*way, at]) for at, each in enumerate(value)]
        if not isinstance(value, str) or len(value) < _LONG or value == shown:
            return value
        taken.append({"at": way, **_stored(value, large, field), **({"shown": True} if value == content else {})})
        return None

    rest = without_long(item, [])
    data = packed(sdk, rest, shown)
    if len(canonical_json(data)) > _REST:
        data = packed(sdk, {}, "")
        taken = [{"at": [], **_stored(json.dumps(rest), large, field)}, *taken]
    return {**data, "large": taken}


def _stored(text: str, large: LargeValues, field: str) -> JsonObject:
    """Return where *text* is in *large*, as bytes if it is base64, and how to write it again."""
    url = DATA_URL.match(text)
    begin, rest = (url[1], url[2]) if url else ("", text)
    if content := decoded(rest):
        return {"as": "base64", "begin": begin, **_kept(content, large, field)}
    is_safe = "+" not in rest and "/" not in rest
    if is_safe and (content := decoded(rest.replace("-", "+").replace("_", "/"))):
        return {"as": "base64url", "begin": begin, **_kept(content, large, field)}
    return {"as": "text", "begin": "", **_kept(text.encode("utf-8", "surrogatepass"), large, field)}


def _kept(content: bytes, large: LargeValues, field: str) -> JsonObject:
    return {"parts": large.add(content, field=field), "measure": measured(content)}


def _text(stored: JsonObject, values: Mapping[str, bytes]) -> str:
    content = b"".join(values[digest] for digest in stored["parts"])
    if stored["as"] == "text":
        return content.decode("utf-8", "surrogatepass")
    encode = b64encode if stored["as"] == "base64" else urlsafe_b64encode
    return str(stored["begin"]) + encode(content).decode()


def _whole(entry: Entry, values: Mapping[str, bytes]) -> Entry:
    """Return *entry* with its whole item in the data, and the current text in the place of one that was edited."""
    item: Any = unpacked(entry.data["sdk"], entry)
    for stored in entry.data["large"]:
        text = _text(stored, values)
        if not stored["at"]:
            item = json.loads(text)
            continue
        *way, last = stored["at"]
        is_edited = stored.get("shown") and entry.content != beginning(text)
        reduce(getitem, way, item)[last] = entry.content if is_edited else text
    return replace(entry, data={"sdk": entry.data["sdk"], "v": entry.data["v"], "item": item})
