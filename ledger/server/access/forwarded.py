"""Requests that came through a proxy: without authentication the proxy would lend them the rights of this machine."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

from ledger.errors import NotPermitted
from ledger.server.service_settings import LOOPBACK

#: Headers with the addresses of clients, nearest last.
_ADDRESSES: Final = frozenset(
    {b"x-forwarded-for", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip", b"cf-connecting-ip"}
)


def check_not_forwarded(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a request that a proxy passed on for a client elsewhere, or that it cannot name. Source: trust S-10.

    Raises:
        NotPermitted: ``forwarded``.
    """
    if all(map(_is_here, _clients(headers))):
        return
    message = (
        "this request came through a proxy; without authentication only clients of this machine are answered: "
        "set MEMORY_LEDGER_AUTH_MODE, or MEMORY_LEDGER_ALLOWED_HOSTS if the proxy lets in only whom you trust"
    )
    raise NotPermitted("forwarded", message)


def _clients(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[str]:
    for name, value in headers:
        parts = value.decode("latin-1").split(",")
        if name in _ADDRESSES or name == b"x-forwarded-host":
            yield from parts
        elif name == b"forwarded":
            for part in parts:
                pairs = dict(pair.strip().partition("=")[::2] for pair in part.lower().split(";"))
                yield pairs.get("for", "unknown")


def _is_here(client: str) -> bool:
    client = client.strip().strip('"').lower()
    if client.startswith("["):
        client = client[1:].partition("]")[0]
    elif client.count(":") == 1:
        client = client.partition(":")[0]
    try:
        address = ip_address(client)
    except ValueError:
        return client in LOOPBACK
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
