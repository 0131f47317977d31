"""Sessions of the Claude Agent SDK in a ledger."""

from ledger.adapters.claude_agent.claude_session_store import LedgerSessionStore

__all__ = ["LedgerSessionStore"]
