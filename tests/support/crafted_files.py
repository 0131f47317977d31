"""Export files as an attacker writes them: any events, well chained, with a header and a trailer that fit."""

import base64
import copy
import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

from ledger.events.canonical import canonical_json
from ledger.events.chain import ZERO_HASH, event_hash
from ledger.events.codec import NO_CONTENT, SALTED
from ledger.events.content_split import divided, joined
from ledger.events.ids import namespace_id
from ledger.events.key_value_events import kept_item
from ledger.formats.export.file_lines import EventLine, Trailer
from ledger.formats.export.file_reader import _convert, _stored

_ITEMS = ("entry_id", "memory_id", "record_id", "key_id", "view_id")

#: An event as a line of a file, with its payload as JSON.
Crafted = dict[str, Any]


def events_of(lines: list[bytes]) -> list[Crafted]:
    """Return the events of a file, each with its ``payload`` decoded."""
    found = []
    for line in lines[1:-1]:
        event = json.loads(line)
        structure, content = (base64.b64decode(event.pop(name, "")) for name in ("structure", "content"))
        event["payload"] = json.loads(
            joined(event["type"], event["schema_version"], structure, content[16:]) if content else structure
        )
        found.append(event)
    return found


def file_of(lines: list[bytes], events: Iterable[Crafted]) -> list[bytes]:
    """Return a file with the header of *lines*, and *events* numbered and chained as they come, also those of forks."""
    header, trailer = json.loads(lines[0]), json.loads(lines[-1])
    own = namespace_id(header["namespace"])
    forks = {fork["stream_id"]: (fork["parent_id"], fork["version"]) for fork in header.get("forks", ())}
    heads: dict[str, tuple[int, bytes]] = {}
    hashes: dict[tuple[str, int], bytes] = {}
    written = [lines[0]]
    for position, event in enumerate(events, start=1):
        stream_id = event["stream_id"]
        version, previous = heads.get(stream_id) or _before_first(stream_id, forks, hashes)
        structure, content = divided(event["type"], copy.deepcopy(event["payload"]))
        body = {
            **{name: value for name, value in event.items() if name not in {"payload", "content_digest"}},
            "position": position,
            "version": version + 1,
            "codec": NO_CONTENT if content is None else SALTED,
            "structure": base64.b64encode(structure).decode(),
            "content": None if content is None else base64.b64encode(bytes(16) + content).decode(),
            "content_digest": None if content is None else sha256(bytes(16) + content).hexdigest(),
            "hash": "00" * 32,
        }
        item = _item(event)
        body = {name: value for name, value in {**body, "item_id": item}.items() if value is not None}
        digest = event_hash(_stored(_convert(body, EventLine, 1), own, 1), previous)
        heads[stream_id] = (version + 1, digest)
        hashes[stream_id, version + 1] = digest
        written.append(canonical_json(_convert({**body, "hash": digest.hex()}, EventLine, 1)) + b"\n")
    ends = [
        {**head, "version": heads[head["stream_id"]][0], "hash": heads[head["stream_id"]][1].hex()}
        for head in trailer["heads"]
        if head["stream_id"] in heads
    ]
    last = {"events": len(written) - 1, "sha256": sha256(b"".join(written)).hexdigest(), "heads": ends}
    return [*written, canonical_json(_convert(last, Trailer, 1)) + b"\n"]


def _before_first(
    stream_id: str, forks: Mapping[str, tuple[str, int]], hashes: Mapping[tuple[str, int], bytes]
) -> tuple[int, bytes]:
    """Return version and hash before the first event of a stream: those of the fork's parent, as far as it has come."""
    if stream_id not in forks:
        return 0, ZERO_HASH
    owner, version = forks[stream_id]
    for _ in forks:  # a fork of a fork may go on from an event of the first parent; only a bad header makes a cycle
        if owner in forks and version <= forks[owner][1]:
            owner = forks[owner][0]
    return version, hashes.get((owner, version), ZERO_HASH)


def another(event: Crafted, number: int) -> Crafted:
    """Return *event* with an id of its own."""
    return {**event, "event_id": str(UUID(int=UUID(event["event_id"]).int ^ (number + 1)))}


def _item(event: Crafted) -> str | None:
    payload = event["payload"]
    if not isinstance(payload, dict):
        return event.get("item_id")
    if "space" in payload and event["type"].startswith("kept."):
        return kept_item(payload["space"], payload["key"])
    if event.get("item_id") is None:
        return None
    return next((payload[name] for name in _ITEMS if isinstance(payload.get(name), str)), event.get("item_id"))
