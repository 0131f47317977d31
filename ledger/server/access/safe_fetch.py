"""Fetch a configured URL safely, protected against SSRF. Source: trust S-11, I-78.

The host name is resolved, all of its addresses are checked, and the connection goes to a checked address. So a name
that changes in between gains nothing. Redirects are not followed.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from ledger.errors import InvalidInput, Unavailable

MAX_BYTES: Final = 256 * 1024
TIMEOUT_S: Final = 5.0
#: Where all addresses of IPv6 are that the internet routes.
_UNICAST: Final = ipaddress.ip_network("2000::/3")
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
#: Special blocks that the library of a supported Python takes for global.
_UNKNOWN: Final = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))


async def fetch(url: str, *, private_networks: bool = False) -> bytes:
    """Return the document at *url*, of at most 256 KiB.

    Raises:
        InvalidInput: ``bad_url``: it is not https, or leads to a private network.
        Unavailable: it cannot be read now.
    """
    check_url(url, private_networks=private_networks)
    backend = _CheckedBackend(private_networks=private_networks)
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpcore.AsyncConnectionPool(network_backend=backend) as pool,
            pool.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status != 200:
                raise Unavailable(f"{_host(url)} answers {answer.status}; try again")
            document = bytearray()
            async for chunk in answer.aiter_stream():
                document += chunk
                if len(document) > MAX_BYTES:
                    raise Unavailable(f"{_host(url)} sends more than {MAX_BYTES:,} bytes")
            return bytes(document)
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, TimeoutError) as fault:
        raise Unavailable(f"{_host(url)} cannot be read now; try again") from fault


def check_url(url: str, *, private_networks: bool) -> None:
    """Refuse a *url* that is not https; http is allowed for private networks.

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
        raise InvalidInput("bad_url", "must be an https URL without a user", field="url")


class _CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to checked addresses."""

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
        """Connect to the first address of *host*, if all of its addresses are allowed."""
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        addresses = [str(info[4][0]) for info in found]
        if not self._private and not all(is_public(address) for address in addresses):
            raise InvalidInput("bad_url", "must not lead to a private network", field="url")
        return await self._network.connect_tcp(addresses[0], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._network.sleep(seconds)


def is_public(address: str) -> bool:
    """Tell whether *address* leads to the internet: the one that is really connected to, in a form that carries it."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        embedded = _embedded(parsed)
        if embedded is None:
            return parsed in _UNICAST and _is_global(parsed)
        parsed = embedded
    return _is_global(parsed)


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in block for block in _UNKNOWN)


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that *address* leads to: mapped, through NAT64, or 6to4."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _host(url: str) -> str:
    return urlsplit(url).hostname or "the address"
