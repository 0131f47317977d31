"""What importers share: documents with their lines, conversations, and the creation of drafts."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, TypeAlias

import msgspec

from ledger.canonical import canonical_json
from ledger.errors import ImportRefused, InvalidInput
from ledger.events import JsonObject
from ledger.limits import METADATA_BYTES
from ledger.session.drafts import EntryDraft, draft_entry
from ledger.strict_json import TRANSCRIPT, parse

_NAME_REFUSED: Final = re.compile(r"[^A-Za-z0-9._:@+=,~-]+")
_ENDINGS: Final = {"json", "jsonl", "ndjson", "traj"}
_TOO_LARGE: Final = (
    f"a JSON document must have at most {TRANSCRIPT.size:,} bytes; write one message or conversation a line"
)
EMPTY: Final = "[empty message]"


#: Returns the line of a message, given its number from 0; all messages of one document have the document's line.
LineOf: TypeAlias = Callable[[int], int]


class Document(msgspec.Struct, frozen=True):
    """A JSON value and the line where it begins, from 1."""

    line: int
    value: Any


class Conversation(msgspec.Struct, frozen=True):
    """A session to import: its name, and one batch of entries for each original message (R-GEN-2)."""

    format: str
    session_id: str
    batches: tuple[tuple[EntryDraft, ...], ...]


class Importer(msgspec.Struct, frozen=True):
    """The importer of a format: ``detects(documents)`` by content, ``read(documents, name)``."""

    name: str
    detects: Callable[[Sequence[Document]], bool]
    read: Callable[[Sequence[Document], str], list[Conversation]]


def documents(source: bytes | Iterable[bytes]) -> list[Document]:
    """Return the documents in *source*: one for each line if the first line is complete JSON, otherwise one in all.

    *source* is the bytes of a file, or its lines, of which no more are read than a document may have.

    Raises:
        ImportRefused: with the number of the first bad line.
    """
    lines = (line + b"\n" for line in source.split(b"\n")) if isinstance(source, bytes) else source
    numbered = enumerate(lines, start=1)
    number, first = next(((number, line) for number, line in numbered if line.strip()), (1, b""))
    if not first:
        raise ImportRefused("empty_file", "the file is empty", line=1)
    if _is_whole(first):
        rest = (Document(at, _parse(line, at)) for at, line in numbered if line.strip())
        return [Document(number, _parse(first, number)), *rest]
    whole = bytearray(first)
    for _, line in numbered:
        whole += line
        if len(whole) > TRANSCRIPT.size:
            break  # `parse` refuses it
    return [Document(number, _parse(bytes(whole), number))]


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _parse(data: bytes, line: int) -> Any:
    try:
        return parse(data, TRANSCRIPT)
    except InvalidInput as fault:
        message = _TOO_LARGE if fault.code == "too_large" else str(fault)
        raise ImportRefused(fault.code, message, line=line + _lines_before(data, fault)) from None


def _lines_before(data: bytes, fault: InvalidInput) -> int:
    """Return how many lines of *data* are before *fault*, as far as its cause says."""
    match fault.__cause__:
        case json.JSONDecodeError(lineno=number):
            return number - 1
        case UnicodeDecodeError(start=place):
            return data.count(b"\n", 0, place)
        case _:
            return 0


@contextmanager
def shaped(where: str, *, line: int) -> Iterator[None]:
    """Refuse input whose fields do not have the types of the format; *where* names the place.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    try:
        yield
    except (AttributeError, KeyError, TypeError) as fault:
        raise ImportRefused("bad_shape", f"{where} does not have the shape of its format", line=line) from fault


def conversation(
    format_: str,
    session_id: str,
    messages: Sequence[list[JsonObject]],
    *,
    line_of: LineOf,
    about: JsonObject | None = None,
) -> Conversation:
    """Return a conversation of raw entries, one list for each original message.

    Ids of entries follow from place and content, so a second import finds them. *about*, the fields of the whole
    conversation, is stored in the data of the first entry.

    Raises:
        ImportRefused: an entry breaks a rule; *line_of* gives the line of its message.
    """
    name = session_name(session_id)
    batches: list[tuple[EntryDraft, ...]] = []
    for number, message in enumerate(messages):
        drafts: list[EntryDraft] = []
        for raw in message:
            whole = {"conversation": about} if about and not batches and not drafts else {}
            try:
                draft = draft_entry(_within_limits(raw, whole), field=f"{name}, message {number}")
            except InvalidInput as fault:
                raise ImportRefused(fault.code, str(fault), line=line_of(number)) from None
            drafts.append(draft)
        if drafts:
            batches.append(tuple(drafts))
    return renamed(Conversation(format_, name, tuple(batches)), name)


def renamed(found: Conversation, session_id: str) -> Conversation:
    """Return *found* as the session *session_id*; ids of entries follow from their place in it and their content."""
    name = session_name(session_id)
    batches = tuple(
        tuple(_named(name, number, part, draft) for part, draft in enumerate(batch))
        for number, batch in enumerate(found.batches)
    )
    return Conversation(found.format, name, batches)


def session_name(text: str) -> str:
    """Return *text* as a session id: other characters than names may have become hyphens."""
    return _NAME_REFUSED.sub("-", text).strip("-.")[:200] or "imported"


def session_name_of(path: str) -> str:
    """Return the session id for a file: its name without endings such as ``.json`` and ``.gz``."""
    name = path.rpartition("/")[2]
    while (shorter := name.removesuffix(".gz").rpartition(".")) and shorter[2] in _ENDINGS and shorter[0]:
        name = shorter[0]
    return session_name(name.removesuffix(".gz"))


def with_leftovers(entry: JsonObject, source: Mapping[str, Any], known: set[str], **metadata: Any) -> JsonObject:
    """Return *entry* with the fields of *source* that are not *known* as data, and *metadata* that is not None."""
    extra = {name: value for name, value in source.items() if name not in known and value is not None}
    leftovers = {name: value for name, value in metadata.items() if value is not None}
    if extra:
        entry = {**entry, "data": {**(entry.get("data") or {}), **extra}}
    if leftovers:
        entry = {**entry, "metadata": {**(entry.get("metadata") or {}), **leftovers}}
    return entry


def text_of(content: Any) -> tuple[str, Any]:
    """Return the text of a chat message's content, and the content itself if the text is not all of it."""
    if content is None:
        return "", None
    if isinstance(content, str):
        return content, None
    if isinstance(content, list):
        parts = [
            part.get("text", "") if isinstance(part, dict) and part.get("type") == "text" else f"[{_part_type(part)}]"
            for part in content
        ]
        return "\n".join(str(part) for part in parts), content
    return canonical_json(content).decode(), content


def moment(value: Any) -> datetime | None:
    """Return a time given as ISO 8601, in UTC if it has no offset, or as seconds since 1970; None if it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11:
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return None
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None


def arguments_of(raw: Any) -> tuple[Any, Any]:
    """Return the arguments of a call as JSON, and the original text if it is written differently."""
    if not isinstance(raw, str):
        return raw, None
    try:
        parsed = parse(raw.encode(), TRANSCRIPT) if raw.strip() else {}
    except (InvalidInput, UnicodeEncodeError):
        return raw, None
    return parsed, None if canonical_json(parsed).decode() == raw else raw


def _within_limits(raw: JsonObject, extra: JsonObject) -> JsonObject:
    """Return *raw* with *extra* in its data; metadata that is too large moves there too (trust N-5)."""
    metadata = raw.get("metadata")
    if metadata and len(canonical_json(metadata)) > METADATA_BYTES:
        raw, extra = {**raw, "metadata": None}, {**extra, "metadata": metadata}
    return {**raw, "data": {**(raw.get("data") or {}), **extra}} if extra else raw


def _named(session: str, number: int, part: int, draft: EntryDraft) -> EntryDraft:
    place = canonical_json([session, number, part])
    content = canonical_json(msgspec.structs.replace(draft, entry_id=None))
    return msgspec.structs.replace(draft, entry_id=f"imp-{sha256(place + content).hexdigest()[:28]}")


def _part_type(part: Any) -> str:
    return str(part.get("type", "part")) if isinstance(part, dict) else "part"
