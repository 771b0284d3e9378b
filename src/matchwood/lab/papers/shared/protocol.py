"""The protocol of all algorithms: built from rules, then matched against events.

An algorithm is a class. It refuses what it does not support with an `Unsupported` that says why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from matchwood.language.tree import Node

Id = Any  # strings or integers, as in a Matcher
Rule = str | Node
Rules = Mapping[Any, Rule] | Iterable[tuple[Any, Rule]]


class Work(NamedTuple):
    """What the last match did."""

    predicates: int = 0  # true predicates that were found, and predicates tested one by one
    nodes: int = 0  # of a tree or diagram, or entries of lists, that were visited
    candidates: int = 0  # rules that were evaluated, or would have been, one by one


class Unsupported(ValueError):
    """A rule, or a change, that an algorithm does not support."""


class OverBudget(MemoryError):
    """A structure that outgrew its budget, as some do in the papers."""


class Algorithm(ABC):
    """A set of rules by id, matched against events in the way of one paper."""

    name: ClassVar[str]
    paper: ClassVar[str]  # authors, year and section
    updates: ClassVar[bool] = True  # whether `add` and `remove` are part of the algorithm
    approximate: ClassVar[bool] = False  # whether `match` may return rules that are not true
    budgeted: ClassVar[bool] = False  # whether it takes `budget=`, the most bytes to build with
    work: Work = Work()

    def __init__(self, rules: Rules = ()) -> None:
        self.build(dict(rules))

    @classmethod
    def supports(cls, rule: Node) -> bool:
        """Whether the algorithm supports a rule; others raise `Unsupported`."""
        return True

    @abstractmethod
    def build(self, rules: dict[Id, Rule]) -> None:
        """Build from the first rules; called once, before anything else."""

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Add one rule; its id is new."""
        raise Unsupported(f"{self.name} is built once: it has no way to add a rule")

    def remove(self, rule_id: Id) -> None:
        """Remove one rule; a KeyError if it is not there."""
        raise Unsupported(f"{self.name} is built once: it has no way to remove a rule")

    @abstractmethod
    def match(self, event: Mapping[str, object]) -> list[Id]:
        """The ids of the rules that are true, in any order, each once; sets `work`."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Bytes of the structure, including predicate lookup, without ids and texts."""

    @property
    def buffers(self) -> int:
        """Bytes of working space of a fixed size, however few the rules; not part of `bytes`."""
        return 0
