"""`at_least(2, …)`: a node that counts which of its rules are true."""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.language.errors import RuleError
from matchwood.language.tree.nodes import Node, check_limits

_set = object.__setattr__


class AtLeast(Node):
    """`at_least(2, a > 1, b = 2, c is null)`: true if that many of its rules are."""

    __slots__ = ("count", "levels", "operands", "size")
    count: int

    def __init__(self, count: int, operands: Sequence[Node]) -> None:
        operands = tuple(operands)
        if not operands:
            raise RuleError("'at_least' takes one rule or more after its number, found none")
        if isinstance(count, bool) or not isinstance(count, int):
            raise RuleError(f"the number of 'at_least' is an integer, found {count!r}"[:100])
        if not 1 <= count <= len(operands):
            found = str(count) if abs(count) < 10**40 else "a longer number"
            raise RuleError(
                f"the number of 'at_least' is from 1 to {len(operands)}, "
                f"as many as it has rules, found {found}"
            )
        size = 1 + sum(operand.size for operand in operands)
        levels = 1 + max(operand.levels for operand in operands)
        check_limits(size, levels)
        _set(self, "operands", operands)
        _set(self, "count", int(count))
        _set(self, "size", size)
        _set(self, "levels", levels)

    @property
    def tested_bare(self) -> bool:
        return True

    def _key(self) -> tuple[object, ...]:
        return (self.count,)

    def over(self, operands: Sequence[Node]) -> Node:
        return AtLeast(self.count, operands)
