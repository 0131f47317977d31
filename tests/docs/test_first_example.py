"""The README's first example still knows what was said in turn 3, however long the session gets."""

import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore

README = Path(__file__).parents[2] / "README.md"
TURNS = [
    ("Add a login page.", "I have added it under /login."),
    ("Style it like the rest.", "It uses the same form now."),
    ("Sign the cookies with the key that Priya keeps in the vault in Lyon.", "Understood."),
]


def first_config() -> dict[str, Any]:
    """Return the config of the first Python block."""
    block = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    found = re.search(r"^config = (\{.*\})", block.group(1), re.MULTILINE)
    assert found is not None
    value = literal_eval(found.group(1))
    assert isinstance(value, dict)
    return value


async def shown(store: Store, namespace: str, config: dict[str, Any]) -> tuple[str, int]:
    """Return what the model is shown when it is asked for turn 3 after 400 others, and its tokens."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=config) as ledger:
        later = [
            (f"Rename field number {number} of the form and run its tests again.", "Done, they pass: " + "ok " * 20)
            for number in range(400)
        ]
        entries = [
            {"role": role, "content": text}
            for turn in [*TURNS, *later]
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        await ledger.add_entries("auth-work", entries)
        await ledger.add_user_message("auth-work", "Which key signs the cookies?")
        context = await ledger.get_context("auth-work")
        return context.text, context.tokens


@pytest.mark.postgres
async def test_the_first_example_knows_turn_3(postgres_store: PostgresStore, namespace: str) -> None:
    text, tokens = await shown(postgres_store, namespace, first_config())
    assert "the vault in Lyon" in text
    assert "Rename field number 399" in text
    assert tokens < 8_100


async def test_the_newest_turns_alone_do_not_know_it() -> None:
    """Negative control."""
    text, _ = await shown(InMemoryStore(), "control", {"window": {"type": "max_tokens", "memory_max_tokens": 8000}})
    assert "the vault in Lyon" not in text
    assert "Rename field number 399" in text
