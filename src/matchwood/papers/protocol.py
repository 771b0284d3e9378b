"""What every algorithm here has in common: built from rules, asked with events.

An algorithm is a class. What it does not support it refuses, by an `Unsupported` that says why.
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
    """A rule, or a change, that an algorithm has no way for."""


class OverBudget(MemoryError):
    """A structure that outgrew its budget, as some do in the papers."""


class Algorithm(ABC):
    """Rules by id, and which of them are true of an event, in the way of one paper."""

    name: ClassVar[str]
    paper: ClassVar[str]  # authors, year and section
    updates: ClassVar[bool] = True  # whether `add` and `remove` are part of the algorithm
    approximate: ClassVar[bool] = False  # whether `match` may name rules that are not true
    work: Work = Work()

    def __init__(self, rules: Rules = ()) -> None:
        self.build(dict(rules))

    @classmethod
    def supports(cls, rule: Node) -> bool:
        """Whether a rule is within its scope; of others it raises `Unsupported`."""
        return True

    @abstractmethod
    def build(self, rules: dict[Id, Rule]) -> None:
        """Take the rules that are known from the start; called once, first."""

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Add one rule; its id is new."""
        raise Unsupported(f"{self.name} is built once: it has no way to add a rule")

    def remove(self, rule_id: Id) -> None:
        """Remove one rule; a KeyError where it is not there."""
        raise Unsupported(f"{self.name} is built once: it has no way to remove a rule")

    @abstractmethod
    def match(self, event: Mapping[str, object]) -> list[Id]:
        """The ids of the rules that are true, in any order, each once; sets `work`."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """Bytes of the structure, predicate lookup included; ids and texts aside."""
