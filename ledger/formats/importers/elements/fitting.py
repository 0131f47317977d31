"""What no entry has room for: shown by its beginning or as text, and whole in its data or beside it.

Source: adapters IN-1.
"""

from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.limits import CONTENT_BYTES, METADATA_BYTES
from ledger.events.strict_json import BODY, check_value
from ledger.formats.importers.elements.damaged import TOO_COMPLEX, within
from ledger.formats.importers.elements.steps import HIDDEN, LINE_TYPE
from ledger.session.attachments import long_texts_taken_out
from ledger.session.entry_drafts import EntryDraft, draft_entry

_TOO_LARGE: Final = frozenset({"content_too_large", "data_too_large", "too_many_values"})
_BEGINNING: Final = CONTENT_BYTES // 8  # characters of a text that is too long to be content


def beginning(text: str) -> str:
    """Return *text*; of one over 1 MiB the first 131,072 characters, and how many more there are."""
    if len(text) * 4 <= CONTENT_BYTES or len(text.encode()) <= CONTENT_BYTES:
        return text
    return f"{text[:_BEGINNING]}… ({len(text) - _BEGINNING} more characters)"


def fitted(entry: JsonObject) -> JsonObject:
    """Return *entry* with the beginning of a text that is too long, and the whole in its data."""
    text = entry["content"]
    shown = beginning(text)
    if shown is text:
        return entry
    return {**entry, "content": shown, "data": {**(entry.get("data") or {}), "text": text}}


def fitted_draft(entry: JsonObject, attached: dict[str, bytes], *, field: str) -> EntryDraft:
    """Return the draft of a raw *entry* of any size; what the data has no room for goes into *attached*, by digest.

    JSON that is too deep, or has too many or long keys, becomes text where it is. Metadata over 16 KiB moves to
    the data.

    Raises:
        InvalidInput: it breaks another rule of entries.
    """
    entry = _with_less_metadata(entry)
    try:
        return draft_entry(entry, field=field)
    except InvalidInput as fault:
        if fault.code in TOO_COMPLEX:
            return fitted_draft(_simplified(entry), attached, field=field)
        if fault.code not in _TOO_LARGE:
            raise
    content, arguments, data = entry.get("content"), entry.get("arguments"), entry.get("data") or {}
    if isinstance(content, str):
        entry = fitted(entry)
    elif entry.get("kind") == "tool_call":
        entry = {**entry, "content": f"{entry['tool_name']}(…)"}
    if not _are_short(arguments):
        shown = _shortened(arguments)
        entry = {**entry, "arguments": shown if _are_short(shown) else None, "data": {"arguments": arguments, **data}}
    try:
        return draft_entry(entry, field=field)
    except InvalidInput as fault:
        if fault.code in TOO_COMPLEX:  # the data with the arguments in it
            return fitted_draft(_simplified(entry), attached, field=field)
        if fault.code not in _TOO_LARGE or not entry.get("data"):
            raise
    rest = long_texts_taken_out(entry["data"], attached)
    if len(canonical_json(rest)) > _BEGINNING:  # of many short texts
        rest = {"data": long_texts_taken_out(canonical_json(rest).decode(), attached)}
    return draft_entry({**entry, "data": rest}, field=field)


def _with_less_metadata(entry: JsonObject) -> JsonObject:
    """Return *entry* with metadata that is too large in its data (trust N-5)."""
    metadata = entry.get("metadata")
    if not metadata or len(canonical_json(metadata)) <= METADATA_BYTES:
        return entry
    marks = {key: metadata[key] for key in (HIDDEN, LINE_TYPE) if key in metadata}
    return {**entry, "metadata": marks or None, "data": {**(entry.get("data") or {}), "metadata": metadata}}


def _simplified(entry: JsonObject) -> JsonObject:
    """Return *entry* with JSON as text where it is too deep, or has too many or long keys."""
    shown = {name: within(value, BODY) for name, value in entry.items()}
    for name in ("data", "metadata"):  # are objects
        if isinstance(entry.get(name), dict) and isinstance(shown[name], str):
            shown[name] = {name: shown[name]}
    return shown


def _are_short(arguments: Any) -> bool:
    """Tell whether *arguments* have at most 1 MiB, and no more values than an entry may have."""
    try:
        check_value(arguments, field="arguments")
    except InvalidInput:
        return False
    return len(canonical_json(arguments)) <= CONTENT_BYTES


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    return beginning(value) if isinstance(value, str) else value
