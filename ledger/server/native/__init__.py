"""Our own API: time travel and audit over sessions. Source: working-memory-http §5."""

from ledger.server.native.reading import router

__all__ = ["router"]
