"""Questions whose evidence is in known entries of a session, and the search for these entries. Pure.

The neutral format is one JSON object a line:

    {"session": "support-4711", "question": "Which seat did I want?", "category": "single-hop",
     "evidence": ["imp-5f…", "a window seat, please"]}

A piece of *evidence* is an entry's id, the id it had in the imported file, or a quote. The same objects, without
``session``, may be among the ``questions`` of a conversation with dated sessions. Questions of the BFCL memory tasks
are accepted too; their quotes are in the file with the possible answers.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused
from ledger.formats.importers import Document, dated_sessions
from ledger.formats.importers.elements.importer import shaped
from projections.entries import Entry

_GAP: Final = re.compile(r"\.{3,}|…")
_ALIKE: Final = (("\u2019", "'"), ("\u2018", "'"), ("\u201c", '"'), ("\u201d", '"'), ("\u2014", "-"), ("\u2013", "-"))
_WORD: Final = re.compile(r"\w+")
#: A quote that no entry has literally belongs to the entry with at least this share of its words.
_NEARLY: Final = 0.8


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question at the end of a session, and the pieces of evidence that an answer needs."""

    session: str
    question: str
    evidence: tuple[str, ...]
    category: str | None = None


def read_questions(questions: Sequence[Document], answers: Sequence[Document] = ()) -> list[Question]:
    """Return the questions in *questions*, in order; *answers* are the possible answers of BFCL.

    Raises:
        ImportRefused: a line has neither format.
    """
    sources: dict[str, str] = {}
    for document in answers:
        with shaped("an answer", line=document.line):
            sources[document.value["id"]] = document.value["source"]
    found = []
    for document in questions:
        if dated_sessions.detects([document]):
            found += [_question(value, {}, document.line) for value in dated_sessions.questions_of(document)]
            continue
        with shaped("a question", line=document.line):
            found.append(_question(document.value, sources, document.line))
    return found


def is_bfcl(document: Document) -> bool:
    """Tell whether a question is from the BFCL memory tasks, whose evidence is in another file."""
    return isinstance(document.value, dict) and "scenario" in document.value


def _question(value: Any, sources: dict[str, str], line: int) -> Question:
    if "scenario" in value:
        text = "\n".join(message["content"] for turn in value["question"] for message in turn)
        fields = {"session": value["scenario"], "question": text, "evidence": [sources[value["id"]]]}
    else:
        fields = {name: value[name] for name in Question.__struct_fields__ if name in value}
    try:
        return msgspec.convert(fields, Question)
    except msgspec.ValidationError as fault:
        raise ImportRefused("bad_question", str(fault), line=line) from None


class Transcript:
    """The entries of a session, searched for evidence."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        found = list(entries)
        self._by_id = {
            id_: entry.version
            for entry in found
            for id_ in ((entry.metadata or {}).get("original_id"), entry.entry_id)
            if isinstance(id_, str)
        }
        self._texts = {entry.version: _plain(entry.content) for entry in found}

    def places(self, evidence: str, *, exact: bool = False) -> frozenset[int]:
        """Return the versions of the entries with a piece of evidence: by id, by quote, or by similar words.

        The id is the entry's or the one in the imported file. ``...`` in a quote matches anything. Case, blanks, and
        the kinds of quotes and dashes are ignored. *exact* does not compare similar words.
        """
        if evidence in self._by_id:
            return frozenset({self._by_id[evidence]})
        parts = [plain for part in _GAP.split(evidence) if (plain := _plain(part).strip(" .\"'"))]
        quoted = frozenset(version for version, text in self._texts.items() if all(part in text for part in parts))
        if quoted and parts:
            return quoted
        return frozenset() if exact else self._nearest(parts)

    def _nearest(self, parts: Sequence[str]) -> frozenset[int]:
        wanted = {word for part in parts for word in _WORD.findall(part)}
        shared = {version: len(wanted & set(_WORD.findall(text))) for version, text in self._texts.items()}
        most = max(shared.values(), default=0)
        if not wanted or most < _NEARLY * len(wanted):
            return frozenset()
        return frozenset(version for version, count in shared.items() if count == most)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text)
    for kind, plain in _ALIKE:
        text = text.replace(kind, plain)
    return " ".join(text.casefold().split())
