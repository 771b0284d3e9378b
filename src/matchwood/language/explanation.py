"""Why a rule is true, false or undefined of an event: its tree, with a truth at each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from typing import NamedTuple

from matchwood.language.bindings import Ask, Truth
from matchwood.language.evaluation import (
    Hierarchies,
    Operator,
    asking,
    bindings,
    refuse_orders,
    truth_of,
)
from matchwood.language.events import Event
from matchwood.language.printing import outline, to_text
from matchwood.language.tree import Node, Not, fold
from matchwood.language.variables import Join, joined

WORDS: dict[Truth, str] = {True: "true", False: "false", None: "undefined"}
_SHOWN = 60


class Line(NamedTuple):
    """One node of an explanation."""

    truth: Truth
    branch: str  # the lines that lead to the node
    text: str
    seen: dict[str, object]  # the values of the attributes and variables that a predicate names


class Explanation:
    """A rule and an event, node by node; `print` it, or read `truth` and `lines`."""

    def __init__(self, truth: Truth, lines: list[Line]) -> None:
        self.truth = truth
        self.lines = lines

    def __str__(self) -> str:
        width = max(len(line.branch) + len(line.text) for line in self.lines)
        rows = []
        for line in self.lines:
            drawn = (line.branch + line.text).ljust(min(width, _SHOWN))
            seen = ", ".join(f"{name}: {_shown(value)}" for name, value in line.seen.items())
            rows.append(f"{WORDS[line.truth]:9}  {drawn}  {seen}".rstrip())
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self) -> dict[str, object]:
        """For machines: the truth, and every node with its depth in the tree."""
        nodes = [
            {
                "truth": WORDS[line.truth],
                "depth": len(line.branch) // 3,
                "node": line.text,
                "seen": {name: _shown(value) for name, value in line.seen.items()},
            }
            for line in self.lines
        ]
        return {"truth": WORDS[self.truth], "nodes": nodes}


def _shown(value: object) -> str:
    if value is _MISSING:
        return "missing"
    try:
        text = "null" if value is None else repr(_start(value))
    except (ValueError, RecursionError):  # Python spells no integer of over 4,300 digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _start(value: object) -> object:
    """As much of a value as is shown: a rule may name a long list in each of its predicates."""
    if type(value) is str:
        return value[:_SHOWN]
    if type(value) is list:
        return [_start(item) for item in value[:_SHOWN]]
    if type(value) is tuple:
        return tuple(_start(item) for item in value[:_SHOWN])
    if type(value) is dict:
        return {name: _start(value[name]) for name in islice(value, _SHOWN)}
    return value


class _Missing:
    pass


_MISSING = _Missing()


def explain(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    schema: Hierarchies | None = None,
) -> Explanation:
    """The tree with true, false or undefined at each node, and the values seen.

    >>> from matchwood.language import parse
    >>> print(explain(parse("age >= 18 and not blocked"), {"age": 20}))
    undefined  and
    true       ├─ age >= 18   age: 20
    undefined  └─ not
    undefined     └─ blocked  blocked: missing

    What shares variables is one line, with a substitution that satisfies it.

    >>> mob = {"mob": lambda image: [64]}
    >>> print(explain(parse("mob(image, ?n) and ?n > 50"), {"image": "a.png"}, operators=mob))
    true       mob(image, ?n) and ?n > 50  image: 'a.png', ?n: 64
    """
    refuse_orders(tree, schema)
    tree = joined(tree)
    seen = event if isinstance(event, Event) else Event(event)
    ask = asking(seen, operators or {})
    of_node = truth_of(seen, ask, schema)
    truths: dict[int, Truth] = {}

    def noted(node: Node, operands: Sequence[Truth]) -> Truth:
        truths[id(node)] = truth = of_node(node, operands)
        return truth

    fold(tree, noted)
    lines = []
    for branch, node in outline(tree):
        values = {name: seen.raw.get(name, _MISSING) for name in getattr(node, "attributes", ())}
        if isinstance(node, Join):
            values |= _bound(node, seen, ask)
        lines.append(Line(truths[id(node)], branch, _label(node), values))
    return Explanation(lines[0].truth, lines)


def _bound(join: Join, seen: Event, ask: Ask) -> dict[str, object]:
    """A substitution that satisfies a join, if any does."""
    found = bindings(join, seen, ask=ask)
    return {f"?{name}": value for name, value in found[0].items()} if found else {}


def _label(node: Node) -> str:
    if not node.operands:
        return to_text(node)
    return "not" if isinstance(node, Not) else type(node).word  # type: ignore[attr-defined]
