"""Where webhooks may go: not to this machine or a private network, unless the settings allow it.

The address is checked when a connection is opened, and exactly the checked address is connected
to. A name therefore cannot resolve to one address for the check and to another for the call.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import Executor
from urllib.parse import urlsplit

# IPv6 addresses of this prefix contain an IPv4 address (RFC 6052).
NAT64 = ipaddress.ip_network("64:ff9b::/96")
# All blocks of IANA's registry of special-purpose IPv4 addresses (RFC 6890), multicast, and what
# is reserved. Some of them are routed, for services of the network itself: no webhook is there.
SPECIAL_IPV4 = tuple(
    map(
        ipaddress.IPv4Network,
        [
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ],
    )
)
# The only block that IANA assigns global unicast IPv6 addresses from.
GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")
# The blocks of it in IANA's registry of special-purpose IPv6 addresses: protocol assignments
# (Teredo, benchmarks, ORCHID and others), documentation, 6to4, and AS112.
SPECIAL_IPV6 = tuple(
    map(
        ipaddress.IPv6Network,
        ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"],
    )
)
# The most addresses of one host that a call tries.
ADDRESSES_TRIED = 4


class ForbiddenAddress(OSError):
    """A webhook leads to an address that is not allowed."""


def is_public(address: str) -> bool:
    """Whether an address, and any IPv4 address embedded in it, belongs to the public internet.

    >>> [is_public(a) for a in ("8.8.8.8", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False]
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped
        if ip in NAT64:
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded is None:
            return ip in GLOBAL_IPV6 and not any(ip in block for block in SPECIAL_IPV6)
        ip = embedded
    return not any(ip in block for block in SPECIAL_IPV4)


def url_problem(url: str, private: bool) -> str | None:
    """What is wrong with the URL of a webhook, as far as can be told without a DNS lookup."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return "must be an http or https URL with a host"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user or password"
    if not url.isascii() or any(character <= " " or character == "\x7f" for character in url):
        return "must be plain ASCII without spaces: percent-encode other characters"
    try:
        allowed = private or is_public(host)
    except ValueError:  # a host name
        allowed = private or host.lower().rstrip(".") != "localhost"
    return None if allowed else "leads to a private address"


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, without duplicates."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


async def allowed_addresses(host: str, port: int, private: bool, threads: Executor) -> list[str]:
    """The first addresses of a host that may be called; with `private`, all may.

    `threads` look names up. Raises ForbiddenAddress, or another OSError if the host has no address.
    """
    try:
        addresses = await asyncio.get_running_loop().run_in_executor(threads, resolved, host, port)
    except OSError as error:
        raise OSError(f"{host} has no address: {error}") from error
    allowed = [ip for ip in addresses if private or is_public(ip)]
    if not allowed:
        raise ForbiddenAddress(f"{host} leads to a private address")
    return allowed[:ADDRESSES_TRIED]
