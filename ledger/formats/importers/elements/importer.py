"""What importers share: conversations, and the creation of drafts."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused, InvalidInput
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.strict_json import TRANSCRIPT, parse
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.fitting import fitted_draft
from ledger.formats.importers.elements.steps import (
    NOTE,
    Attached,
    Batch,
    ConversationStep,
    Noticed,
    WindowChange,
    batches_of,
)
from ledger.formats.importers.elements.unread import OpenCalls, checked
from ledger.session.entry_drafts import EntryDraft

_PUNCTUATION: Final = frozenset("_.:@+=,~-")
_REFUSED: Final = re.compile("/+")
_NAME_CHARACTERS: Final = 200
_NAME_BYTES: Final = 400
_ENDINGS: Final = {"json", "jsonl", "ndjson", "traj"}
#: The fields of a message that may have its time.
TIMES: Final = ("created_at", "timestamp", "created", "createdAt")
#: How the ids of entries begin that an import made.
IMPORTED: Final = "imp-"


class Conversation(msgspec.Struct, frozen=True):
    """A session to import: its name, a batch of entries for each original message, and changes of its window."""

    format: str
    session_id: str
    steps: tuple[ConversationStep, ...]

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches among the steps."""
        return tuple(batches_of(self.steps))


class ConversationReader(msgspec.Struct, frozen=True):
    """A conversation still in its file: its steps can be iterated once, before the next conversation is read."""

    format: str
    session_id: str
    steps: Iterator[ConversationStep]


class Importer(msgspec.Struct, frozen=True):
    """The importer of a format: ``detects(documents)`` by the first one, ``read(documents, name)``.

    One that *reads_damaged* gets documents with a fault, too: a log is not refused for text that a program wrote.
    """

    name: str
    detects: Callable[[Sequence[Document]], bool]
    read: Callable[[Iterator[Document], str], Iterator[ConversationReader]]
    reads_damaged: bool = False

    def accepted(self, found: Iterable[Document]) -> Iterator[Document]:
        """Yield *found*, as far as this importer reads it.

        Raises:
            ImportRefused: the fault of a document.
        """
        for document in found:
            if document.fault is not None and not self.reads_damaged:
                raise document.fault
            yield document


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
    messages: Iterable[tuple[int, list[JsonObject] | WindowChange | Noticed]],
    *,
    about: JsonObject | None = None,
) -> ConversationReader:
    """Return a conversation of raw entries: for each original message its line, and the entries; also changes.

    *about*, the fields of the whole conversation, is stored in the data of the first entry. An entry that breaks a
    rule is refused, with its line, when it is read.

    A raw entry is a dict; what is missing or None has no value. All may have ``data`` (a dict: what else the original
    says, see `with_leftovers`), ``created_at`` (a datetime in UTC, see `moment`) and ``metadata`` (a small dict: the
    original's id and time as text, ``original_id`` and ``original_timestamp``, and ``original_role``, if it was
    renamed). A message has a ``kind``, ``role`` and ``content``, a call the arguments as JSON, a result the content
    as text, or as JSON. A call and its result have the same ``tool_call_id``, or none::

        {"kind": "message", "role": "user", "content": "Hi", "metadata": {"original_id": "m1"}}
        {"kind": "tool_call", "tool_name": "look", "tool_call_id": "c1", "arguments": {"city": "Oslo"}}
        {"kind": "tool_result", "tool_name": "look", "tool_call_id": "c1", "content": "rain"}

    The kinds and roles are those of `EntryDraft`; content that is empty is `EMPTY`.
    """
    name = session_name(session_id)
    return ConversationReader(format_, name, steps(name, messages, about))


def steps(
    name: str,
    messages: Iterable[tuple[int, list[JsonObject] | WindowChange | Noticed]],
    about: JsonObject | None = None,
) -> Iterator[ConversationStep]:
    """Yield the steps of a conversation of raw entries; see `conversation`. What was not understood is noted."""
    whole = {"conversation": about} if about else {}
    calls = OpenCalls()
    for number, (line, message) in enumerate(messages):
        if not isinstance(message, list):
            yield message
            continue
        drafts: list[EntryDraft] = []
        attached: dict[str, bytes] = {}
        for each in message:
            raw = _placed(checked(each, line), line)
            try:
                entry = {**raw, "data": {**(raw.get("data") or {}), **whole}} if whole else raw
                drafts.append(fitted_draft(entry, attached, field=f"{name}, message {number}"))
            except InvalidInput as fault:
                raise ImportRefused(fault.code, str(fault), line=line) from None
            whole = {}
        if attached:
            yield Attached(attached)
        yield from calls.take(drafts, line)
        if drafts:
            yield tuple(drafts)
    yield from calls.left()


def _placed(entry: JsonObject, line: int) -> JsonObject:
    """Return the raw *entry* with *line* in a note that has none."""
    note = (entry.get("metadata") or {}).get(NOTE)
    if note is None or note.get("line"):
        return entry
    return {**entry, "metadata": {**entry["metadata"], NOTE: {**note, "line": line}}}


def with_ids(session_id: str, found: Iterable[ConversationStep]) -> Iterator[ConversationStep]:
    """Yield *found* with ids of entries that follow from place and content, so that a second import finds them.

    An entry that has an id, because its source gives it one that stays, keeps it.
    """
    # adapters IN-2
    number = -1
    for step in found:
        number += not isinstance(step, Noticed)
        if isinstance(step, tuple):
            yield tuple(
                draft if draft.entry_id else _named(session_id, number, part, draft) for part, draft in enumerate(step)
            )
        else:
            yield step


def session_name(text: str) -> str:
    """Return *text* as a session id, in which other characters than letters, digits and some signs become hyphens.

    A name that is too long is cut; it, and one of which nothing remains, ends with a digest of *text*.
    """
    signs = (sign if _stays(sign) else "/" for sign in unicodedata.normalize("NFC", text))
    name = _REFUSED.sub("-", "".join(signs)).strip("-.")
    short = name[:_NAME_CHARACTERS].encode()[:_NAME_BYTES].decode(errors="ignore")
    if not text.strip("-."):
        return "imported"
    if short and short == name:
        return name
    return f"{short or 'imported'}-{sha256(text.encode(errors='surrogatepass')).hexdigest()[:8]}"


def _stays(sign: str) -> bool:
    """Tell whether *sign* stays in a name: a letter or digit of any script, its accent, or a sign of `_PUNCTUATION`."""
    return sign.isalnum() or sign in _PUNCTUATION or unicodedata.category(sign).startswith("M")


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
    """Return a time in UTC, given as ISO 8601, with or without an offset, or as seconds since 1970; None of others."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e11:
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        try:
            parsed = datetime.fromisoformat(value)
            return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        except (ValueError, OverflowError):  # the offset may lead out of the years that there are
            return None
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


def _named(session: str, number: int, part: int, draft: EntryDraft) -> EntryDraft:
    place = canonical_json([session, number, part])
    content = canonical_json(msgspec.structs.replace(draft, entry_id=None))
    return msgspec.structs.replace(draft, entry_id=f"{IMPORTED}{sha256(place + content).hexdigest()[:28]}")


def entry_id_of(title: str, place: list[int], entry: JsonObject) -> str:
    """Return an id for a raw *entry* that its importer refers to later; *place* is where it is in *title*."""
    named = canonical_json([title, *place]) + canonical_json({**entry, "created_at": None})
    return f"{IMPORTED}{sha256(named).hexdigest()[:28]}"


def is_imported(entry_id: str) -> bool:
    """Tell whether *entry_id* was made by an import."""
    return entry_id.startswith(IMPORTED)


def _part_type(part: Any) -> str:
    return str(part.get("type", "part")) if isinstance(part, dict) else "part"
