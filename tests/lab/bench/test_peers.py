"""Peers are given what we mean, or nothing; and what differs from `evaluate` is counted."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from matchwood.lab.bench.peers import driver_builds, python_driver, rows
from matchwood.lab.bench.peers.__main__ import WORKLOADS
from matchwood.lab.bench.peers.driver_builds import Unavailable
from matchwood.lab.bench.peers.rows import PEERS, ComparedWorkload, row, rules_for
from matchwood.lab.bench.peers.syntaxes.event_patterns import event_patterns
from matchwood.lab.bench.peers.syntaxes.quamina_patterns import quamina_patterns
from matchwood.lab.bench.peers.two_valued import two_valued
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language import evaluate, parse
from matchwood.language.tree import Not, Xnor, Xor, walk

BY_NAME = {peer.name: peer for peer in PEERS}

# Tests of strings, as the detections have them, which are all true of some event.
STRING_RULES = [
    "path like '%\\\\x.exe'",
    "path like 'C:\\\\%'",
    "path like 'C:%.exe' and not (user like '_b%')",
    "path ilike '%\\\\X.E_e'",
    "path not ilike '%temp%'",
    "contains(path, '.*') or startswith(user, 'a')",
    "not endswith(path, 'exe') xor user = 'bob'",
    "user in ('ann', 'bob') and not contains(path, 'Temp')",
]
STRINGS: list[dict[str, Any]] = [
    {"path": "C:\\Temp\\x.exe", "user": "ann"},
    {"path": "C:\\temp\\y.dll", "user": "ann"},
    {"path": "D:\\X.EXE", "user": "bob"},
    {"path": "a.*\n.exe"},
    {"user": "abel"},
]


def made(texts: list[str], events: list[dict[str, Any]], as_json: bool = False) -> ComparedWorkload:
    return ComparedWorkload(
        "made", texts, events, [json.dumps(e).encode() for e in events], as_json
    )


def test_two_valued_rules_are_true_of_the_same_events() -> None:
    chance = random.Random(5)

    def rule(depth: int) -> str:
        if not depth:
            name = chance.choice("abc")
            return chance.choice(
                (f"{name} = 1", f"{name} < 2", f"{name} between 1 and 2", f"{name} in (0, 2)")
            )
        word = chance.choice((" and ", " or ", " xor ", " xnor "))
        text = word.join(f"({rule(depth - 1)})" for _ in range(chance.randint(2, 3)))
        return chance.choice((text, f"not ({text})"))

    for _ in range(150):
        tree = parse(rule(chance.randint(0, 2)))
        plain = two_valued(tree)
        assert not any(isinstance(node, Xor | Xnor) for node in walk(plain))
        assert all(not n.operands[0].operands for n in walk(plain) if isinstance(n, Not))
        for _ in range(10):
            event = {name: chance.choice((0, 1, 2, 3)) for name in "abc" if chance.random() < 0.7}
            assert (evaluate(tree, event) is True) == (evaluate(plain, event) is True)


@pytest.mark.parametrize("name", ["rule-engine", "duckdb", "polars"])
@pytest.mark.parametrize("workload", ["ABE-Gen", "audiences", "strings"])
def test_python_peers_answer_as_evaluate(name: str, workload: str) -> None:
    peer = BY_NAME[name]
    pytest.importorskip(peer.package)
    given = made(STRING_RULES, STRINGS) if workload == "strings" else WORKLOADS[workload](30, 20, 3)
    rules = rules_for(peer, given)
    assert len(rules) == len(given.texts)
    job = python_driver.PeerJob(given.kinds, list(rules.items()), list(given.lines))
    built = python_driver.PEERS[name](job)()
    answers = [set(ids) for unit in built.units for ids in built.ids(built.run(unit))]
    assert answers == [right & rules.keys() for right in given.right]
    assert any(answers)


def test_a_row_has_figures_and_counts_wrong_answers() -> None:
    pytest.importorskip("duckdb")
    given = made(["a > 1", "b = 'x' or a = 3"], [{"a": 1}, {"a": 2, "b": "y"}, {"a": 3}])
    rules = rules_for(BY_NAME["duckdb"], given)
    figures = row(BY_NAME["duckdb"], given, rules, 0.01)
    assert figures["answers_checked"] == 6
    assert figures["wrong_answers"] == 0
    assert figures["events_per_second"] > 0
    swapped = {0: rules[1], 1: rules[0]}  # the second event matches only the first rule
    assert row(BY_NAME["duckdb"], given, swapped, 0.01)["wrong_answers"] == 2


def test_patterns_of_event_ruler() -> None:
    def made_of(text: str) -> list[Any]:
        tree = two_valued(parse(text))
        return [json.loads(pattern) for pattern in event_patterns(tree, {})]

    assert made_of("a.b = 1 and a.c in ('x', 'y')") == [
        {"a": {"b": [{"numeric": ["=", 1]}], "c": ["x", "y"]}}
    ]
    assert made_of("s like 'a%b%' or n not between 1 and 2") == [
        {"s": [{"wildcard": "a*b*"}]},
        {"n": [{"numeric": ["<", 1]}, {"numeric": [">", 2]}]},
    ]
    assert made_of("s is null") == [{"s": [None]}, {"s": [{"exists": False}]}]
    assert made_of("contains(s, '*')") == [{"s": [{"wildcard": "*\\**"}]}]
    for text in ("a > 1 and a < 5", "s >= 'a'", "s ilike '%x%'", "s rlike 'x'"):
        with pytest.raises(Untranslatable):
            made_of(text)


def test_patterns_of_quamina_are_those_of_event_ruler_that_it_knows() -> None:
    def made_of(text: str) -> list[Any]:
        tree = two_valued(parse(text))
        return [json.loads(pattern) for pattern in quamina_patterns(tree, {})]

    assert made_of("a.b in (1, 2) and a.c not in ('x', 'y')") == [
        {"a": {"b": [1, 2], "c": [{"anything-but": ["x", "y"]}]}}
    ]
    assert made_of("s like 'a%' or s like '%*' or s ilike 'X'") == [
        {"s": [{"prefix": "a"}]},
        {"s": [{"wildcard": "*\\*"}]},
        {"s": [{"equals-ignore-case": "X"}]},
    ]
    assert made_of("s is null") == [{"s": [None]}, {"s": [{"exists": False}]}]
    for text in ("a > 1", "a != 1", "s ilike 'x%'", "not (s like 'x%')"):
        with pytest.raises(Untranslatable):
            made_of(text)


def test_a_peer_that_can_say_nothing_is_left_out_with_the_reason() -> None:
    given = made(["s rlike 'x'"], [{"s": "x"}])
    with pytest.raises(Unavailable, match="none of 1 rules"):
        rules_for(BY_NAME["duckdb"], given)


def test_missing_tools_and_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_builds.shutil, "which", lambda _: None)
    with pytest.raises(Unavailable, match="cargo is not installed"):
        driver_builds.built("a_tree")
    monkeypatch.setattr(rows.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match="duckdb is not installed"):
        rules_for(BY_NAME["duckdb"], made(["a = 1"], [{"a": 1}]))


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    failing = ((("sh", "-c", "echo no such version >&2; exit 1"),), ("sh",))
    monkeypatch.setitem(driver_builds.BUILDS, "a_tree", failing)
    for _ in range(2):  # what has failed is tried again
        with pytest.raises(Unavailable, match="no such version"):
            driver_builds.built("a_tree")
