"""The one file: it runs only its own script, reaches nothing, and gives the export back, whatever the session says.

Source: viewer U-7, U-33, U-38.
"""

import gzip
import io
import json
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from ledger.application.handle import NamespaceHandle
from ledger.errors import ImportRefused, InvalidInput
from ledger.memory import MemoryLedger
from ledger.server.service import Service
from ledger.server.ui import one_file as module
from ledger.server.ui.one_file import one_file
from ledger.server.ui.viewer_page import file_text
from ledger.server.view_service import answers_of, open_view
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \u2029 & \x1b[31m \u202e"


class Stub:
    """Answers of routes about a session of *version* events, one summary and one model call."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.asked: list[str] = []

    async def get(self, path: str, **query: Any) -> Any:
        self.asked.append(path)
        first = query.get("from", 0)
        match path:
            case "/timeline":
                marks = [{"version": 1, "type": "opened"}]
                return {"after": query["after"], "version": query["after"] + query["limit"], "marks": marks}
            case "/entries":
                found = range(first, min(first + query["limit"], self.version + 1))
                entries = [
                    {"entry_id": f"m/{at}" if at == 3 else f"m-{at}", "version": at, "status": "covered"}
                    | {"edited_version": None, "content": HOSTILE}
                    for at in found
                ]
                more = found.stop if found.stop <= self.version else None
                return {"entries": entries, "next_from": more, "version": self.version}
            case "/events":
                found = range(query["after_version"] + 1, self.version + 1)
                return {"events": [{"version": at, "text": HOSTILE} for at in found]}
            case "/summaries":
                return {"summaries": [{"summary_id": "s-1", "text": HOSTILE}], "next_after": None}
            case "/windows":
                return {"calls": [{"version": 2}], "next_after": None}
            case "/window":
                items = [{"kind": "entry", "text": HOSTILE}, {"kind": "summary", "text": "s"}]
                return {"version": query["version"], "items": items}
            case _:
                return {"version": self.version, "text": HOSTILE}

    async def post(self, path: str, body: Any) -> Any:
        return {"verdict": "OK-CHAINED", "asked": body}

    async def of_service(self, path: str, **query: Any) -> Any:
        return {"path": path}


class Elements(HTMLParser):
    """The script elements of a page, as browsers find them: their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "script":
            self.scripts.append((named, ""))
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))


async def made(count: int, names: dict[str, str | None] | None = None) -> tuple[bytes, list[bytes]]:
    """Return the file of a session of *count* hostile messages, and the lines of its export."""
    async with MemoryLedger.open(store=InMemoryStore()) as ledger:
        for _ in range(count):
            await ledger.add_user_message("s", HOSTILE)
        lines = [line async for line in ledger.export_file("s")]

    async def exported() -> AsyncIterator[bytes]:
        for line in lines:
            yield line

    names = names or {"session_id": "s", "user_id": None, "namespace": "default"}
    pieces = [piece async for piece in one_file(exported(), Stub(count + 1), names=names)]  # type: ignore[arg-type]
    return b"".join(pieces), lines


def read(file: bytes) -> Elements:
    found = Elements()
    found.feed(file.decode())
    return found


def content(found: Elements, name: str) -> bytes:
    ((_, text),) = [script for script in found.scripts if script[0].get("data-block") == name]
    return gzip.decompress(b64decode(text))


async def test_the_file_gives_the_export_back_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IN_A_BLOCK", 4)
    file, lines = await made(10)
    found = read(file)
    index = json.loads(next(text for attributes, text in found.scripts if attributes.get("id") == "ledger-file"))
    names = [block["name"] for block in index["blocks"]]
    events = [name for name in names if name.startswith("events-")]
    assert len(events) == -(-len(lines) // 4)
    assert b"".join(content(found, name) for name in events) == b"".join(lines)
    for block in index["blocks"]:
        assert len(content(found, block["name"])) == block["bytes"]
    entries = [json.loads(content(found, name))["entries"] for name in names if name.startswith("entries-")]
    assert [entry["version"] for page in entries for entry in page] == list(range(1, 12))
    assert [len(page) for page in entries] == [4, 4, 3]
    assert "m/3" not in json.loads(content(found, "fates-0"))
    assert json.loads(content(found, "trees-0")).keys() == {"s-1"}
    contexts = json.loads(content(found, "contexts-0"))
    assert contexts.keys() == {"2", "11"}
    assert [item["text"] for item in contexts["2"]["items"]] == [None, "s"]


async def test_the_file_runs_its_own_script_only_and_reaches_nothing() -> None:
    names = {"session_id": HOSTILE, "user_id": HOSTILE, "namespace": HOSTILE}
    file, _ = await made(3, names)
    found = read(file)
    kinds = [attributes.get("type") for attributes, _ in found.scripts]
    assert kinds.count(None) == 1, "the script of the page, the last one"
    assert kinds[-2:] == ["application/json", None]
    assert set(kinds[:-2]) == {"application/octet-stream;gzip"}
    digest = b64encode(sha256(found.scripts[-1][1].encode()).digest()).decode()
    assert found.policy == (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src '{module._digest(file_text('viewer.css'))}'; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    assert {"\u2028", "\u2029"}.isdisjoint(file.decode())
    index = json.loads(found.scripts[-2][1])
    assert index["session_id"] == HOSTILE, "nothing is lost"
    assert not re.search(r"<[a-z]+[^>]*\s(?:src|href|on\w+|style)=", file.decode().partition("<script>")[0])


async def test_a_file_without_escapes_would_run_what_a_name_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(module, "escaped", lambda value: json.dumps(value).encode())
    file, _ = await made(1, {"session_id": HOSTILE, "user_id": None, "namespace": "n"})
    assert [text for attributes, text in read(file).scripts if not attributes].count("alert(1)") == 1


@pytest.mark.parametrize("text", ["</SCRIPT>", "<!--", "\r\n", "a\x00"])
def test_a_script_that_cannot_be_inside_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"viewer\.js"):
        module._embeddable(f"x = 1;{text}", "viewer.js")


def test_the_page_can_be_inside() -> None:
    for name in ("viewer.js", "viewer.css"):
        assert module._embeddable(file_text(name), name)


@pytest.fixture
async def viewed() -> AsyncIterator[Service]:
    async with open_view(Settings(), InMemoryStore()) as service:
        yield service


async def a_session(ledger: MemoryLedger) -> None:
    """Write a session with a summary, an edit, a removal and a recorded context."""
    for number in range(12):
        await ledger.add_user_message("s", f"question {number} {HOSTILE}", entry_id=f"q-{number}")
        await ledger.add_assistant_message("s", f"answer {number} " + "word " * 50)
    await ledger.compress("s", force=True)
    await ledger.edit_entry("s", "q-11", "another question")
    await ledger.remove_entry("s", "q-10")
    await ledger.get_context_for_llm("s", record=True)


async def test_the_file_shows_what_the_routes_answer_and_can_be_imported(viewed: Service) -> None:
    """As of the end of the export, though the session goes on while the file is written."""
    ledger = MemoryLedger(NamespaceHandle(viewed.services, "default", "ann"))
    await a_session(ledger)
    version = (await ledger.get_stats("s")).version
    answers, names = answers_of(viewed, "s", None), {"session_id": "s", "user_id": None, "namespace": "default"}
    config = {"window": {"type": "max_tokens", "memory_max_tokens": 200}}
    pieces = []
    async for piece in one_file(ledger.export_file("s"), answers, names=names, configs=[config]):
        pieces.append(piece)
        if len(pieces) == 2:
            await ledger.add_user_message("s", "too late")
    found = read(b"".join(pieces))
    index = json.loads(found.scripts[-2][1])
    assert index["version"] == version
    blocks = {block["name"]: content(found, block["name"]) for block in index["blocks"]}
    held = {name: json.loads(text) for name, text in blocks.items() if not name.startswith("events-")}

    active = await ledger.get_active_entries("s", version=version)
    entries = {entry["entry_id"]: entry for entry in held["entries-0"]["entries"]}
    assert [entries[each.entry_id]["content"] for each in active] == [each.content for each in active]
    assert entries["q-11"]["content"] == "another question"
    assert held["fates-0"]["q-10"]["fate"]["status"] == "removed"
    assert held["fates-0"]["q-0"]["fate"]["status"] == "covered"
    assert len(held["texts-0"]["texts"]) == version
    (summary,) = held["summaries-0"]["summaries"]
    assert held["trees-0"].keys() == {summary["summary_id"]}
    window = await ledger.get_window("s", version=version)
    assert held["contexts-0"][str(version)]["shown"] == [list(span) for span in window.shown]
    assert held["timeline-0"]["version"] == held["timeline-0"]["newest"] == version
    assert held["session"]["stats"]["version"] == version
    assert held["what-ifs"][0]["answer"]["strategy"] == "max_tokens"

    exported = blocks["events-0"]
    async with MemoryLedger.open(store=InMemoryStore()) as other:
        await other.import_file(lambda: io.BytesIO(exported))
        assert (await other.verify("s")).verdict == "OK-CHAINED"
        assert (await other.get_stats("s")).version == version


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
async def test_a_changed_byte_of_the_file_is_named(viewed: Service, place: float) -> None:
    """The page recomputes the same hashes in the browser."""
    ledger = MemoryLedger(NamespaceHandle(viewed.services, "default", "ann"))
    await a_session(ledger)
    exported = b"".join([line async for line in ledger.export_file("s")])
    at = exported.index(b'"content":"', int(len(exported) * place)) + 60
    changed = exported[:at] + (b"A" if exported[at : at + 1] != b"A" else b"B") + exported[at + 1 :]
    line = exported[:at].count(b"\n") + 1
    async with MemoryLedger.open(store=InMemoryStore()) as other:
        with pytest.raises(ImportRefused) as refused:
            await other.import_file(lambda: io.BytesIO(changed))
    assert refused.value.line == line
