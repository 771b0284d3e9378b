"""`AsyncClient` against a service on loopback."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from client.conftest import KEYS
from matchwood import RuleError, parse
from matchwood.client import AsyncClient, Client, Rule, ServiceError
from service.serving import Served

pytestmark = pytest.mark.xdist_group("client")  # one service for all of them


def run(service: Served, work: Callable[[AsyncClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncClient(service.url, KEYS["admin"]) as client:
            await work(client)

    asyncio.run(main())


def test_lists(service: Served, rules: Client) -> None:
    async def work(client: AsyncClient) -> None:
        stored = await client.lists.set("tor", ["10.0.0.1", 5])
        assert await client.lists.get("tor") == ["10.0.0.1", 5]
        assert [found async for found in client.lists.find()] == [stored]
        assert await client.lists.count() == 1
        assert await client.lists.remove(["tor", "nobody", "tor"]) == 1
        with pytest.raises(KeyError, match="tor"):
            await client.lists.get("tor")
        with pytest.raises(TypeError, match=r"several names.* write `remove\(\['tor'\]\)`"):
            await client.lists.remove("tor")

    run(service, work)


def test_rules_and_matching(service: Served, rules: Client) -> None:
    async def work(client: AsyncClient) -> None:
        await client.rules.add("a", "x >= 1", tags={"t"}, priority=2)
        await client.rules.replace([("a", "x >= 1"), Rule("b", "x >= 2", frozenset(), 1)])
        assert await client.rules.get("b") == parse("x >= 2")
        assert (await client.rules.details("b")).priority == 1
        assert await client.rules.count() == 2
        assert [rule.id async for rule in client.rules.find()] == ["a", "b"]
        assert sorted(await client.match({"x": 2})) == ["a", "b"]
        assert await client.match_batch([{"x": 1}, {}]) == [["a"], []]
        assert [one["id"] for one in await client.why_not({"x": 1}, 1)] == ["b"]
        assert (await client.explain("x = 1", {}))["truth"] == "undefined"
        assert (await client.check("x ="))["valid"] is False
        assert (await client.status())["rules"] == 2
        assert await client.rules.remove(["a", "nobody"]) == 1
        with pytest.raises(KeyError):
            await client.rules.get("a")
        with pytest.raises(TypeError, match=r"write `remove\(\['b'\]\)`"):
            await client.rules.remove("b")
        with pytest.raises(RuleError, match="column 4"):
            await client.rules.add("c", "x =")

    run(service, work)


def test_subscriptions(service: Served) -> None:
    async def work(client: AsyncClient) -> None:
        made = await client.subscribe("many >= 0", "ann", validity=60)
        again = client.subscription(made.id, made.ticket)
        await again.renew(3600)
        await again.change(subscriber="carol")
        assert (await made.read())["subscriber"] == "carol"
        assert made.id in [one["id"] async for one in client.subscriptions("carol")]
        ids = [one.id for one in await client.publish_batch([{"many": 0}, {"many": 1}])]
        assert [one.id for one in await made.events()] == ids
        await made.acknowledge(ids[0])
        assert [one.id for one in await made.events(acknowledge=ids[0])] == ids[1:]
        await made.cancel()
        with pytest.raises(ServiceError, match="no such subscription"):
            await made.read()

    run(service, work)


def test_watching_beside_publishing(service: Served) -> None:
    """Two watchers at once, over streams that end after a second."""

    async def work(client: AsyncClient) -> None:
        made = [await client.subscribe(f"beside >= {low}", "ann") for low in (0, 2)]

        async def watched(one: object) -> list[int]:
            return [d.event["beside"] async for d in one.watch(limit=3)]  # type: ignore[attr-defined]

        async def published() -> None:
            for number in range(5):
                await client.publish({"beside": number})
                await asyncio.sleep(0.4)

        first, second, _ = await asyncio.gather(*map(watched, made), published())
        assert (first, second) == ([0, 1, 2], [2, 3, 4])
        assert [one.event for one in await made[0].events()] == [{"beside": 3}, {"beside": 4}]

    run(service, work)
