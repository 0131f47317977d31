"""Events whose parts nobody could have written are named by `verify` and by every reader. Source: trust V-6."""

from uuid import uuid4  # noqa: TID251 - as a careless writer would

import pytest

from ledger.errors import ImportRefused, LedgerError
from ledger.events import NewEvent
from ledger.events.codec import NO_CONTENT, SALT_BYTES, SALTED
from ledger.events.ids import Stream
from ledger.formats.export.file_reader import check
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store, StreamWrite
from tests.application.conftest import talk

DEEP = b"[" * 5_000 + b"]" * 5_000
#: Type, structure, content.
PARTS: dict[str, tuple[str, bytes, bytes | None]] = {
    "bytes that are no UTF-8": ("session.cleared", b'{"write_id":"\xff"}', None),
    "deep JSON": ("session.cleared", b'{"write_id":' + DEEP + b"}", None),
    "no object": ("note.made", b"[]", None),
    "parts that do not fit": ("note.made", b'{"a":[1,2]}', b'{"a":[{}]}'),
    "a space at the end": ("entry.edited", b'{"write_id":"w"} ', b'{"content":"x"}'),
    "a space before content": ("entry.edited", b'{"write_id":"w"}', b' {"content":"x"}'),
    "a wrong first byte": ("entry.edited", b'{"write_id":"w"}', b'["content":"x"}'),
    "no fields": ("entry.edited", b'{"write_id":"w"}', b"{}"),
    "content that is no UTF-8": ("entries.extracted", b'{"write_id":"w"}', b'{"outputs":"\xff"}'),
    "deep content": ("rebuild.answered", b'{"write_id":"w"}', b'{"output":' + DEEP + b"}"),
    "an opening that is no UTF-8": ("session.opened", b'{"forked_from":"\xff"}', None),
}


@pytest.mark.parametrize("case", PARTS)
async def test_they_are_named_and_hide_no_other_session(
    anywhere: MemoryLedger, store: Store, namespace: str, case: str
) -> None:
    type_, structure, content = PARTS[case]
    await talk(anywhere, 1)
    await talk(anywhere, 1, session="other")
    codec, salted = (NO_CONTENT, None) if content is None else (SALTED, bytes(SALT_BYTES) + content)
    event = NewEvent(uuid4(), type_, 1, codec, 0, "another", structure, salted)
    write = StreamWrite(stream=Stream.of(namespace, "s"), events=(event,))
    [receipt] = (await store.events.append(AppendRequest(writes=(write,)))).receipts
    for report in (await anywhere.verify(), await anywhere.verify("s")):
        assert report.verdict in {"CANNOT VERIFY", "TAMPERED"}
        assert (report.findings[0].session_id, report.findings[0].version) == ("s", receipt.version)
    assert (await anywhere.get_log("s")).events[-1].version == receipt.version
    with pytest.raises(LedgerError, match=f"event {receipt.version} |{type_}"):
        await anywhere.get_state("s")
    with pytest.raises(LedgerError, match=f"event {receipt.version} of 's' cannot be read"):
        await anywhere.get_feed()
    assert {row.session_id for row in await anywhere.list_sessions()} == {"s", "other"}
    assert [hit.session_id for hit in await anywhere.search("message", session_id="other")] == ["other"]
    lines = [line async for line in anywhere.export_file("s")]
    with pytest.raises(ImportRefused):
        check(lines)
