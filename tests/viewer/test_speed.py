"""The viewer stays as quick on long sessions: ratios and counts of `make bench-viewer` (viewer U-34)."""

import pytest
from playwright.sync_api import Browser

from bench.viewer import filled_service, measure

#: Figures that do not depend on the machine.
_JUDGED = ("requests", "/ 100", "/ at", "elements", "heap", "bytes")


@pytest.mark.slow
@pytest.mark.postgres
def test_ratios_and_counts_are_within_their_bounds(browser: Browser) -> None:
    with filled_service() as (base, folder):
        figures = measure(base, browser, folder)
    judged = [figure for figure in figures if any(word in figure.name for word in _JUDGED)]
    assert len(judged) >= 7
    assert [figure for figure in judged if figure.value > figure.bound] == []
