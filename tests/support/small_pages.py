"""Pages of a few entries, whose content leaves memory after each read: short sessions then read as long ones do."""

import pytest

from ledger.history import page_cache
from projections import entry_page


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages so small that a short session has many."""
    monkeypatch.setattr(entry_page, "SMALL", 2)
    monkeypatch.setattr(entry_page, "YOUNG", 2)


def without_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages small, and let no content fit into memory."""
    small_pages(monkeypatch)
    monkeypatch.setattr(page_cache, "_PER_ENTRY_B", 10**9)
