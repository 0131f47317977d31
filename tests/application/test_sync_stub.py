"""The stub that editors and mypy read is what the generator writes, and the generator sees every change."""

from collections.abc import AsyncIterator

import pytest

from ledger.application.facade.blocking import Blocking
from tools.generate_sync_stub import STUB, Stub, generate


def test_the_stub_is_up_to_date() -> None:
    assert STUB.read_text() == generate(), "run: make sync-stub"


class Source:
    """What a proxy waits for."""

    async def count(self, name: str, *, most: int = 3, least: float = 2 * 2) -> dict[str, int]:
        """Count.

        More about it.
        """
        return {}

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield lines."""
        yield b""


class Proxy(Blocking, of=Source):
    """The proxy."""


def test_methods_are_written_as_they_are_spelled() -> None:
    stub = Stub()
    assert stub.of(Proxy, Source).splitlines() == [
        "class Proxy:",
        "    def count(self, name: str, *, most: int=3, least: float=...) -> dict[str, int]:",
        '        """Count."""',
        "    def lines(self) -> Iterator[bytes]:",
        '        """Yield lines."""',
    ]
    assert stub.imports == {"Iterator": "from collections.abc import Iterator"}


def test_a_name_of_two_meanings_is_refused() -> None:
    stub = Stub()
    stub.imports["Iterator"] = "from elsewhere import Iterator"
    with pytest.raises(ValueError, match="Iterator means two things"):
        stub.of(Proxy, Source)
