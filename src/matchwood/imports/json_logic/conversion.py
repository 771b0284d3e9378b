"""An expression of JSONLogic as a rule, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from matchwood.imports.connectives import FALSE, TRUE, all_of, any_of, not_true
from matchwood.imports.differences import LISTS, NULLS
from matchwood.imports.float_numbers import number_of
from matchwood.imports.imported import Inexpressible
from matchwood.imports.json_logic.comparisons import NEEDS_TYPES, ValueComparison
from matchwood.imports.json_logic.membership import is_in, is_one_of
from matchwood.imports.json_logic.values import (
    AttributeValue,
    FixedValue,
    LogicReading,
    ValueCase,
    boolean_cases,
    falsy,
    is_list,
    is_single,
    is_truthy,
    pairs,
    sum_of,
    truthy,
)
from matchwood.language.builder import Attr, at_least, attr, it
from matchwood.language.tree import Node

COMPARISONS = {"==": ("=", False), "===": ("=", True), "!=": ("=", False), "!==": ("=", True)}
ORDERS = ("<", "<=", ">", ">=")
SUMS = ("+", "-", "*", "/")
# Operators whose value is a list, a string or a number that the rule language does not make.
WITHOUT_RULE = ("map", "filter", "reduce", "merge", "cat", "substr", "min", "max", "%", "log")


def rule_of_logic(logic: Any, typed: bool = False, differs: set[str] | None = None) -> Node:
    """The rule that is true of the events of which an expression is truthy.

    With `typed`, an attribute has the type of what it is compared with, or is missing. The kinds of
    events of which the rule may answer otherwise are added to `differs`.

    >>> print(rule_of_logic({"and": [{"===": [{"var": "a"}, "x"]}, {"!": {"var": "b.c"}}]}, True))
    a = 'x' and (any(b.c, true) and (b.c in (false, 0, '')) is not true) is not true
    """
    return _Conversion(LogicReading(typed, set() if differs is None else differs)).truth(logic, "")


class _Conversion:
    """The conversion of one expression, or of the expression inside `some`, `all` or `none`."""

    def __init__(self, reading: LogicReading, inside: bool = False) -> None:
        self._reading = reading
        self._typed = reading.typed
        self._inside = inside  # whether the data are an element of a list

    def truth(self, logic: Any, place: str) -> Node:
        """Where an expression is truthy."""
        if isinstance(logic, list):
            return TRUE if logic else FALSE
        if not _is_operation(logic):
            return TRUE if is_truthy(logic) else FALSE
        outer = place
        op, values, place = _operation(logic, outer)
        if op in ("and", "or"):
            parts = [self.truth(each, f"{place}[{i}]") for i, each in enumerate(values)]
            if not parts:
                raise Inexpressible("expected one expression or more", place)
            return all_of(parts) if op == "and" else any_of(parts)
        if op in ("!", "!!"):
            # Further arguments are ignored, and a list that stands alone is the arguments.
            inner = self.truth(values[0], place) if values else FALSE
            return not_true(inner) if op == "!" else inner
        if op in ("if", "?:"):
            branches = self._branches(values, place)
            return any_of(all_of([when, self.truth(each, at)]) for when, each, at in branches)
        if op in self._tests:
            return self._tests[op](self, op, values, place)
        return truthy(self.cases(logic, outer), self._reading)

    def cases(self, logic: Any, place: str) -> list[ValueCase]:
        """What an expression may have as its value."""
        if not _is_operation(logic):
            return [ValueCase(TRUE, FixedValue(_literal(logic, place)))]
        outer = place
        op, values, place = _operation(logic, outer)
        if op == "var":
            return self._variable(values, place)
        if op in SUMS:
            return self._sum(op, values, place)
        if op in ("and", "or"):
            return self._first_that_decides(op, values, place)
        if op in ("if", "?:"):
            return [
                ValueCase(all_of([when, case.when]), case.value)
                for when, each, at in self._branches(values, place)
                for case in self.cases(each, at)
            ]
        if op in ("!", "!!") or (op in self._tests and not op.startswith("missing")):
            return boolean_cases(self.truth(logic, outer))
        if op in WITHOUT_RULE or op.startswith("missing"):
            raise Inexpressible("the rule language has no such value", place)
        raise Inexpressible(f"no operator is called {op!r}", place)

    def _branches(self, values: Sequence[Any], place: str) -> list[tuple[Node, Any, str]]:
        """Each value of an `if` with the rule under which it is taken; null if there is no else."""
        branches: list[tuple[Node, Any, str]] = []
        before: list[Node] = []
        for i in range(0, len(values) - 1, 2):
            condition = self.truth(values[i], f"{place}[{i}]")
            branches.append((all_of([*before, condition]), values[i + 1], f"{place}[{i + 1}]"))
            before.append(not_true(condition))
        otherwise = values[-1] if len(values) % 2 else None
        return [*branches, (all_of(before), otherwise, f"{place}[{len(values) - 1}]")]

    def _first_that_decides(self, op: str, values: Sequence[Any], place: str) -> list[ValueCase]:
        """The value of `and`: its first falsy one, or the last; of `or`: its first truthy one."""
        if not values:
            raise Inexpressible("expected one expression or more", place)
        found: list[ValueCase] = []
        going_on: list[Node] = []
        for i, each in enumerate(values):
            cases = self.cases(each, f"{place}[{i}]")
            last = i == len(values) - 1
            for case in cases:
                when = truthy([case], self._reading) if op == "or" else falsy(case, self._reading)
                decided = all_of([*going_on, case.when if last else when])
                if decided != FALSE:
                    found.append(ValueCase(decided, case.value))
            so = truthy(cases, self._reading)
            going_on.append(not_true(so) if op == "or" else so)
        return found

    def _variable(self, values: Sequence[Any], place: str) -> list[ValueCase]:
        subject = self._subject(values[0] if values else "", place)
        default = _literal(values[1], f"{place}[1]") if len(values) > 1 else None
        if default is not None:  # which JavaScript does not take for null
            self._reading.differs.add(NULLS)
        missing = ValueCase(subject.is_null(), FixedValue(default))
        return [ValueCase(TRUE, AttributeValue(subject)), missing]

    def _subject(self, path: Any, place: str) -> Attr:
        """The attribute at a path, or the element itself."""
        if path in ("", None):
            if self._inside:
                return it
            raise Inexpressible("all data together have no name", place)
        if not isinstance(path, str):
            raise Inexpressible(f"expected the name of an attribute, found {path!r}", place)
        for step in path.split("."):
            if step.isdigit() or step in ("", "length"):
                raise Inexpressible(f"{path!r} asks for a part of a list or a string", place)
        if "." in path:  # a list of objects has no part with a name
            self._reading.differs.add(LISTS)
        return attr(path)

    def _sum(self, op: str, values: Sequence[Any], place: str) -> list[ValueCase]:
        if not self._typed:
            raise Inexpressible(NEEDS_TYPES.format("a sum"), place)
        operands = [self._summand(op, each, f"{place}[{i}]") for i, each in enumerate(values)]
        if len(operands) == 1 and op in ("+", "-"):
            operands.insert(0, [ValueCase(TRUE, FixedValue(0))])
        if len(operands) < 2 or (len(operands) > 2 and op in ("-", "/")):
            raise Inexpressible(f"{op} takes two numbers, found {len(operands)}", place)
        if op == "/" and not all(_is_divisor(case) for case in operands[1]):
            raise Inexpressible("a quotient by an attribute may be infinite", place)
        total = operands[0]
        for operand in operands[1:]:
            total = [
                ValueCase(when, sum_of(left, op, right, place))
                for when, left, right in pairs(total, operand, place)
            ]
        return total

    def _summand(self, op: str, logic: Any, place: str) -> list[ValueCase]:
        """The cases of an operand: a null is 0 in a difference, and makes any other sum NaN."""
        cases = []
        for case in self.cases(logic, place):
            if case.value != FixedValue(None):
                cases.append(case)
            elif op in ("-", "/"):
                cases.append(ValueCase(case.when, FixedValue(0)))
        return cases

    def _equality(self, op: str, values: Sequence[Any], place: str) -> Node:
        word, strict = COMPARISONS[op]
        left, right = self._two(values, place)
        equal = ValueComparison(word, strict, self._reading, place).rule(left, right)
        return not_true(equal) if op.startswith("!") else equal

    def _order(self, op: str, values: Sequence[Any], place: str) -> Node:
        comparison = ValueComparison(op, False, self._reading, place)
        if len(values) < 3 or op.startswith(">"):
            return comparison.rule(*self._two(values, place))
        cases = [self.cases(each, f"{place}[{i}]") for i, each in enumerate(values[:3])]
        return all_of([comparison.rule(cases[0], cases[1]), comparison.rule(cases[1], cases[2])])

    def _two(self, values: Sequence[Any], place: str) -> tuple[list[ValueCase], list[ValueCase]]:
        if len(values) < 2:
            raise Inexpressible(f"expected two expressions, found {len(values)}", place)
        return self.cases(values[0], f"{place}[0]"), self.cases(values[1], f"{place}[1]")

    def _membership(self, op: str, values: Sequence[Any], place: str) -> Node:
        if len(values) < 2:
            raise Inexpressible(f"expected two expressions, found {len(values)}", place)
        needle = self.cases(values[0], f"{place}[0]")
        if isinstance(values[1], list):
            listed = [_literal(each, f"{place}[1][{i}]") for i, each in enumerate(values[1])]
            return any_of(
                all_of([case.when, is_one_of(case.value, listed, self._reading)]) for case in needle
            )
        haystack = self.cases(values[1], f"{place}[1]")
        return any_of(
            all_of([when, is_in(a, b, self._reading, place)])
            for when, a, b in pairs(needle, haystack, place)
        )

    def _missing(self, op: str, values: Sequence[Any], place: str) -> Node:
        """Truthy if any of the names is missing."""
        names = values[0] if values and isinstance(values[0], list) else values
        return any_of(self._each_missing(names, place))

    def _missing_some(self, op: str, values: Sequence[Any], place: str) -> Node:
        """Truthy if fewer names are there than needed, and any is missing."""
        if len(values) != 2 or not isinstance(values[1], list):
            raise Inexpressible("expected a number and a list of names", place)
        needed, names = values
        if isinstance(needed, bool) or not isinstance(needed, int):
            raise Inexpressible(f"expected a whole number, found {needed!r}", place)
        each = self._each_missing(names, f"{place}[1]")
        enough = max(1, len(each) - needed + 1)  # so many that too few are there
        if enough > len(each):
            return FALSE
        return any_of(each) if enough == 1 else at_least(enough, *each)

    def _each_missing(self, names: Sequence[Any], place: str) -> list[Node]:
        found = []
        for i, name in enumerate(names):
            subject = self._subject(name, f"{place}[{i}]")
            empty = subject.eq("")
            if self._typed:
                self._reading.differs.add(LISTS)
            else:
                empty = all_of([empty, is_single(subject)])
            found.append(any_of([subject.is_null(), empty]))
        return found

    def _elements(self, op: str, values: Sequence[Any], place: str) -> Node:
        if len(values) != 2 or not _is_operation(values[0]) or "var" not in values[0]:
            raise Inexpressible("expected a var and an expression", place)
        _, path, _ = _operation(values[0], place)
        if len(path) > 1 and path[1] not in (None, []):
            raise Inexpressible("a default that is no empty list", f"{place}[0]")
        subject = self._subject(path[0] if path else "", f"{place}[0]")
        inner = _Conversion(self._reading, inside=True).truth(values[1], f"{place}[1]")
        guard = TRUE if self._typed else is_list(subject)
        if op == "all":
            return all_of([guard, subject.any(True), subject.every(inner)])
        some = all_of([guard, subject.any(inner)])
        return not_true(some) if op == "none" else some

    _tests: ClassVar[dict[str, Callable[[_Conversion, str, Sequence[Any], str], Node]]] = {
        **dict.fromkeys(COMPARISONS, _equality),
        **dict.fromkeys(ORDERS, _order),
        "in": _membership,
        "missing": _missing,
        "missing_some": _missing_some,
        **dict.fromkeys(("some", "all", "none"), _elements),
    }


def _is_operation(logic: Any) -> bool:
    return isinstance(logic, dict) and len(logic) == 1


def _operation(logic: dict[str, Any], place: str) -> tuple[str, list[Any], str]:
    """The operator of an expression, its arguments, and its place."""
    ((op, values),) = logic.items()
    return op, values if isinstance(values, list) else [values], f"{place}.{op}".lstrip(".")


def _is_divisor(case: ValueCase) -> bool:
    match case.value:
        case FixedValue(value=int() | Decimal() as number):
            return number != 0
    return False


def _literal(value: Any, place: str) -> Any:
    if isinstance(value, dict | list):
        raise Inexpressible("a list, an object or an expression is no single value", place)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return number_of(value, place)
    return value
