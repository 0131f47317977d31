"""Bad arguments: one clear error with its code and field, within a second, nothing written. Source: trust P-11, §9."""

import asyncio
import time
from collections.abc import Awaitable, Iterable
from typing import Any

import pytest

from ledger.errors import DuplicateEntry, InvalidInput, LedgerError, VersionConflict
from ledger.events.canonical import canonical_json
from ledger.events.ids import Stream, namespace_id
from ledger.memory import MemoryLedger
from ledger.session.entry_drafts import EntryDraft
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support import refusals
from tests.support.query_refusals import QUERIES, QUERIES_WITHOUT_USER
from tests.support.refusals import BATCHES, ENTRIES, NAMES, SAID, WRITING, Refusal, hundred

READING = {**refusals.READING, **QUERIES_WITHOUT_USER}
LOOKING_BACK = {**refusals.LOOKING_BACK, **QUERIES}
ALL = {**WRITING, **READING, **LOOKING_BACK}


async def done(refusal: Refusal, ledger: MemoryLedger) -> None:
    result = refusal.act(ledger)
    if isinstance(result, Awaitable):
        await result


async def written(ledger: MemoryLedger) -> Any:
    """Return what would differ after any write to the namespace: its counter, its streams, their heads."""
    return await ledger._handle.services.store.events.overview(namespace_id(ledger._handle.namespace))


async def check_refused(ledger: MemoryLedger, refusal: Refusal) -> None:
    """Assert that *refusal* is what happens, in one line, at once, and leaves the log as it was."""
    before, started = await written(ledger), time.process_time()
    with pytest.raises(LedgerError) as raised:
        await done(refusal, ledger)
    assert time.process_time() - started < 1, "of our own time; a busy machine may take longer"
    fault = raised.value
    assert isinstance(fault, refusal.error), repr(fault)
    assert fault.code == refusal.code, repr(fault)
    if refusal.field is not None:
        assert isinstance(fault, InvalidInput)
        assert fault.field == refusal.field
    assert "\n" not in str(fault)
    assert len(str(fault)) < 250, "an error does not repeat what was refused"
    assert await written(ledger) == before


async def missed(ledger: MemoryLedger, names: Iterable[str]) -> list[str]:
    """Return the cases whose check fails."""
    found = []
    for name in names:
        try:
            await check_refused(ledger, ALL[name])
        except BaseException:  # noqa: BLE001 - pytest's own failure is one
            found.append(name)
    return found


def test_no_two_cases_have_one_name() -> None:
    assert len(ALL) == sum(
        map(len, (ENTRIES, BATCHES, NAMES, refusals.READING, refusals.LOOKING_BACK, QUERIES_WITHOUT_USER, QUERIES))
    )


@pytest.mark.parametrize("name", [*WRITING, *READING])
async def test_what_is_refused_is_refused_with_its_code_and_makes_no_session(ledger: MemoryLedger, name: str) -> None:
    await check_refused(ledger, ALL[name])
    assert await written(ledger) is None


@pytest.mark.parametrize("name", [*LOOKING_BACK, *WRITING])
async def test_what_is_refused_leaves_a_session_as_it_was(ledger: MemoryLedger, name: str) -> None:
    await ledger.add_entries("s", [SAID])
    await check_refused(ledger, ALL[name])
    assert (await ledger.get_state("s")).version == 2


@pytest.mark.postgres
async def test_postgresql_refuses_the_same_and_keeps_nothing(postgres_store: PostgresStore, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as ledger:
        assert await missed(ledger, [*WRITING, *READING]) == []
        assert await written(ledger) is None
        await ledger.add_entries("s", [SAID])
        assert await missed(ledger, [*BATCHES, *LOOKING_BACK]) == []
        assert (await ledger.verify()).ok


async def test_a_hundred_refused_batches_in_a_row_leave_what_was_added_between_them(ledger: MemoryLedger) -> None:
    for number in range(100):
        with pytest.raises(InvalidInput):
            await ledger.add_entries("s", hundred(number, content=""))
        await ledger.add_user_message("s", f"message {number}")
    assert (await ledger.get_stats("s")).version >= 101
    history = await ledger.get_history("s")
    assert [past.content for past in history.entries] == [f"message {number}" for number in range(100)]


async def test_refusals_between_writers_refuse_only_themselves(anywhere: MemoryLedger) -> None:
    """trust R-3: in a group commit a refused request never fails its neighbours."""
    await anywhere.add_entries("s", [SAID])
    acts = [
        act
        for number in range(20)
        for act in (
            anywhere.add_user_message("s", f"message {number}"),
            anywhere.add_entries("s", [{"role": "user", "content": "x"}], expected_version=1),
            anywhere.add_user_message("s", "goodbye", entry_id="e-1"),
        )
    ]
    answers = await asyncio.gather(*acts, return_exceptions=True)
    assert [type(answer) for answer in answers[1::3]] == [VersionConflict] * 20
    assert [type(answer) for answer in answers[2::3]] == [DuplicateEntry] * 20
    assert not any(isinstance(answer, BaseException) for answer in answers[::3])
    assert (await anywhere.get_stats("s")).total_entries == 21


# negative controls: without its check each of these would be written, or end in another error


def unchecked(raw: Any, *, field: str = "") -> EntryDraft:
    """Make a draft of what was given, as it was given."""
    known = raw if isinstance(raw, dict) else {"content": raw}
    fields = {name: known.get(name) for name in EntryDraft.__struct_fields__}
    return EntryDraft(**{**fields, "kind": known.get("kind", "message"), "role": known.get("role", "user")})


async def missed_apart(names: Iterable[str]) -> set[str]:
    """Return the cases whose check fails, each on a ledger of its own, for these ledgers are careless."""
    found: list[str] = []
    for name in names:
        config = {"profile": "none", "tokenizer": "approximate"}  # for what is not refused is counted
        async with MemoryLedger.open(store=InMemoryStore(), config=config) as careless:
            found += await missed(careless, [name])
    return set(found)


async def test_without_the_checks_of_entries_and_names_their_tests_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.application.writing.entry_writes.draft_entry", unchecked)
    monkeypatch.setattr("ledger.ports.event_encoding.encode", lambda event, salt: (1, salt + canonical_json(event)))
    monkeypatch.setattr("ledger.application.handle.check_idempotency_key", lambda key: key)
    monkeypatch.setattr("ledger.application.handle.named_stream", Stream.of)
    cases = {*ENTRIES, *NAMES, "I-49 entry 57 of 100"}
    assert cases - await missed_apart(cases) == {
        "a source that is a number",
        "metadata of a context that is a list",
        "a conversation's name",
        "the user of a list",
    }, "those are checked elsewhere"


async def test_without_the_checks_of_integers_their_tests_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("writing.entry_writes", "reading.session_reads", "handle"):
        monkeypatch.setattr(f"ledger.application.{module}.check_integer", lambda value, **bounds: value)
    monkeypatch.setattr("ledger.application.writing.entry_writes.BATCH_ENTRIES", 10**9)
    cases = {"N-6 1,001 entries", "I-45 minus one", "I-45 2**63", "N-6 a list of 1,001 rows", "a list of no rows"}
    assert await missed_apart(cases) == cases
