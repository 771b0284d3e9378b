"""`Client` against a service on loopback."""

import threading
from datetime import date
from decimal import Decimal

import httpx
import pytest

from client.conftest import KEYS
from matchwood import EventError, RuleError, attr, parse
from matchwood.client import Client, Rule, ServiceError
from service.serving import Served, free_port

pytestmark = pytest.mark.xdist_group("client")  # one service for all of them


def test_rules_are_a_mapping(rules: Client) -> None:
    held = rules.rules
    held["adults"] = "age >= 18"
    held["a/b c?"] = attr("tier").isin("gold") & ~attr("blocked").eq(True)
    held.add("vip", parse("tier = 'gold'"), tags={"eu", "x"}, priority=5)
    assert sorted(held) == ["a/b c?", "adults", "vip"]
    assert len(held) == 3
    assert "adults" in held
    assert "nobody" not in held
    assert held["adults"] == parse("18 <= age")
    assert held.details("vip") == Rule("vip", "tier = 'gold'", frozenset({"eu", "x"}), 5.0)
    assert [rule.id for rule in held.find("gold")] == ["a/b c?", "vip"]
    del held["adults"]
    assert held.remove(["a/b c?", "adults", "a/b c?"]) == 1
    for missing in (held.__getitem__, held.__delitem__):
        with pytest.raises(KeyError, match="adults"):
            missing("adults")
    for one in ("vip", b"vip", 7):
        with pytest.raises(TypeError, match=r"several ids, such as a list, found .*remove\(\["):
            held.remove(one)  # type: ignore[arg-type]
    assert sorted(held) == ["vip"]
    assert held.get("adults") is None


def test_all_rules_are_replaced_at_once(rules: Client) -> None:
    first = rules.rules.replace({"a": "x = 1", "b": "x = 2"})
    assert (first["added"], first["removed"]) == (2, 0)
    told = rules.rules.replace(
        [("a", "x = 1"), Rule("c", "x = 3", frozenset({"t"}), 1)], dry_run=True
    )
    assert (told["added"], told["changed"], told["removed"]) == (1, 0, 1)
    assert sorted(rules.rules) == ["a", "b"]
    with pytest.raises(ServiceError) as refused:
        rules.rules.replace({}, version=first["version"] - 1)
    assert (refused.value.status, refused.value.kind) == (412, "version-conflict")
    with pytest.raises(ServiceError, match="invalid-rule"):
        rules.rules.replace({"a": "x ="})


def test_lists_are_a_mapping(rules: Client, service: Served) -> None:
    lists = rules.lists
    lists["tor ü?%'"] = ["10.0.0.1", 5, 0.5, True, date(2026, 1, 31)]
    stored = lists.set("none", [], version=0)
    assert (stored.name, stored.size) == ("none", 0)
    assert sorted(lists) == ["none", "tor ü?%'"]
    assert [found.size for found in lists.find("TOR")] == [5]
    assert len(lists) == 2
    assert "none" in lists
    assert "non" not in lists
    assert set(map(str, lists["tor ü?%'"])) == {"10.0.0.1", "5", "0.5", "True", "2026-01-31"}
    rules.rules["a"] = attr("ip").in_list("tor ü?%'")
    assert rules.match_batch([{"ip": 5}, {"ip": 6}, {"ip": "2026-01-31"}]) == [["a"], [], ["a"]]
    with pytest.raises(ServiceError, match="list-in-use"):
        del lists["tor ü?%'"]
    with pytest.raises(ServiceError, match="version-conflict"):
        lists.set("none", ["x"], version=0)
    with pytest.raises(RuleError, match="a list has values, found one str"):
        lists["none"] = "x"
    del rules.rules["a"]
    for name in sorted(lists):
        del lists[name]
    for missing in (lists.__getitem__, lists.__delitem__):
        with pytest.raises(KeyError, match="none"):
            missing("none")
    publisher = Client(service.url, KEYS["publisher"])
    with publisher, pytest.raises(ServiceError, match="requires a key of role admin"):
        publisher.lists["tor"] = ["x"]


def test_matching(rules: Client) -> None:
    rules.rules.replace([Rule("a", "x >= 1", frozenset({"t"}), 1), ("b", "x >= 2"), ("c", "y = 1")])
    assert rules.match({"x": 2}) in (["a", "b"], ["b", "a"])
    assert rules.match({"x": 2}, tags={"t"}) == ["a"]
    assert rules.match({"x": 2}, limit=1) == ["a"]
    assert rules.match_batch([{"x": 1}, {}, {"y": Decimal(1)}]) == [["a"], [], ["c"]]
    assert rules.why_not({"x": 1.5}, 1) == [{"id": "b", "lacked": ["x >= 2"]}]
    assert rules.explain("x >= 1", {"x": 5})["truth"] == "true"
    assert "true" in rules.explain("x >= 1", {"x": 5})["text"]
    assert rules.check("x >= 1")["attributes"] == ["x"]
    assert rules.check("x >=")["error"]["column"] == 5
    assert rules.status()["rules"] == 3


def test_errors_are_those_of_the_library(rules: Client) -> None:
    text = "age >= 18\n  and tier = "
    with pytest.raises(RuleError) as here:
        parse(text)
    with pytest.raises(RuleError) as there:
        rules.rules["a"] = text
    assert str(there.value) == str(here.value)
    with pytest.raises(RuleError, match=r"two operands or more, found 0 \(at \$\.and\)"):
        rules.rules["a"] = {"and": []}
    with pytest.raises(RuleError, match="no operator is registered"):
        rules.subscribe("near(a, 'b')", "ann")
    with pytest.raises(EventError) as event:
        rules.match({"a.b": 1, "a": {"b": 2}})
    assert event.value.attribute == "a.b"
    assert rules.rules.get("a") is None


def test_keys_allow_what_their_role_says(service: Served) -> None:
    with Client(service.url, KEYS["publisher"]) as publisher:
        assert publisher.publish({"nothing": 1}).matched == 0
        with pytest.raises(ServiceError) as refused:
            publisher.rules["a"] = "x = 1"
        assert (refused.value.status, refused.value.kind) == (403, "forbidden")
    with Client(service.url) as nobody, pytest.raises(ServiceError, match="unauthenticated"):
        nobody.match({})
    with Client(f"http://127.0.0.1:{free_port()}") as nowhere, pytest.raises(httpx.ConnectError):
        nowhere.status()


def test_the_life_of_a_subscription(service: Served, admin: Client) -> None:
    with Client(service.url, KEYS["subscriber"]) as client:
        made = client.subscribe("life = 1", "ann", validity=60)
        assert made.form["subscriber"] == "ann"
        assert made.ticket not in repr(made)
        again = client.subscription(made.id, made.ticket)
        assert again.form["rule"] == "life = 1"
        again.renew(3600)
        assert again.form["expires"] > made.form["expires"]
        again.change("life = 2", subscriber="bob")
        assert made.read()["subscriber"] == "bob"
        ids = [one.id for one in admin.publish_batch([{"life": 1}, {"life": 2}, {"life": 2}])]
        events = made.events()
        assert [one.id for one in events] == ids[1:]
        assert events[0].event == {"life": 2}
        made.acknowledge(events[0])
        assert [one.id for one in made.events()] == ids[2:]
        assert made.events(acknowledge=ids[2]) == []
        assert made.id in [one["id"] for one in admin.subscriptions("bob")]
        made.cancel()
        with pytest.raises(ServiceError, match="no such subscription"):
            made.read()


def test_a_poll_waits_longer_than_the_client_does(service: Served, admin: Client) -> None:
    made = admin.subscribe("slow = 1", "ann")
    with Client(service.url, timeout=0.5) as hasty:
        later = threading.Timer(1.0, admin.publish, [{"slow": 1}])
        later.start()
        events = hasty.subscription(made.id, made.ticket).events(wait=20)
        later.join()
    assert [one.event for one in events] == [{"slow": 1}]


def test_watching_goes_on_where_streams_end(admin: Client) -> None:
    """Streams of this service end after a second, so the events arrive over several streams."""
    made = admin.subscribe("watched >= 0", "ann")
    texts = ["line\u2028separator", "new\nline", "été\x85"]
    seen = []

    def publish() -> None:
        for number in range(4):
            admin.publish({"watched": number, "text": texts[number % 3]})
            stop.wait(0.6)

    stop = threading.Event()
    publisher = threading.Thread(target=publish)
    publisher.start()
    for delivered in made.watch(limit=4):
        seen.append(delivered)
    publisher.join()
    assert [one.event["watched"] for one in seen] == [0, 1, 2, 3]
    assert [one.event["text"] for one in seen[:3]] == texts
    assert made.events() == []  # all of it is acknowledged


def test_what_was_not_handled_comes_again(admin: Client) -> None:
    made = admin.subscribe("again >= 0", "ann")
    ids = [one.id for one in admin.publish_batch([{"again": n} for n in range(3)])]
    watching = made.watch()
    assert next(watching).id == ids[0]
    assert next(watching).id == ids[1]
    watching.close()  # in the middle of handling the second
    assert [one.id for one in made.events()] == ids[1:]
    kept = made.watch(acknowledge=False, limit=2)
    assert [one.id for one in kept] == ids[1:]
    assert [one.id for one in made.watch(after=ids[1], limit=1)] == ids[2:]


def test_watching_ends_with_the_subscription(admin: Client) -> None:
    made = admin.subscribe("gone = 1", "ann")
    made.cancel()
    with pytest.raises(ServiceError, match="no such subscription"):
        next(made.watch())


def test_times_are_published_as_text(admin: Client) -> None:
    made = admin.subscribe("day > date '2026-01-01'", "ann")
    admin.publish({"day": date(2026, 2, 1)})
    assert [one.event for one in made.events()] == [{"day": "2026-02-01"}]
    with pytest.raises(TypeError, match="an event may contain only JSON values, found bytes"):
        admin.publish({"raw": b"x"})


def test_one_event_and_several_are_not_confused(admin: Client) -> None:
    with pytest.raises(EventError, match="found list: for several events there are publish_batch"):
        admin.publish([{"a": 1}])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="takes several events, found one: use publish"):
        admin.publish_batch({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(EventError, match="an event is a mapping of names to values, found str"):
        admin.publish_batch("ab")  # type: ignore[arg-type]
    with pytest.raises(EventError, match="found list"):
        admin.match([{"a": 1}])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="found list"):
        admin.explain("a = 1", [])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="cannot be written as JSON"):
        admin.publish({"a": float("nan")})
    for value in (float("inf"), "\ud800"):
        for send in (admin.publish, admin.match, lambda event: admin.explain("a = 1", event)):
            with pytest.raises(EventError, match="cannot be written as JSON"):
                send({"a": value})


def test_a_client_waits_until_the_service_is_ready(service: Served) -> None:
    said: list[str] = []
    with Client(service.url) as client:
        client.wait_until_ready(0)
    loading = service.service
    loading.ready = False
    try:
        with Client(service.url) as client, pytest.raises(ServiceError, match="still loading"):
            client.wait_until_ready(1.5, said.append)
        assert len(said) == 1
        assert said[0].startswith("the service is still loading: ")
        threading.Timer(0.5, setattr, [loading, "ready", True]).start()
        with Client(service.url) as client:
            client.wait_until_ready(30)
    finally:
        loading.ready = True
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(httpx.ConnectError):
        client.wait_until_ready(0.5)
