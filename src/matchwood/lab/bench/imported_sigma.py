"""Detections of Sigma beside rsigma, and why the answers differ where they do.

A detection is taken apart into its items, each a field with its modifiers and values, or a keyword.
rsigma is asked for each item alone. If the answers for the items, put together as the condition
says, are not rsigma's own answer, or if an item differs for none of the known reasons, the answer
counts as wrong; else the difference counts for the reason of its first item that differs.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matchwood.lab.bench.peers.driver_builds import Unavailable
from matchwood.lab.workloads.random_detections import detection, event
from matchwood.language import evaluate, parse
from matchwood.language.tree import Node

Event = dict[str, Any]

# What rsigma-eval 0.23 does otherwise than Sigma's specification, or pySigma where that is silent.
REASONS = {
    "neq of a missing field": "`neq` is the negation of the value, as pySigma has it, and so true "
    "of an event without the field; rsigma finds it false",
    "null of a missing field": "a field that is missing has no value, which is what null asks for; "
    "rsigma finds null only where the event has a null",
    "text as a number": "`gt`, `gte`, `lt` and `lte` compare numbers; rsigma also reads text",
    "booleans as 0 and 1": "a boolean is the text true or false; rsigma takes 0 and 1 for it, too",
    "wildcards": "wildcards stand for any characters also where a modifier adds others, beside "
    "escaped ones, after `windash`, over line breaks, and in keywords over numbers; rsigma differs "
    "in some of these",
}

# Detections that were written by hand, with events.
CHOSEN: list[tuple[dict[str, Any], list[Event]]] = [
    (
        {"s": {"Image|endswith": "\\cmd.exe", "User": "root"}, "condition": "s"},
        [{"Image": "C:\\CMD.EXE", "User": "Root"}, {"Image": "cmd.exe", "User": "root"}],
    ),
    (
        {"s": {"a|contains|all": ["x", "y"]}, "f": {"b": None}, "condition": "s and not f"},
        [{"a": "yx", "b": 1}, {"a": "xy", "b": None}, {"a": "x", "b": 1}],
    ),
    (
        {"s": {"ip|cidr": ["10.0.0.0/8", "fe80::/10"]}, "condition": "s"},
        [{"ip": "10.200.0.1"}, {"ip": "fe80::1"}, {"ip": "11.0.0.1"}, {"ip": "x"}],
    ),
    (
        {"s": {"a": ["x*", "?y"]}, "t": {"b|exists": False}, "condition": "1 of them"},
        [{"a": "xyz", "b": 1}, {"a": "zy", "b": 1}, {"a": "y", "b": 1}, {"a": "q"}],
    ),
    (
        {"s": {"a|re": "^ab+$"}, "t": {"n|gte": 5}, "condition": "s and t"},
        [{"a": "abb", "n": 5}, {"a": "abb", "n": 4}, {"a": "ab ", "n": 9}],
    ),
    (
        {"s": ["mimikatz", "secret"], "condition": "not s"},
        [{"a": {"b": "the MimiKatz"}}, {"a": ["nothing"]}, {}],
    ),
]


class Asked(NamedTuple):
    """A detection, the rule that it becomes, and the events that both are asked about."""

    detection: dict[str, Any]
    rule: Node
    events: list[Event]

    @property
    def job(self) -> tuple[Any, list[Event]]:
        return sigma_rule(self.detection), self.events


class Item(NamedTuple):
    """A field with modifiers and a value or values, or a keyword."""

    key: str  # empty for a keyword
    value: Any

    @property
    def alone(self) -> dict[str, Any]:
        """A detection that asks for nothing else."""
        return {"s": {self.key: self.value} if self.key else [self.value], "condition": "s"}


def sigma_rule(detection: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": "A rule", "logsource": {"product": "test"}, "detection": detection}


def drawn(seeds: Sequence[int], events: int) -> list[Asked]:
    """Random detections that become rules, with random events, and those written by hand."""
    made = []
    for seed in seeds:
        source = random.Random(seed)
        made.append((detection(source), [event(source, numbers=True) for _ in range(events)]))
    asked = ((each, rule_of(each), about) for each, about in [*CHOSEN, *made])
    return [Asked(each, rule, about) for each, rule, about in asked if rule is not None]


def rule_of(detection: Mapping[str, Any]) -> Node | None:
    """The rule that a detection becomes; None if it is refused."""
    try:
        from sigma.collection import SigmaCollection
        from sigma.exceptions import SigmaFeatureNotSupportedByBackendError

        from matchwood.imports.sigma import MatchwoodBackend
        from matchwood.imports.sigma.rule_rows import any_of_texts
    except ModuleNotFoundError as error:
        raise Unavailable(str(error)) from None
    (rule,) = SigmaCollection.from_dicts([sigma_rule(detection)]).rules
    try:
        return parse(any_of_texts(MatchwoodBackend().convert_rule(rule)))  # type: ignore[arg-type]
    except SigmaFeatureNotSupportedByBackendError:
        return None


def items_of(detection: Mapping[str, Any]) -> Iterator[Item]:
    for name, selection in detection.items():
        if name != "condition":
            for one in selection if isinstance(selection, list) else [selection]:
                if isinstance(one, dict):
                    yield from (Item(key, value) for key, value in one.items())
                else:
                    yield Item("", one)


def together(detection: Mapping[str, Any], truth: Mapping[str, bool]) -> bool:
    """Whether a detection holds, given whether each of its items does, by its JSON."""

    def holds(one: Any) -> bool:
        items = one.items() if isinstance(one, dict) else [("", one)]
        return all(truth[json.dumps(item)] for item in items)

    def selected(selection: Any) -> bool:
        return any(map(holds, selection)) if isinstance(selection, list) else holds(selection)

    names = {name: selected(each) for name, each in detection.items() if name != "condition"}
    text = str(detection["condition"])
    some, every = str(any(names.values())), str(all(names.values()))
    text = text.replace("1 of them", some).replace("1 of s*", some).replace("all of s*", every)
    return bool(eval(text, {"__builtins__": {}}, names))


def counted(asked: Sequence[Asked], lines: Sequence[str], ask: Any) -> Counter[str]:
    """How many answers there are of each kind; `ask` asks rsigma about further jobs."""
    count: Counter[str] = Counter()
    differing: list[tuple[Asked, Event, bool]] = []
    for each, line in zip(asked, lines, strict=True):
        count["refused by rsigma"] += not line
        for about, answer in zip(each.events, line, strict=False):
            count["answers_checked"] += 1
            count["matches"] += answer == "1"
            if (evaluate(each.rule, about) is True) != (answer == "1"):
                differing.append((each, about, answer == "1"))
    jobs = [
        (sigma_rule(item.alone), [about])
        for each, about, _ in differing
        for item in items_of(each.detection)
    ]
    alone = iter(ask(jobs) if jobs else [])
    for each, about, matched in differing:
        items = [(item, next(alone) == "1") for item in items_of(each.detection)]
        count[_reason(each, about, matched, items)] += 1
    return count


def _reason(each: Asked, about: Event, answer: bool, items: list[tuple[Item, bool]]) -> str:
    """Why an answer differs: one of `REASONS`, or a wrong answer."""
    if together(each.detection, {json.dumps(item): truth for item, truth in items}) != answer:
        return "wrong_answers"
    reasons = []
    for item, truth in items:
        rule = rule_of(item.alone)  # None only if the condition does not use the item
        if rule is not None and (evaluate(rule, about) is True) != truth:
            reasons.append(_reason_of_item(item, about))
    return "wrong_answers" if not reasons or "wrong_answers" in reasons else reasons[0]


def _reason_of_item(item: Item, about: Event) -> str:
    """Why rsigma may answer an item alone otherwise."""
    field, *modifiers = item.key.split("|")
    values = item.value if isinstance(item.value, list) else [item.value]
    found = list(_at(about, field.split("."))) if field else []
    wild = not field or any(isinstance(one, str) and set("*?") & set(one) for one in values)
    if field and not found:
        if "neq" in modifiers:
            return "neq of a missing field"
        return "null of a missing field" if None in values else "wrong_answers"
    texts = [one for one in found if isinstance(one, str)]
    if {"gt", "gte", "lt", "lte"} & set(modifiers):
        return "text as a number" if texts else "wrong_answers"
    if wild:
        return "wildcards"
    if any(isinstance(value, bool) for value in values) and {"0", "1"} & set(texts):
        return "booleans as 0 and 1"
    return "wrong_answers"


def _at(part: Any, names: list[str]) -> Iterator[Any]:
    """The single values at a path."""
    if isinstance(part, list):
        for one in part:
            yield from _at(one, names)
    elif not names:
        yield part
    elif isinstance(part, dict) and names[0] in part:
        yield from _at(part[names[0]], names[1:])
