"""Over generated logs: the window after an import is what a model of the format says. Source: adapters IN-16."""

import json
import random
from functools import partial
from typing import Any

import pytest

from ledger.importers import TranscriptFile, codex
from ledger.importers.parts import claude_branch
from ledger.stores.in_memory import InMemoryStore
from tests.importers.test_imported_windows import SESSION, boundary, claude, item, rollout, summary, uuid
from tests.support.ledgers import ledger_over

LOGS = 100


def claude_log(chance: random.Random) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a log, and what Claude Code would send: a compaction keeps the newest, some, or no messages."""
    lines: list[dict[str, Any]] = []
    window: list[tuple[int | None, str]] = []
    number, tip = 0, None
    for _ in range(chance.randint(3, 30)):
        number += 1
        if chance.random() > 0.15 or not window:
            role = "user" if number % 2 else "assistant"
            lines.append(claude(number, tip, role, f"message {number}"))
            window.append((number, f"message {number}"))
            tip = number
            continue
        real = [each for each in window if each[0] is not None]
        kept = real[len(real) - chance.randint(0, len(real)) :]
        about: dict[str, Any] = {}
        if kept and chance.random() < 0.5:
            head, tail = uuid(kept[0][0] or 0), uuid(kept[-1][0] or 0)
            about = {"preservedSegment": {"headUuid": head, "anchorUuid": uuid(number + 1), "tailUuid": tail}}
        elif kept:
            kept = sorted(chance.sample(kept, chance.randint(1, len(kept))), key=real.index)
            named = [uuid(each or 0) for each, _ in kept]
            about = {"preservedMessages": {"anchorUuid": uuid(number + 1), "uuids": named}}
        lines += [boundary(number, **about), summary(number + 1, number, f"summary {number}")]
        tip = chance.choice([kept[-1][0], number + 1]) if kept else number + 1
        window = [(None, f"summary {number}"), *kept]
        number += 1
    return lines, [text for _, text in window]


def codex_log(chance: random.Random) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a log, and what Codex would send: items, a history in their place, a summary, or fewer turns."""
    payloads: list[tuple[str, Any]] = []
    window: list[tuple[str, str]] = []
    for number in range(chance.randint(3, 30)):
        choice = chance.random()
        users = [at for at, (role, _) in enumerate(window) if role == "user"]
        if choice < 0.1:
            window = [(chance.choice(["user", "assistant", "developer"]), f"{number}.{at}") for at in range(number % 4)]
            history = [item(role, text) for role, text in window]
            payloads.append(("compacted", {"message": "x", "replacement_history": history}))
        elif choice < 0.2 and users:
            turns = chance.randint(1, 3)
            window = window[: users[max(len(users) - turns, 0)]]
            payloads.append(("event_msg", {"type": "thread_rolled_back", "num_turns": turns}))
        else:
            window.append((chance.choice(["user", "assistant"]), f"message {number}"))
            payloads.append(("response_item", item(*window[-1])))
    return rollout(*payloads), [text for _, text in window]


FORMATS = {"claude-code": claude_log, "codex": codex_log}


async def wrong(name: str, seeds: range) -> list[int]:
    """Return the seeds of logs whose window is another, imported at once or in two parts."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        lines, expected = FORMATS[name](chance)
        raw = [json.dumps(line).encode() + b"\n" for line in lines]
        ledger = ledger_over(InMemoryStore())
        for end in (chance.randint(1, len(raw)), len(raw)):
            await ledger.import_conversations(TranscriptFile(partial(iter, raw[:end]), name=SESSION))
        shown = [str(each["content"]).rpartition("\n")[2] for each in (await ledger.get_context(SESSION)).messages]
        if shown != expected or not (await ledger.verify()).ok:
            found.append(seed)
    return found


@pytest.mark.parametrize("name", FORMATS)
async def test_the_window_is_what_the_format_says__IN_16(name: str) -> None:
    start = random.randrange(10**9)
    failed = await wrong(name, range(start, start + LOGS))
    assert not failed, f"seeds {failed[:5]}, from {start}"


async def test_kept_messages_that_are_forgotten_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, a compaction of Claude Code left only its summary."""
    monkeypatch.setattr(claude_branch, "kept_by", lambda *_: ([], False, True))
    assert await wrong("claude-code", range(30))


async def test_a_history_that_is_not_taken_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, a compaction of Codex with items alone was ignored."""
    taken = codex._Window.compacted

    def ignored(*arguments: Any) -> Any:
        return None, taken(*arguments)[1], []

    monkeypatch.setattr(codex._Window, "compacted", ignored)
    assert await wrong("codex", range(30))
