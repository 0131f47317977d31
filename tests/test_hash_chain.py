"""The hash frame against the vectors of trust §3, and ids against trust R-1."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from ledger.events import NewEvent, StoredEvent
from ledger.events.chain import ZERO_HASH, event_hash, frame, place
from ledger.events.ids import Stream, namespace_id

KEY_ID = UUID("11111111-2222-4333-8444-555555555555")
COMMITMENT = bytes.fromhex("a37f726c778deacd367672e12f4e5d71126fdff08b606932d08e2538d3c73497")
H21 = "20fd7bec7e3f0f25d147327e3bdcc7b0fc97444a09faa9b25b679911d2eac824"
FRAME_21 = (
    "6d6c65646765722f6576656e742f320a770777c617ab53279ac5fc74a97aa437aec5f51348b35cce9900dacbe974ece3"
    "00000000000000010000000000000001019b76daa800700080000000000000010000000b656e7472792e616464656400"
    "010001000647484620400000064748462222400000000a6167656e743a64656d6f000000000000000000000000000000"
    "0000000000000000000000000000000000006b3061507ef8cc2ca95320f790a9f9ccb3c850ae081df4b6f6e56e40d572"
    "03e48940b26a69167b587e02818bf3ae25db5d093ccfe1eca28de8f353ceeab259c90000000000000000000000000000"
    "000000000000000000000000000000000000"
)
STRUCTURE = b'{"role":"user"}'


def placed(version: int, previous: bytes, content: bytes | None, codec: int = 1, *, keyed: bool = False) -> StoredEvent:
    stream = Stream.of("default", "session-1", "user-1")
    moment = 1767225600000000 + version - 1
    new = NewEvent(
        UUID(f"019b76da-a800-7000-8000-{version:012d}"),
        "entry.added",
        1,
        codec,
        moment,
        "agent:demo",
        STRUCTURE,
        content,
        key_id=KEY_ID if keyed else None,
        key_commitment=COMMITMENT if keyed else None,
    )
    return place(
        new,
        namespace_id=stream.namespace_id,
        stream_id=stream.stream_id,
        version=version,
        position=version,
        recorded_us=moment + 123456,
        previous_hash=previous,
    )


def salted_hello() -> bytes:
    return bytes(range(16)) + b'{"content":"hello"}'


def test_an_event_without_key_hashes_as_in_H21() -> None:
    """trust H-1, H-17, H-21."""
    event = placed(1, ZERO_HASH, salted_hello())
    assert frame(event, ZERO_HASH).hex() == FRAME_21
    assert len(frame(event, ZERO_HASH)) == 258
    assert event.content_digest.hex() == "8940b26a69167b587e02818bf3ae25db5d093ccfe1eca28de8f353ceeab259c9"
    assert event.hash.hex() == H21


def test_an_event_with_key_hashes_as_in_H22() -> None:
    """trust H-17, H-22."""
    event = placed(2, bytes.fromhex(H21), bytes(range(48)), codec=2, keyed=True)
    assert len(frame(event, bytes.fromhex(H21))) == 274
    assert event.content_digest.hex() == "4dbdc2b2b62cb00749785bc84202236dbc3777d74660611b8e58812f0cfde6c3"
    assert event.hash.hex() == "6eb631bf0e9f5e42486afb59ff9627970177116134cd4fa9730acc096218e92e"


def test_the_first_event_with_the_key_of_the_second_hashes_as_in_H23() -> None:
    """trust H-23."""
    event = placed(1, ZERO_HASH, salted_hello(), keyed=True)
    assert event.hash.hex() == "aead039c1168cca06d67bbc8251503ad42c6d9db6a20017b1714df66671e4f18"


def test_an_event_without_content_hashes_as_in_H26() -> None:
    """trust H-25, H-26."""
    event = placed(1, ZERO_HASH, None, codec=0)
    assert len(frame(event, ZERO_HASH)) == 258
    assert event.content_digest is None
    assert event.hash.hex() == "453d6943c4c113842afbffc5b6e304b96f1d7428097187dce85df928c2429f1f"


@pytest.mark.parametrize(
    ("user", "stream_id"),
    [("user-1", "aec5f513-48b3-5cce-9900-dacbe974ece3"), (None, "47292b41-86b3-5af2-8ba1-b83eb9d5f629")],
)
def test_ids_follow_from_names_as_in_R1(user: str | None, stream_id: str) -> None:
    assert namespace_id("default") == UUID("770777c6-17ab-5327-9ac5-fc74a97aa437")
    assert Stream.of("default", "session-1", user).stream_id == UUID(stream_id)


def test_every_field_of_the_frame_bears_on_the_hash() -> None:
    """Negative control of the chain: each change that a verifier must notice changes the hash.

    Source: trust H-2, H-3, H-4, H-5, H-6, H-7, H-8, H-9, H-10, H-11, H-12, H-13, H-14, H-15, H-16, H-25.
    """
    event = placed(1, ZERO_HASH, salted_hello())
    changed = [
        replace(event, namespace_id=KEY_ID),
        replace(event, stream_id=KEY_ID),
        replace(event, version=2),
        replace(event, position=2),
        replace(event, event_id=KEY_ID),
        replace(event, type="entry.edited"),
        replace(event, schema_version=2),
        replace(event, codec=0),
        replace(event, occurred_us=event.occurred_us + 1),
        replace(event, recorded_us=event.recorded_us + 1),
        replace(event, actor="agent:other"),
        replace(event, key_id=KEY_ID),
        replace(event, key_commitment=COMMITMENT),
        replace(event, structure=b'{"role":"tool"}'),
        replace(event, content_digest=None),
    ]
    assert all(event_hash(other, ZERO_HASH) != event.hash for other in changed)
    assert event_hash(event, COMMITMENT) != event.hash
