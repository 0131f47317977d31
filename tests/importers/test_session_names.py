"""A file becomes the session its name says, and never goes on with another conversation."""

import pytest

from ledger.errors import SessionExists
from ledger.importers import documents, read, session_name_of
from ledger.memory import MemoryLedger

HELLO = b'[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]'
ALIKE = b'[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "another answer"}]'
EDITED = b'[{"role": "user", "content": "hello, edited"}, {"role": "assistant", "content": "hi"}]'
OTHER = b'[{"role": "user", "content": "another talk"}]'
LONGER = HELLO[:-1] + b', {"role": "user", "content": "and then?"}]'


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("chat.json", "chat"),
        ("r1/chat.jsonl.gz", "chat"),
        ("gpt4__t-0.00__p-0.95__astropy-1.traj", "gpt4__t-0.00__p-0.95__astropy-1"),
        ("v1.2.json", "v1.2"),
        (".json", "json"),
        ("-", "imported"),
    ],
)
def test_only_endings_that_name_a_format_are_left_out(path: str, name: str) -> None:
    assert session_name_of(path) == name


async def test_a_file_goes_on_only_with_its_own_conversation(ledger: MemoryLedger) -> None:
    await ledger.import_conversations(read(documents(HELLO), name="chat"))
    with pytest.raises(SessionExists, match="chat"):
        await ledger.import_conversations(read(documents(OTHER), name="chat"))
    again = await ledger.import_conversations(read(documents(LONGER), name="chat"))
    assert (again.entries, again.skipped) == (1, 2)
    assert [entry.content for entry in await ledger.get_active_entries("chat")] == ["hello", "hi", "and then?"]


@pytest.mark.parametrize("other", [ALIKE, EDITED])
async def test_two_conversations_that_share_messages_are_not_mixed(ledger: MemoryLedger, other: bytes) -> None:
    await ledger.import_conversations(read(documents(HELLO), name="chat"))
    await ledger.add_user_message("chat", "said since, which is no other file")
    with pytest.raises(SessionExists, match="chat"):
        await ledger.import_conversations(read(documents(other), name="chat"))
    again = await ledger.import_conversations(read(documents(LONGER), name="chat"))
    assert (again.entries, again.skipped) == (1, 2)


async def test_a_session_that_was_talked_in_takes_no_file(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("chat", "live")
    with pytest.raises(SessionExists):
        await ledger.import_conversations(read(documents(HELLO), name="chat"))
