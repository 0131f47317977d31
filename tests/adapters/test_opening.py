"""An adapter that opens a ledger takes a password that may be a function. Source: adapters AD-2, trust P-22."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from ledger.memory import MemoryLedger

URL = "postgresql://ann@db.invalid/agents"
#: The module and the name of what opens a ledger, and its other arguments.
OPENING: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "openai_agents": ("agents", "MemoryLedgerSession", ("s",)),
    "claude_agent": ("ledger", "LedgerSessionStore", ()),
    "google_adk": ("google.adk", "LedgerSessionService", ()),
    "pydantic_ai": ("pydantic_ai", "LedgerHistory", ()),
    "langchain.chat_history": ("langchain_core", "LedgerChatMessageHistory", ("s",)),
    "langchain.middleware": ("langchain", "LedgerMiddleware", ()),
    "langgraph.saver": ("langgraph.checkpoint", "LedgerSaver.open", ()),
    "langgraph.ledger_store": ("langgraph.store", "LedgerStore.open", ()),
}


class Opened(Exception):
    """The ledger would be opened now."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """What `MemoryLedger.open` was called with: the URL and the password."""
    found: list[tuple[Any, Any]] = []

    def note(database_url: Any = None, namespace: Any = None, *, password: Any = None) -> Any:
        found.append((database_url, password))
        raise Opened

    monkeypatch.setattr(MemoryLedger, "open", note)
    return found


@pytest.mark.parametrize("adapter", OPENING)
def test_an_adapter_hands_the_password_to_the_ledger(adapter: str, opened: list[tuple[Any, Any]]) -> None:
    needed, name, arguments = OPENING[adapter]
    pytest.importorskip(needed)

    def token() -> str:
        return "of now"

    made: Callable[..., Any] = import_module(f"ledger.adapters.{adapter}")
    for part in name.split("."):
        made = getattr(made, part)
    with pytest.raises(Opened):
        made(*arguments, database_url=URL, password=token)._opened.open()
    assert opened == [(URL, token)]


async def test_the_mcp_server_hands_the_password_to_the_ledger(opened: list[tuple[Any, Any]]) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from ledger.adapters.mcp import server  # noqa: PLC0415 - an extra

    made = server(database_url=URL, password="secret")
    with pytest.raises(Opened):
        async with made.settings.lifespan(made):
            pass
    assert opened == [(URL, "secret")]
