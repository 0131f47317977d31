"""The script and the stylesheet that are committed: small, readable, one pair for the service and the file."""

import gzip
import re

import pytest

from ledger.server.ui.viewer_page import file_text
from tests.docs.citations import ROOT
from tools.screens import SCREENS
from tools.ui_types import TYPES, types

NAMES = ("viewer.js", "viewer.css")


def test_they_are_small() -> None:
    """viewer U-5: together at most 60 KB with gzip and 300 KB without."""
    texts = [file_text(name).encode() for name in NAMES]
    assert sum(len(gzip.compress(text, 9)) for text in texts) <= 60 * 1024
    assert sum(map(len, texts)) <= 300 * 1024


@pytest.mark.parametrize("name", NAMES)
def test_an_auditor_can_read_them(name: str) -> None:
    """viewer U-4: not minified, and made of ui/; viewer U-5: no font, image or address of another host."""
    text = file_text(name)
    lines = text.splitlines()
    assert "Made from ui/" in lines[0]
    assert sorted(map(len, lines))[len(lines) // 2] < 60
    hosts = set(re.findall(r"https?://([a-z0-9.-]+)", text))
    assert hosts <= {"www.w3.org"}
    assert "@import" not in text
    assert "url(" not in text


def test_their_sources_depend_on_two_packages() -> None:
    """viewer U-3."""
    package = (ROOT / "ui" / "package.json").read_text()
    assert re.findall(r'"(@?[a-z/]+)": "\d', package) == ["@preact/signals", "preact", "esbuild", "typescript"]
    lock = (ROOT / "ui" / "package-lock.json").read_text()
    assert '"resolved"' not in lock


def test_the_types_of_the_page_are_those_of_the_service() -> None:
    """viewer U-6."""
    assert TYPES.read_text() == types(), "run `make docs-generate`"


def test_the_pages_have_the_pictures_and_every_key() -> None:
    """viewer U-53, U-54."""
    page = (ROOT / "docs" / "viewer.md").read_text()
    shown = {
        name for name in SCREENS if (ROOT / "docs" / "screens" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    }
    assert shown == SCREENS.keys()
    assert "screens/viewer.png" in page
    assert "docs/screens/viewer.png" in (ROOT / "README.md").read_text()
    keys = re.findall(r'keys: \["([^"]+)"\]', (ROOT / "ui" / "src" / "session_screen.tsx").read_text())
    names = {"ArrowLeft": "←", "ArrowRight": "→", "Escape": "Esc"}
    assert len(keys) == 21
    assert [key for key in keys if f"`{names.get(key, key)}`" not in page] == []
