"""Reading a URL that was configured, without being led elsewhere. Source: trust S-11, I-78.

The name is resolved, every address it has is looked at, and the connection goes to the address that was looked
at: a name that changes in between gains nothing. Redirects are not followed.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from ledger.errors import InvalidInput, Unavailable

LARGEST: Final = 256 * 1024
TIMEOUT_S: Final = 5.0


async def fetch(url: str, *, private_networks: bool = False) -> bytes:
    """Return the document at *url*, of at most 256 KiB.

    Raises:
        InvalidInput: ``bad_url``: it is not https, or leads into a private network.
        Unavailable: it cannot be read now.
    """
    check_url(url, private_networks=private_networks)
    backend = _Resolved(private_networks=private_networks)
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpcore.AsyncConnectionPool(network_backend=backend) as pool,
            pool.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status != 200:
                raise Unavailable(f"{_place(url)} answers {answer.status}; try again")
            document = bytearray()
            async for piece in answer.aiter_stream():
                document += piece
                if len(document) > LARGEST:
                    raise Unavailable(f"{_place(url)} answers too much")
            return bytes(document)
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, TimeoutError) as fault:
        raise Unavailable(f"{_place(url)} cannot be read now; try again") from fault


def check_url(url: str, *, private_networks: bool) -> None:
    """Refuse a *url* that is not https; http is for private networks.

    Raises:
        InvalidInput: ``bad_url``.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    schemes = {"https", "http"} if private_networks else {"https"}
    if parts.scheme not in schemes or not parts.hostname or parts.username is not None or port == 0:
        raise InvalidInput("bad_url", "is an https URL without a user", field="url")


class _Resolved(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were looked at."""

    def __init__(self, *, private_networks: bool) -> None:
        self._private = private_networks
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of *host*, if all of them may be used."""
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if not self._private and not all(_is_public(address) for address in addresses):
            raise InvalidInput("bad_url", "leads into a private network", field="url")
        return await self._network.connect_tcp(addresses[0], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._network.sleep(seconds)


def _is_public(address: str) -> bool:
    known = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(known, "ipv4_mapped", None)
    chosen = mapped or known
    return chosen.is_global and not chosen.is_multicast


def _place(url: str) -> str:
    return urlsplit(url).hostname or "the address"
