"""Where webhooks may go: not to this machine or a private network, unless that is allowed.

The address is checked when the connection is made, and it is that address that is connected to:
a name cannot resolve to one address for the check and to another afterwards.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore

NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenAddress(httpcore.ConnectError):
    """A webhook would go where it may not."""


def is_public(address: str) -> bool:
    """Whether an address is one of the internet, and so is one that is packed into it.

    >>> [is_public(a) for a in ("8.8.8.8", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1")]
    [True, False, False, False]
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in NAT64:
            inner.append(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        if not all(is_public(str(one)) for one in inner if one is not None):
            return False
        if ip.ipv4_mapped is not None:
            return True
    return ip.is_global and not ip.is_multicast


def problem_of(url: str, private: bool) -> str | None:
    """What is wrong with the URL of a webhook, as far as one sees without asking for its name."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https") or not host:
        return "is an http or https URL with a host"
    if parts.username is not None or parts.password is not None:
        return "has no user or password"
    if not url.isascii() or any(character <= " " or character == "\x7f" for character in url):
        return "is plain ASCII without blanks: encode other characters"
    try:
        allowed = private or is_public(host)
    except ValueError:  # a name
        allowed = private or host.lower().rstrip(".") != "localhost"
    return None if allowed else "leads to a private address"


async def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only, or to any."""

    def __init__(self, private: bool) -> None:
        self._private = private
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await resolved(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} has no address: {error}") from error
        allowed = [one for one in addresses if self._private or is_public(one)]
        if not allowed:
            raise ForbiddenAddress(f"{host} leads to a private address")
        failed: Exception | None = None
        for address in allowed[:4]:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as one:
                failed = one
        assert failed is not None
        raise failed

    async def connect_unix_socket(self, *given: Any, **more: Any) -> httpcore.AsyncNetworkStream:
        raise ForbiddenAddress("a webhook goes to a host")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
