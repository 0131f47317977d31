"""Over generated logs: the window after an import is what a model of the format says. Source: adapters IN-16."""

import json
import random
import secrets
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.formats.importers import TranscriptFile, codex, gemini_cli, openhands
from ledger.formats.importers.elements import claude_branch
from ledger.formats.importers.elements.openhands_view import OpenHandsView
from ledger.formats.importers.elements.steps import Rewound, Summarized
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.agent_logs import FORMATS, SESSION
from tests.support.examples import seeds, seeds_to_fail
from tests.support.ledgers import ledger_over


async def sent(ledger: MemoryLedger, session: str = SESSION, user_id: str | None = None) -> list[str]:
    """Return what the window of *session* has, as `agent_logs` says it."""
    found: list[str] = []
    for message in (await ledger.get_context(session, user_id=user_id)).messages:
        text = str(message["content"] or "").rpartition("\n")[2]
        found += [text] if text.strip() else []
        found += [call["id"] for call in message.get("tool_calls") or ()]
    return found


async def is_wrong(name: str, seed: int, store: Store, namespace: str) -> bool:
    """Tell whether a log has another window, imported at once or in two parts, or after a copy, fork or restore."""
    chance = random.Random(seed)
    lines, expected = FORMATS[name](chance)
    raw = [json.dumps(line).encode() + b"\n" for line in lines]
    ledger = ledger_over(store, namespace=namespace)
    for end in (chance.randint(1, len(raw)), len(raw)):
        await ledger.import_conversations(TranscriptFile(partial(iter, raw[:end]), name=SESSION))
    if await sent(ledger) != expected or not (await ledger.verify()).ok:
        return True
    version = (await ledger.get_state(SESSION)).version
    await ledger.fork(SESSION, "fork")
    exported = [line async for line in ledger.export_file(SESSION)]
    copy = ledger_over(store, namespace=f"{namespace}-copy")
    await copy.import_file(lambda: iter(exported))
    await ledger.add_user_message(SESSION, "More.")
    await ledger.restore(SESSION, version)
    windows = [await sent(ledger), await sent(ledger, "fork"), await sent(copy)]
    return any(window != expected for window in windows)


async def wrong(name: str, tried: Iterable[int]) -> list[int]:
    return [seed for seed in tried if await is_wrong(name, seed, InMemoryStore(), "n")]


@pytest.mark.parametrize("name", FORMATS)
async def test_the_window_is_what_the_format_says__IN_16(name: str) -> None:
    with seeds(100) as tried:
        assert await wrong(name, tried) == []


async def test_a_summary_that_only_took_the_place_of_another_divides_an_answer__IN_16() -> None:
    """It covers no entry, and stands between a message and the call that came after it."""
    assert await wrong("openhands-sdk", [1093205658]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
async def test_the_window_is_what_the_format_says_in_many_logs__IN_16(name: str) -> None:
    with seeds(2_000) as tried:
        assert await wrong(name, tried) == []


@pytest.mark.postgres
@pytest.mark.parametrize("name", FORMATS)
async def test_the_window_is_what_the_format_says_on_postgres__IN_16(
    postgres_store: Store, namespace: str, name: str
) -> None:
    start = secrets.randbits(32)
    print(f"seed {start}")
    for seed in range(start, start + 5):
        assert not await is_wrong(name, seed, postgres_store, f"{namespace}-{seed}"), seed


async def test_kept_messages_that_are_forgotten_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, a compaction of Claude Code left only its summary."""
    monkeypatch.setattr(claude_branch, "left_by", lambda *_: ([], False, True))
    assert await wrong("claude-code", seeds_to_fail(30))


async def test_a_history_that_is_not_taken_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, a compaction of Codex with items alone was ignored."""
    taken = codex._Window.compacted

    def ignored(*arguments: Any) -> Any:
        return None, taken(*arguments)[1], []

    monkeypatch.setattr(codex._Window, "compacted", ignored)
    assert await wrong("codex", seeds_to_fail(30))


async def test_a_condensation_that_takes_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, what OpenHands condensed stayed."""
    taken = openhands._condensed
    monkeypatch.setattr(openhands, "_condensed", lambda *arguments: (None, taken(*arguments)[1]))
    assert await wrong("openhands", seeds_to_fail(30))


async def test_a_condensation_of_the_sdk_whose_place_is_not_looked_at_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: a summary that stands before everything."""
    taken = OpenHandsView._condensed

    def misplaced(*arguments: Any) -> Any:
        change, entry = taken(*arguments)
        return (replace(change, place="first", before="") if isinstance(change, Summarized) else change), entry

    monkeypatch.setattr(OpenHandsView, "_condensed", misplaced)
    assert await wrong("openhands-sdk", seeds_to_fail(30))


async def test_a_rewritten_history_that_is_ignored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, a history that Gemini CLI wrote anew was passed over."""

    def ignored(_: Any, __: Any) -> tuple[Rewound | None, list[Any]]:
        return None, []

    monkeypatch.setattr(gemini_cli._Chat, "_replaced", ignored)
    assert await wrong("gemini", seeds_to_fail(30))
