"""Predicates about operands: what a comparison, a pattern or a test for null says of them."""

from __future__ import annotations

from functools import cache

from matchwood.imports.connectives import FALSE, TRUE, all_of, any_of, tested
from matchwood.imports.sql.java_patterns import PatternError, re2_pattern
from matchwood.imports.sql.spark_values import (
    Operand,
    SparkColumn,
    SparkLiteral,
    SparkOperands,
    Total,
)
from matchwood.language.predicate_truth import PATTERNS
from matchwood.language.strings import fold_character
from matchwood.language.tree import (
    FLIPPED,
    AttributeComparison,
    Between,
    Comparison,
    IsNull,
    Like,
    LikeMany,
    Lowered,
    Node,
    compared,
)
from matchwood.language.tree.arithmetic import Attribute, Side, attributes_of
from matchwood.language.values import Family, family_of, holds


class SparkPredicates:
    """Predicates of one condition."""

    def __init__(self, operands: SparkOperands) -> None:
        self.operands = operands
        self.refuse = operands.refuse

    def unknown(self, sign: int, place: int) -> Node:
        """What is never known, where only truth matters."""
        if sign == 0:
            raise self.refuse(place, "null stands where it matters that nothing is known")
        return TRUE if sign < 0 else FALSE

    def is_null(self, operand: Operand) -> Node:
        if isinstance(operand, SparkColumn):
            name = operand.subject.base if isinstance(operand.subject, Lowered) else operand.subject
            if operand.in_lists:
                raise self.refuse(operand.place, f"{operand.known_as} is a list")
            return IsNull(name)
        if isinstance(operand, Total):
            return any_of(IsNull(name) for name in attributes_of(operand.sum))
        return _constant(operand.value is None)

    # Comparisons

    def compare(self, op: str, left: Operand, right: Operand, sign: int) -> Node:
        if op == "<=>":
            return self.same(left, right)
        for side in (left, right):
            if isinstance(side, SparkLiteral) and side.value is None:
                return self.unknown(sign, side.place)
        if isinstance(left, SparkLiteral):
            if isinstance(right, SparkLiteral):
                return self.constants(op, left, right)
            return self.compare(FLIPPED[op], right, left, sign)
        if isinstance(left, Total) or isinstance(right, Total):
            return self.totals(op, left, right)
        if isinstance(right, SparkLiteral):
            return Comparison(left.subject, op, self.operands.literal_beside(left, right))
        return self.columns(op, left, right)

    def same(self, left: Operand, right: Operand) -> Node:
        """`<=>`, for which null equals null and nothing else."""
        nulls = [isinstance(side, SparkLiteral) and side.value is None for side in (left, right)]
        if any(nulls):
            return self.is_null(right if nulls[0] else left)
        equal = tested(self.compare("=", left, right, 0), "true")
        if isinstance(left, SparkLiteral) or isinstance(right, SparkLiteral):
            return equal
        return any_of((equal, all_of((self.is_null(left), self.is_null(right)))))

    def constants(self, op: str, left: SparkLiteral, right: SparkLiteral) -> Node:
        assert left.value is not None
        assert right.value is not None
        if family_of(left.value) is not family_of(right.value):
            raise self.refuse(left.place, "literals of two types are compared, and Spark casts one")
        return _constant(holds(left.value, op, right.value))

    def columns(self, op: str, left: SparkColumn, right: SparkColumn) -> Node:
        for side in (left, right):
            if isinstance(side.subject, Lowered):
                self.operands.expect(side, Family.STRING)
        known = [side for side in (left, right) if side.type is not None]
        for side in known:
            if side.type is None or side.type.family is None or side.in_lists:
                raise self.refuse(side.place, f"{side.known_as} is compared, which has no order")
        for side, other in ((left, right), (right, left)):
            if side.type is not None and side.type.family is not None:
                self.operands.expect(other, side.type.family)
        families = [self.operands.knowledge.families.get(side.known_as) for side in (left, right)]
        for side, family in zip((right, left), families, strict=True):
            if family is not None:
                self.operands.expect(side, family)
        return AttributeComparison(left.subject, op, right.subject)

    def totals(self, op: str, left: Operand, right: Operand) -> Node:
        sides: list[Side] = []
        for side in (left, right):
            if isinstance(side, Total):
                sides.append(side.sum)
            elif isinstance(side, SparkColumn):
                self.operands.expect(side, Family.NUMBER)
                if side.type is None or side.type.name in ("float", "double"):
                    raise self.refuse(side.place, "a sum is compared with what may be infinite")
                sides.append(Attribute(side.subject))
            elif side.value is not None and family_of(side.value) is Family.NUMBER:
                sides.append(side.value)
            else:
                raise self.refuse(side.place, "a sum is compared with what is no number")
        return compared(sides[0], op, sides[1])

    def between(self, subject: Operand, low: Operand, high: Operand) -> Node | None:
        """A column between two literals, or None if it is something else."""
        if not (
            isinstance(subject, SparkColumn)
            and isinstance(low, SparkLiteral)
            and isinstance(high, SparkLiteral)
        ):
            return None
        if low.value is None or high.value is None:
            return None
        first, last = (self.operands.literal_beside(subject, bound) for bound in (low, high))
        return Between(subject.subject, first, last)

    # Patterns

    def like(
        self,
        operand: Operand,
        kind: str,
        quantifier: str,
        patterns: list[Operand],
        escape: Operand | None,
        sign: int,
    ) -> Node:
        if isinstance(operand, SparkLiteral) and operand.value is None:
            return self.unknown(sign, operand.place)
        texts = [self.pattern(each, kind, escape) for each in patterns]
        if isinstance(operand, SparkLiteral) and isinstance(operand.value, str):
            value = operand.value
            each = [
                self.unknown(sign, operand.place)
                if text is None
                else _constant(PATTERNS[kind](value, text))
                for text in texts
            ]
            return all_of(each) if quantifier == "all" else any_of(each)
        if not isinstance(operand, SparkColumn):
            raise self.refuse(operand.place, "a pattern is asked of what is no string")
        self.operands.expect(operand, Family.STRING)
        known = [text for text in texts if text is not None]
        found: list[Node] = []
        if len(known) > 1:
            found.append(LikeMany(operand.subject, kind, quantifier or "any", known))
        elif known:
            found.append(Like(operand.subject, kind, known[0]))
        if len(known) < len(texts):
            found.append(self.unknown(sign, operand.place))
        return all_of(found) if quantifier == "all" else any_of(found)

    def pattern(self, pattern: Operand, kind: str, escape: Operand | None) -> str | None:
        """The pattern as rules have it; None for null."""
        if isinstance(pattern, SparkLiteral) and pattern.value is None:
            return None
        if not (isinstance(pattern, SparkLiteral) and isinstance(pattern.value, str)):
            raise self.refuse(pattern.place, f"the pattern of {kind} is no literal")
        if kind == "rlike":
            try:
                return re2_pattern(pattern.value)
            except PatternError as error:
                raise self.refuse(pattern.place, str(error)) from None
        if kind == "ilike":
            self.check_case(pattern.value, pattern.place)
        if escape is None:
            return pattern.value
        if (
            not (isinstance(escape, SparkLiteral) and isinstance(escape.value, str))
            or len(escape.value) != 1
        ):
            raise self.refuse(pattern.place, "escape takes one character")
        return self.escaped(pattern, escape.value)

    def escaped(self, pattern: SparkLiteral, escape: str) -> str:
        """A pattern with a backslash in the place of its escape character."""
        out, characters = "", iter(str(pattern.value))
        for character in characters:
            if character != escape:
                out += "\\\\" if character == "\\" else character
                continue
            following = next(characters, "")
            if following not in ("%", "_", escape) or not following:
                raise self.refuse(pattern.place, f"{escape} escapes nothing at its place")
            out += f"\\{following}" if following in "%_\\" else following
        return out

    def check_case(self, pattern: str, place: int) -> None:
        """Spark lowers both sides, which for some letters is not what folding does."""
        for letter in pattern:
            if not letter.isascii() and fold_character(letter) in _unlike_lowered():
                raise self.refuse(place, f"Spark ignores the case of {letter!r} in another way")


def _constant(value: bool) -> Node:
    return TRUE if value else FALSE


@cache
def _unlike_lowered() -> frozenset[str]:
    """Folded letters that stand for some letter which is not their own lower case."""
    odd = {"ς", "σ", "\u0307"}
    for code in range(128, 0x110000):
        letter = chr(code)
        folded = fold_character.__wrapped__(letter)
        if folded != letter and folded != letter.lower():
            odd.add(folded)
    return frozenset(odd)
