"""Webhooks go to public addresses only, whatever their names and redirects say."""

import asyncio
import socket
from typing import Any

import pytest

from matchwood.service.delivery import addresses
from matchwood.service.delivery.addresses import ForbiddenAddress, is_public
from matchwood.service.delivery.webhook_connections import WebhookConnections
from service.delivery.receiver import Receiver

# All blocks of the registries of special-purpose addresses, and others that are not public.
PRIVATE = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254
    172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.170 192.0.0.192 192.0.2.1 192.31.196.1
    192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1
    203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:192.0.0.192
    64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::7f00:1 64:ff9b:1::808:808 100::1 100:0:0:1::1
    2001::1 2001:0:808:808:: 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1
    2001:30::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 2620:4f:8000::1 3fff::1 5f00::1
    fc00::1 fdff::1 fe80::1 fe80::1%eth0 fec0::1 feff::1 ff02::1 4000::1 e000::1
"""
PUBLIC = """
    1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.32.0.1 192.0.1.1 192.167.0.1
    198.17.0.1 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::808:808 2001:200::1
    2001:4860:4860::8888 2003::1 2606:4700::1111 2a00:1450::1 3ffe::1
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


async def post(url: str, private: bool = False) -> int:
    connections = WebhookConnections(private, most=8)
    try:
        return await connections.post(url, {}, b"{}")
    finally:
        connections.close()


def loopback_names() -> list[str]:
    """Names and spellings that lead to this machine; not every system reads all of them."""
    wanted = ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0"]
    return [name for name in wanted if _leads_here(name)]


def _leads_here(name: str) -> bool:
    try:
        found = socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(str(entry[4][0]).startswith(("127.", "0.")) for entry in found)


@pytest.mark.parametrize("name", loopback_names())
def test_no_spelling_of_this_machine_is_called(name: str) -> None:
    receiver = Receiver()
    try:
        url = f"http://{name}:{receiver.server.server_port}/"
        with pytest.raises(ForbiddenAddress):
            asyncio.run(post(url))
        assert not receiver.calls
        assert asyncio.run(post(url, private=True)) == 204  # the name does lead to it
    finally:
        receiver.close()


def test_a_name_that_changes_its_address_is_called_where_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the resolver is replaced, because no name server here does that, and which of two
    addresses of this machine counts as public. Both have a server on the same port.
    """
    public = Receiver("127.0.0.2")
    private = Receiver("127.0.0.1", public.server.server_port)
    answers = [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.2"], ["127.0.0.1"]]
    names: list[str] = []

    def resolver(host: str, port: int, **more: object) -> list[tuple[object, ...]]:
        if host != "rebinding.example.org":
            return lookup(host, port, **more)  # an address, as a connection looks it up
        names.append(host)
        return [lookup(address, port, **more)[0] for address in answers.pop(0)]

    async def post_twice() -> None:
        connections = WebhookConnections(False, most=8)
        try:
            assert await connections.post(url, {"Connection": "close"}, b"{}") == 204
            await connections.post(url, {}, b"{}")
        finally:
            connections.close()

    lookup: Any = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.2")
    url = f"http://rebinding.example.org:{public.server.server_port}/"
    try:
        with pytest.raises(ForbiddenAddress):
            asyncio.run(post(url))
        assert asyncio.run(post(url)) == 204
        assert len(public.calls) == 1  # the address that was checked, and never the private one
        with pytest.raises(ForbiddenAddress):  # each new connection looks the name up, once
            asyncio.run(post_twice())
        assert (len(public.calls), len(private.calls)) == (2, 0)
        assert (len(names), answers) == (4, [])
    finally:
        public.close()
        private.close()
