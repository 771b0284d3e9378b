"""Rules that are never true, or always true, of events whose values are single, not lists.

This is a search for one event that decides the question. The goal of a node becomes goals of its
operands, with a choice where one operand is enough. Predicates narrow the cells that the values of
their attributes may lie in (see `value_cells`); when an attribute has no cell left, the search
backtracks to the last choice. What it finds impossible is impossible; it gives up after a number
of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from matchwood.language.tree import (
    And,
    Constant,
    IsNull,
    Node,
    Not,
    Or,
    TruthTest,
    Xnor,
    Xor,
    walk,
)
from matchwood.rewrite.value_cells import EVERYTHING, Axis, Goal, ValueCells

# Steps of a search before it gives up, in addition to two per node.
MAX_SEARCH_STEPS = 20_000

# A node, its goal, and for xor and xnor the first operand that the goal is about.
Task: TypeAlias = tuple[Node, Goal, int]
Tasks: TypeAlias = "tuple[Task, Tasks] | None"
Choices: TypeAlias = "tuple[list[tuple[Task, ...]], Choices] | None"


def never_true(tree: Node) -> bool | None:
    """Whether no event with single values makes the rule true; None where the search gave up.

    >>> from matchwood.language import parse
    >>> never_true(parse("age < 18 and (age > 65 or age is null)"))
    True
    >>> never_true(parse("age < 18 or age > 65"))
    False
    """
    possible = _possible(tree, Goal.TRUE)
    return None if possible is None else not possible


def always_true(tree: Node) -> bool | None:
    """Whether every event with single values makes the rule true; None where the search gave up.

    `age < 18 or age >= 18` is not: an event without an age leaves it undefined.

    >>> from matchwood.language import parse
    >>> always_true(parse("age is null or age is not null"))
    True
    >>> always_true(parse("age < 18 or age >= 18"))
    False
    """
    if not any(isinstance(node, IsNull | Constant | TruthTest) for node in walk(tree)):
        return False  # every predicate is undefined for an event without attributes
    possible = _possible(tree, Goal.NOT_TRUE)
    return None if possible is None else not possible


def _possible(tree: Node, goal: Goal) -> bool | None:
    search = _Search(tree, goal)
    for _ in range(MAX_SEARCH_STEPS + 2 * tree.size):
        if search.now is not None:
            fits = search.step()
        elif search.later is not None:
            fits = search.choose()
        else:
            return True
        if not fits and not search.back():
            return False
    return None


class _Search:
    def __init__(self, tree: Node, goal: Goal) -> None:
        self.cells = ValueCells(tree)
        self.left: dict[Axis, int] = {}  # the cells that an axis may still be in
        self.trail: list[tuple[Axis, int]] = []  # what `left` was before, to take steps back
        self.now: Tasks = ((tree, goal, 0), None)
        self.later: Choices = None
        self.tried: list[tuple[Iterator[tuple[Task, ...]], Choices, int]] = []

    def step(self) -> bool:
        """Work on the next goal; False if it cannot be met."""
        assert self.now is not None
        (node, goal, operand_index), self.now = self.now
        if not node.operands:
            return self._predicate(node, goal)
        if isinstance(node, Not):
            self.now = ((node.operands[0], Goal(goal ^ 1), 0), self.now)
        elif isinstance(node, And | Or):
            everyone = (Goal.TRUE, Goal.NOT_FALSE)
            if (goal in everyone) is isinstance(node, And):
                for operand in node.operands:
                    self.now = ((operand, goal, 0), self.now)
            else:
                self.later = ([((operand, goal, 0),) for operand in node.operands], self.later)
        elif isinstance(node, TruthTest):
            self._test(node, goal)
        elif isinstance(node, Xor | Xnor) and goal in (Goal.TRUE, Goal.FALSE):
            self._parity(node, goal, operand_index)
        # That an xor is not true, or that enough of several rules are, says nothing certain about
        # its operands.
        return True

    def _test(self, node: TruthTest, goal: Goal) -> None:
        """A test of truth is never undefined, so it is either true or false."""
        operand = node.operands[0]
        wanted = (goal in (Goal.TRUE, Goal.NOT_FALSE)) is not node.negated
        if node.truth != "unknown":
            met, failed = (
                (Goal.TRUE, Goal.NOT_TRUE) if node.truth == "true" else (Goal.FALSE, Goal.NOT_FALSE)
            )
            self.now = ((operand, met if wanted else failed, 0), self.now)
        elif wanted:
            self.now = ((operand, Goal.NOT_TRUE, 0), ((operand, Goal.NOT_FALSE, 0), self.now))
        else:
            either: list[tuple[Task, ...]] = [
                ((operand, Goal.TRUE, 0),),
                ((operand, Goal.FALSE, 0),),
            ]
            self.later = (either, self.later)

    def _parity(self, node: Node, goal: Goal, operand_index: int) -> None:
        operand = node.operands[operand_index]
        if operand_index == len(node.operands) - 1:
            # Read from left to right, each further operand of an xnor negates once more.
            flips = operand_index * isinstance(node, Xnor)
            self.now = ((operand, Goal(goal ^ flips % 2), 0), self.now)
            return
        alternatives: list[tuple[Task, ...]] = [
            ((operand, Goal.FALSE, 0), (node, goal, operand_index + 1)),
            ((operand, Goal.TRUE, 0), (node, Goal(goal ^ 1), operand_index + 1)),
        ]
        self.later = (alternatives, self.later)

    def _predicate(self, node: Node, goal: Goal) -> bool:
        if isinstance(node, Constant):
            return node.value is (goal in (Goal.TRUE, Goal.NOT_FALSE))
        for axis, cells in self.cells.constraints(node, goal) or ():
            before = self.left.get(axis, EVERYTHING)
            narrowed = before & cells
            if narrowed == 0:
                return False
            if narrowed != before:
                self.trail.append((axis, before))
                self.left[axis] = narrowed
        return True

    def choose(self) -> bool:
        """Begin with the alternatives of the next choice."""
        assert self.later is not None
        alternatives, self.later = self.later
        self.tried.append((iter(alternatives), self.later, len(self.trail)))
        return self.back()

    def back(self) -> bool:
        """Go back to the last choice with an alternative left; False if there is none."""
        while self.tried:
            alternatives, later, length = self.tried[-1]
            while len(self.trail) > length:
                axis, before = self.trail.pop()
                self.left[axis] = before
            goals = next(alternatives, None)
            if goals is not None:
                self.later = later
                self.now = None
                for task in goals:
                    self.now = (task, self.now)
                return True
            self.tried.pop()
        return False
