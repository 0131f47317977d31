"""A configured URL leads to an address of the internet, however its address is written. Source: trust S-11, I-78.

The tables are IANA's registries of special-purpose addresses, whole: https://www.iana.org/assignments/
iana-ipv4-special-registry and iana-ipv6-special-registry.
"""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.server.access.safe_fetch import fetch, is_public

#: Blocks that are not globally reachable, or were given up.
INTERNAL = [
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fec0::/10",
    "fe80::/10",
    "ff00::/8",
    "::/96",
]
#: Special-purpose blocks that are globally reachable.
GLOBAL = ["192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", "2620:4f:8000::/48"]
ORDINARY = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80e::200e"]

#: Forms of IPv6 that lead to an IPv4 address.
FORMS: dict[str, Callable[[IPv4Address], IPv6Address]] = {
    "mapped": lambda v4: IPv6Address(0xFFFF << 32 | int(v4)),
    "NAT64": lambda v4: IPv6Address(0x64FF9B << 96 | int(v4)),
    "6to4": lambda v4: IPv6Address(0x2002 << 112 | int(v4) << 80 | 1),
}


def ends(block: str) -> list[str]:
    network = ip_network(block)
    return [str(network[0]), str(network[network.num_addresses // 2]), str(network[-1])]


@pytest.mark.parametrize("block", INTERNAL)
def test_no_address_of_a_special_block_is_public__I_78(block: str) -> None:
    assert [address for address in ends(block) if is_public(address)] == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", [block for block in INTERNAL if "." in block])
def test_nor_is_it_in_a_form_of_ipv6__I_78(block: str, form: str) -> None:
    written = [str(FORMS[form](IPv4Address(address))) for address in ends(block)]
    assert [address for address in written if is_public(address)] == []


@pytest.mark.parametrize("block", GLOBAL)
def test_a_special_block_that_is_global_is_public(block: str) -> None:
    assert all(map(is_public, ends(block)))


@pytest.mark.parametrize("address", ORDINARY)
def test_an_ordinary_address_is_public_in_each_form(address: str) -> None:
    assert is_public(address)
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):  # a network with IPv6 only reaches it through NAT64
        assert all(is_public(str(form(parsed))) for form in FORMS.values())


def test_the_librarys_flag_alone_lets_internal_addresses_pass__control() -> None:
    passed = [address for address in ("64:ff9b::7f00:1", "::7f00:1", "fec0::1") if ip_address(address).is_global]
    assert passed


@pytest.mark.parametrize("address", ["64:ff9b::a9fe:a9fe", "::7f00:1", "2002:7f00:1::", "fec0::1", "fe80::1%1"])
async def test_a_name_that_resolves_to_such_an_address_is_not_fetched__I_78(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolves(*asked: Any, **how: Any) -> list[Any]:
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 443, 0, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolves)
    with pytest.raises(InvalidInput, match="private network"):
        await fetch("https://keys.example.com/jwks")
