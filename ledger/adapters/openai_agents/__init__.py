"""Sessions of the OpenAI Agents SDK in a ledger."""

from ledger.adapters.openai_agents.agents_session import MemoryLedgerSession

__all__ = ["MemoryLedgerSession"]
