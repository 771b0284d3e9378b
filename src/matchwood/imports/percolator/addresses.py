"""Addresses of the internet: what a query says of them, as networks.

Elasticsearch keeps an address of version 4 as one of version 6, in `::ffff:0:0/96`, where rules
tell the two apart. A range is therefore asked of both.
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Network, IPv6Address, IPv6Network

LAST = 2**128 - 1

# The first address of version 6 that stands for one of version 4.
_MAPPED = 0xFFFF << 32

# Networks that a range may take.
MAX_NETWORKS = 400


class AddressError(ValueError):
    """What is no address, or a range of too many networks."""


def position(text: str) -> int:
    """The place of an address in the order of Elasticsearch."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise AddressError(f"{text!r} is no address") from None
    return int(address) + (_MAPPED if address.version == 4 else 0)


def ends(text: str) -> tuple[int, int]:
    """The first and the last address of a network, or of a single address."""
    if "/" not in text:
        return position(text), position(text)
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise AddressError(f"{text!r} is no network") from None
    first = position(str(network.network_address))
    return first, first + network.num_addresses - 1


def networks(first: int, last: int) -> list[str]:
    """The networks that hold the addresses from the first to the last one, and no others."""
    if first > last:
        return []
    found = []
    for network in ipaddress.summarize_address_range(IPv6Address(first), IPv6Address(last)):
        assert isinstance(network, IPv6Network)
        start, shared = int(network.network_address), network.prefixlen
        if shared >= 96 and start >> 32 == 0xFFFF:
            found.append(str(IPv4Network((start & 0xFFFF_FFFF, shared - 96))))
        elif shared < 96 and IPv6Address(_MAPPED) in network:
            found.append("0.0.0.0/0")
        found.append(str(network))
    if len(found) > MAX_NETWORKS:
        raise AddressError(f"the range takes over {MAX_NETWORKS} networks")
    return found
