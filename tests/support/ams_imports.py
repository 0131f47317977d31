"""Importing from a server of the working-memory API: a whole session, and one import."""

import asyncio
from typing import Any

from ledger.server.ams_import import AmsImport, AmsImportResult, AmsSource
from ledger.server.service_settings import load_service_settings
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore

FULL = {
    "messages": [
        {"id": "m1", "role": "user", "content": "Hello", "created_at": "2026-01-02T03:04:05.000006Z"},
        {"id": "m2", "role": "assistant", "content": "Hi", "created_at": "2026-01-02T03:04:06.000000Z"},
    ],
    "memories": [{"id": "f1", "text": "Likes tea", "memory_type": "semantic", "topics": ["drinks"]}],
    "data": {"step": 3, "deep": {"a": [1, 2]}},
    "context": "They talked before.",
    "tokens": 7,
    "long_term_memory_strategy": {"strategy": "summary", "config": {"max_summary_length": 50}},
    "ttl_seconds": 3600,
}


def import_from(
    target: InMemoryStore, url: str, *, token: str | None = None, timeout_s: float = 10, limits: Any = None, **only: Any
) -> AmsImportResult:
    """Import what the server at *url* stores into *target*, within *limits* of `AmsSource`."""

    async def run() -> AmsImportResult:
        async with (
            AmsSource.open(url, token=token, timeout_s=timeout_s, **(limits or {})) as source,
            AmsImport.open(Settings(), load_service_settings(), store=target) as ams_import,
        ):
            return await ams_import.run(source, **only)

    return asyncio.run(run())
