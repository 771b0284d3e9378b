"""Rules that are never true, or always, of events whose values are single (lists are not).

A search for one event that decides the question: for each node, what is asked of it becomes what is
asked of its operands, with a choice where one operand is enough, and predicates narrow the cells of
their attributes (see `cells`) until one has none left. Then the last choice is taken back. The
search is exact about what it finds impossible, and gives up after a number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from matchwood.language.tree import And, Constant, IsNull, Node, Not, Or, Xnor, walk
from matchwood.normalise.cells import EVERYTHING, Axis, Cells, Goal

MAX_STEPS = 20_000  # on top of two for each node

# A node, what is asked of it, and for xor and xnor from which operand on
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
    found = _possible(tree, Goal.TRUE)
    return None if found is None else not found


def always_true(tree: Node) -> bool | None:
    """Whether every event with single values makes the rule true; None where the search gave up.

    `age < 18 or age >= 18` is not: an event without an age leaves it undefined.

    >>> from matchwood.language import parse
    >>> always_true(parse("age is null or age is not null"))
    True
    >>> always_true(parse("age < 18 or age >= 18"))
    False
    """
    if not any(isinstance(node, IsNull | Constant) for node in walk(tree)):
        return False  # of an event without attributes all predicates are undefined
    found = _possible(tree, Goal.NOT_TRUE)
    return None if found is None else not found


def _possible(tree: Node, goal: Goal) -> bool | None:
    search = _Search(tree, goal)
    for _ in range(MAX_STEPS + 2 * tree.size):
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
        self.cells = Cells(tree)
        self.left: dict[Axis, int] = {}  # the cells that an axis may still be in
        self.trail: list[tuple[Axis, int]] = []  # what `left` was before, to take steps back
        self.now: Tasks = ((tree, goal, 0), None)
        self.later: Choices = None
        self.tried: list[tuple[Iterator[tuple[Task, ...]], Choices, int]] = []

    def step(self) -> bool:
        """Take one task on; False where it cannot be met."""
        assert self.now is not None
        (node, goal, place), self.now = self.now
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
        elif goal in (Goal.TRUE, Goal.FALSE):
            self._parity(node, goal, place)
        # that an xor is not true asks nothing that is sure of its operands
        return True

    def _parity(self, node: Node, goal: Goal, place: int) -> None:
        operand = node.operands[place]
        if place == len(node.operands) - 1:
            # left to right, each further operand of an xnor negates once more
            flips = place * isinstance(node, Xnor)
            self.now = ((operand, Goal(goal ^ flips % 2), 0), self.now)
            return
        ways: list[tuple[Task, ...]] = [
            ((operand, Goal.FALSE, 0), (node, goal, place + 1)),
            ((operand, Goal.TRUE, 0), (node, Goal(goal ^ 1), place + 1)),
        ]
        self.later = (ways, self.later)

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
        """Begin with the ways to meet the next choice."""
        assert self.later is not None
        ways, self.later = self.later
        self.tried.append((iter(ways), self.later, len(self.trail)))
        return self.back()

    def back(self) -> bool:
        """Take the next way of the last choice that has one; False where none is left."""
        while self.tried:
            ways, later, length = self.tried[-1]
            while len(self.trail) > length:
                axis, before = self.trail.pop()
                self.left[axis] = before
            way = next(ways, None)
            if way is not None:
                self.later = later
                self.now = None
                for task in way:
                    self.now = (task, self.now)
                return True
            self.tried.pop()
        return False
