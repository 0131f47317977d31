"""One HTML file that shows a session without a network, proves itself, and gives the export back.

The file is the page with its script and style inside, and what the script would ask a service for, as data blocks:

    <script type="application/octet-stream;gzip" data-block="NAME">base64(gzip(CONTENT))</script>
    <script type="application/json" id="ledger-file">INDEX</script>

INDEX is an object with ``format`` (1), ``release``, ``session_id``, ``user_id``, ``namespace``, ``version``, and
``blocks``: [``name``, ``first`` and ``last`` (what they count is said below), ``bytes`` (of the content)], in the order
of the file. Each content but ``events-N`` is JSON: answers of the routes as they are, all as of ``version``.

- ``events-N``: the lines ``first`` to ``last`` of the export, byte for byte, with their line feeds; 1,000 a block.
  These blocks after each other are the export, with its header and trailer.
- ``session``: ``stats``, ``config``, ``family``, ``me``, ``presets``, ``verdict`` (that of ``POST …/verify``),
  ``rebuild`` (that of ``…/rebuild``, or null) and ``configs``, the answers of ``…/config?version=`` at each version
  that changed the config.
- ``timeline-N``: a page of ``…/timeline``, of the versions ``first`` to ``last``.
- ``entries-N``: ``{"entries": […]}`` of ``…/entries?full=true``, of the versions ``first`` to ``last``, 1,000 a block.
- ``texts-N``: ``{"texts": […]}``, the ``text`` of each event in ``…/events``, of the versions ``first`` to ``last``.
- ``fates-N``: ``{ENTRY_ID: …}``, the answers of ``…/entries/ENTRY_ID`` for the entries of ``entries-N`` that are not as
  they were added: edited, or out of the window. An id with a ``/`` has none: no path can name it.
- ``summaries-N``: a page of ``…/summaries``; ``trees-N``: ``{SUMMARY_ID: …}``, what ``…/summaries/SUMMARY_ID`` answers.
- ``windows-N``: a page of ``…/windows``.
- ``contexts-N``: ``{VERSION: …}``, what ``…/window?version=`` answers at model calls and at ``version``, 100 a block;
  items of entries have ``text`` null, which ``entries-N`` has. Of more than 1,000 calls there are the newest 1,000.
- ``what-ifs``: ``[{"config": …, "answer": …}]``, the answers of ``…/what-if`` for the configs that were given.
"""

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from gzip import compress
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

import msgspec

from ledger.errors import InvalidInput, NotFound
from ledger.release import RELEASE
from ledger.server.ui.route_answers import RouteAnswers
from ledger.server.ui.viewer_page import BODY, TITLE, file_text

IN_A_BLOCK: Final = 1_000
_MOST_CONTEXTS: Final = 1_000
_CONTEXTS_IN_A_BLOCK: Final = 100
_FULL_PAGE: Final = 50
_PAGE: Final = 200
_TIMELINE_PAGE: Final = 20_000
#: The marks of versions that may have another config than the version before.
_CONFIGS: Final = frozenset({"opened", "fork", "config", "rebuilt"})
_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'none'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEAD: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>{body}
"""
#: What would end a script element, or begin a comment in it.
_ENDS: Final = re.compile(r"</(?:script|style)|<!--|\r|\x00", re.IGNORECASE)


class _Blocks:
    """Makes blocks, and lists those that were made; *version* is that of the newest event in them."""

    def __init__(self) -> None:
        self.made: list[dict[str, object]] = []
        self.version = 0

    def block(self, name: str, content: bytes, first: int = 0, last: int = 0) -> bytes:
        self.made.append({"name": name, "first": first, "last": last, "bytes": len(content)})
        packed = b64encode(compress(content, mtime=0))
        return b'<script type="application/octet-stream;gzip" data-block="%s">%s</script>\n' % (name.encode(), packed)

    def json(self, name: str, value: object, first: int = 0, last: int = 0) -> bytes:
        return self.block(name, msgspec.json.encode(value), first, last)


async def one_file(
    lines: AsyncIterator[bytes],
    answers: RouteAnswers,
    *,
    names: Mapping[str, str | None],
    configs: Sequence[Mapping[str, Any]] = (),
) -> AsyncIterator[bytes]:
    """Yield the pieces of the file: *lines* of an export, and what the routes answer about its session.

    *names* are ``session_id``, ``user_id`` and ``namespace``. It holds a block at a time.

    Raises:
        SessionNotFound: there is nothing to export.
        NotFound, InvalidInput, Unavailable: a route refused, for example one of *configs*.
    """
    blocks, script, style = _Blocks(), file_text("viewer.js"), file_text("viewer.css")
    policy = _POLICY.format(script=_digest(script), style=_digest(style))
    head = _HEAD.format(policy=policy, title=TITLE, style=_embeddable(style, "viewer.css"), body=BODY)
    first = await anext(lines)  # before anything is written
    yield head.encode()
    async for piece in _events(blocks, first, lines):
        yield piece
    version = blocks.version  # the session may go on meanwhile
    async for piece in _history(blocks, answers, version):
        yield piece
    async for piece in _windows(blocks, answers, version):
        yield piece
    asked = [{"config": config, "version": version, "on_miss": "estimate"} for config in configs]
    if asked:
        tried = [{"config": each["config"], "answer": await answers.post("/what-if", each)} for each in asked]
        yield blocks.json("what-ifs", tried)
    index = {"format": 1, "release": RELEASE, **names, "version": version, "blocks": blocks.made}
    yield b'<script type="application/json" id="ledger-file">%s</script>\n' % escaped(index)
    yield f"<script>{_embeddable(script, 'viewer.js')}</script>\n</body>\n</html>\n".encode()


async def _events(blocks: _Blocks, first: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    held, began, line_number, number = [first], 1, 1, 0
    newest = last = first
    async for line in lines:
        newest, last = last, line  # the last line is the trailer
        if len(held) == IN_A_BLOCK:
            yield blocks.block(f"events-{number}", b"".join(held), began, line_number)
            held, began, number = [], line_number + 1, number + 1
        held.append(line)
        line_number += 1
    blocks.version = msgspec.json.decode(newest)["version"]
    yield blocks.block(f"events-{number}", b"".join(held), began, line_number)


async def _history(blocks: _Blocks, answers: RouteAnswers, version: int) -> AsyncIterator[bytes]:
    """Yield the blocks of the session, the timeline, entries and summaries."""
    changed: list[int] = []
    after = number = 0
    while after < version:
        page = await answers.get("/timeline", after=after, limit=min(_TIMELINE_PAGE, version - after))
        changed += [mark["version"] for mark in page["marks"] if mark["type"] in _CONFIGS]
        yield blocks.json(f"timeline-{number}", {**page, "newest": version}, after + 1, page["version"])
        after, number = page["version"], number + 1
    yield blocks.json(
        "session",
        {
            **{name: await answers.get(f"/{name}", version=version) for name in ("stats", "config")},
            "family": await answers.get("/family"),
            **{name: await answers.of_service(f"/v1/{name}") for name in ("me", "presets")},
            "verdict": await answers.post("/verify", {}),
            "rebuild": await _rebuild(answers),
            "configs": [await answers.get("/config", version=each) for each in changed],
        },
    )
    for first in range(1, version + 1, IN_A_BLOCK):
        last, number = min(first + IN_A_BLOCK - 1, version), first // IN_A_BLOCK
        found = [entry async for entry in _entries(answers, first, last, version)]
        yield blocks.json(f"entries-{number}", {"entries": found}, first, last)
        page = await answers.get("/events", after_version=first - 1, limit=IN_A_BLOCK)
        texts = [event["text"] for event in page["events"] if event["version"] <= last]
        yield blocks.json(f"texts-{number}", {"texts": texts}, first, last)
        ids = [entry["entry_id"] for entry in found if _has_changed(entry) and "/" not in entry["entry_id"]]
        fates = {
            entry_id: await answers.get(f"/entries/{quote(entry_id, safe='')}", version=version) for entry_id in ids
        }
        if fates:
            yield blocks.json(f"fates-{number}", fates, first, last)
    cursor: int | None = 0
    number = 0
    while cursor is not None:
        page = await answers.get("/summaries", after=cursor, limit=_PAGE, version=version)
        if page["summaries"]:
            yield blocks.json(f"summaries-{number}", page)
            ids = [summary["summary_id"] for summary in page["summaries"]]
            trees = {summary_id: await answers.get(f"/summaries/{quote(summary_id, safe='')}") for summary_id in ids}
            yield blocks.json(f"trees-{number}", trees)
        cursor, number = page["next_after"], number + 1


async def _rebuild(answers: RouteAnswers) -> Any:
    try:
        return await answers.get("/rebuild")
    except NotFound:
        return None


def _has_changed(entry: Mapping[str, Any]) -> bool:
    return entry["status"] != "active" or entry["edited_version"] is not None


async def _entries(answers: RouteAnswers, first: int, last: int, version: int) -> AsyncIterator[dict[str, Any]]:
    start: int | None = first
    while start is not None and start <= last:
        asked: dict[str, object] = {"from": start, "limit": _FULL_PAGE, "version": version, "full": True}
        page = await answers.get("/entries", **asked)
        for entry in page["entries"]:
            if entry["version"] <= last:
                yield entry
        start = page["next_from"]


async def _windows(blocks: _Blocks, answers: RouteAnswers, version: int) -> AsyncIterator[bytes]:
    """Yield the blocks of the windows that models were shown."""
    shown: list[int] = []
    after: int | None = 0
    number = 0
    while after is not None:
        page = await answers.get("/windows", after=after, limit=_PAGE)
        shown += [call["version"] for call in page["calls"] if 0 < call["version"] <= version]
        yield blocks.json(f"windows-{number}", page)
        after, number = page["next_after"], number + 1
    versions = sorted({*shown[-_MOST_CONTEXTS:], version})
    for number, start in enumerate(range(0, len(versions), _CONTEXTS_IN_A_BLOCK)):
        part = versions[start : start + _CONTEXTS_IN_A_BLOCK]
        found = {str(each): _without_texts(await answers.get("/window", version=each)) for each in part}
        yield blocks.json(f"contexts-{number}", found, part[0], part[-1])


def _without_texts(window: dict[str, Any]) -> dict[str, Any]:
    items = [{**item, "text": None} if item["kind"] == "entry" else item for item in window["items"]]
    return {**window, "items": items}


def escaped(value: object) -> bytes:
    """Return *value* as JSON that no HTML or JavaScript around it can read as anything else."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def _embeddable(text: str, name: str) -> str:
    if _ENDS.search(text):
        message = "must have no end of a script or style, no comment of HTML and no carriage return"
        raise InvalidInput("not_embeddable", message, field=name)
    return text


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
