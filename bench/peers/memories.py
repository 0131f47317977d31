"""What is compared: a store of messages, and how it is opened."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Protocol, TypeAlias

import msgspec

import ledger

#: (place, text) of messages in the order of their places.
Page: TypeAlias = Sequence[tuple[int, str]]

WRITERS: Final = 8  # the connections that each store gets


class Memory(Protocol):
    """A store of messages, used as its documentation says."""

    async def append(self, session: str, text: str) -> None:
        """Append a message; it is acknowledged when this returns. *session* is the text of a UUID."""
        ...

    async def texts(self, session: str) -> list[str]:
        """Return all messages of a session."""
        ...

    async def feed(self, after: int) -> Page | None:
        """Return messages of all sessions after a place, in the order in which a follower can ask; None without one."""
        ...


class Peer(msgspec.Struct, frozen=True):
    """A store to compare: its name, the packages that it is, and what opens it on a database."""

    name: str
    packages: tuple[str, ...]
    #: Gets two URLs of one database, of its owner and of an application.
    opened: Callable[[str, str], AbstractAsyncContextManager[Memory]]

    @property
    def version(self) -> str:
        """The versions of its packages, or why there are none."""
        return ", ".join(_version(package) for package in self.packages)


def _version(package: str) -> str:
    if package == "memory-ledger":
        return ledger.__version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
