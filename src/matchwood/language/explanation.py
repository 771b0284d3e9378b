"""Why a rule is true, false or undefined for an event: its tree, with a truth at each node."""

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
from matchwood.language.joins import joined
from matchwood.language.named_lists import NamedLists
from matchwood.language.text.printing import outline, to_text
from matchwood.language.tree import AtLeast, Node, Not, TruthTest, fold
from matchwood.language.tree.variables import Join

# What each truth is called.
TRUTH_WORDS: dict[Truth, str] = {True: "true", False: "false", None: "undefined"}

# The most characters of a value or a line, and the most items of a list, that are shown.
_SHOWN_LENGTH = 60


class ExplanationLine(NamedTuple):
    """One node of an explanation."""

    truth: Truth
    branch: str  # the lines that lead to the node
    text: str
    seen: dict[str, object]  # the values of the attributes and variables that a predicate names


class Explanation:
    """The truth of a rule for an event, node by node: print it, or read `truth` and `lines`."""

    def __init__(self, truth: Truth, lines: list[ExplanationLine]) -> None:
        self.truth = truth
        self.lines = lines

    def __str__(self) -> str:
        width = max(len(line.branch) + len(line.text) for line in self.lines)
        rows = []
        for line in self.lines:
            drawn = (line.branch + line.text).ljust(min(width, _SHOWN_LENGTH))
            seen = ", ".join(f"{name}: {_shown(value)}" for name, value in line.seen.items())
            rows.append(f"{TRUTH_WORDS[line.truth]:9}  {drawn}  {seen}".rstrip())
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self) -> dict[str, object]:
        """The truth, and every node with its depth in the tree, for programs."""
        nodes = [
            {
                "truth": TRUTH_WORDS[line.truth],
                "depth": len(line.branch) // 3,
                "node": line.text,
                "seen": {name: _shown(value) for name, value in line.seen.items()},
            }
            for line in self.lines
        ]
        return {"truth": TRUTH_WORDS[self.truth], "nodes": nodes}


def _shown(value: object) -> str:
    if value is _NO_VALUE:
        return "missing"
    try:
        text = "null" if value is None else repr(_start(value))
    except (ValueError, RecursionError):  # Python prints no integer of over 4,300 digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


def _start(value: object) -> object:
    """The part of a value that is shown: each predicate of a rule may name a long list."""
    if type(value) is str:
        return value[:_SHOWN_LENGTH]
    if type(value) is list:
        return [_start(item) for item in value[:_SHOWN_LENGTH]]
    if type(value) is tuple:
        return tuple(_start(item) for item in value[:_SHOWN_LENGTH])
    if type(value) is dict:
        return {name: _start(value[name]) for name in islice(value, _SHOWN_LENGTH)}
    return value


class _Missing:
    pass


_NO_VALUE = _Missing()


def explain(
    tree: Node,
    event: Mapping[str, object] | Event,
    *,
    operators: Mapping[str, Operator] | None = None,
    schema: Hierarchies | None = None,
    lists: NamedLists | None = None,
) -> Explanation:
    """The tree with true, false or undefined at each node, and the values seen.

    >>> from matchwood.language import parse
    >>> print(explain(parse("age >= 18 and not blocked"), {"age": 20}))
    undefined  and
    true       ├─ age >= 18   age: 20
    undefined  └─ not
    undefined     └─ blocked  blocked: missing

    Calls and comparisons that share variables are one line, with a substitution that satisfies
    them.

    >>> mob = {"mob": lambda image: [64]}
    >>> print(explain(parse("mob(image, ?n) and ?n > 50"), {"image": "a.png"}, operators=mob))
    true       mob(image, ?n) and ?n > 50  image: 'a.png', ?n: 64
    """
    refuse_orders(tree, schema)
    tree = joined(tree)
    seen = event if isinstance(event, Event) else Event(event)
    ask = asking(seen, operators or {})
    of_node = truth_of(seen, ask, schema, lists)
    truths: dict[int, Truth] = {}

    def noted(node: Node, operands: Sequence[Truth]) -> Truth:
        truths[id(node)] = truth = of_node(node, operands)
        return truth

    fold(tree, noted)
    lines = []
    for branch, node in outline(tree):
        values = {name: _value_of(seen, name) for name in node.attributes}
        if isinstance(node, Join):
            values |= _bound(node, seen, ask)
        lines.append(ExplanationLine(truths[id(node)], branch, _label(node), values))
    return Explanation(lines[0].truth, lines)


def _value_of(seen: Event, name: str) -> object:
    """The value of an attribute as it was given, under its own name or an alias."""
    value = seen.given(name)
    return seen.raw.get(name, _NO_VALUE) if value is None else value


def _bound(join: Join, seen: Event, ask: Ask) -> dict[str, object]:
    """A substitution that satisfies a join, if any does."""
    satisfying = bindings(join, seen, ask=ask)
    return {f"?{name}": value for name, value in satisfying[0].items()} if satisfying else {}


def _label(node: Node) -> str:
    if not node.operands:
        return to_text(node)
    match node:
        case Not():
            return "not"
        case TruthTest():
            return f"is {node.asks}"
        case AtLeast():
            return f"at_least {node.count} of {len(node.operands)}"
    return str(type(node).word)  # type: ignore[attr-defined]
