"""Sigma, plainly: whether a detection is true of an event, from pySigma's parsed conditions.

Written from what Sigma says, not from what matchwood makes of it: two truth values, all values
compared as text, regardless of case where nothing else is said.
"""

import ipaddress
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.rule import SigmaRule
from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SpecialChars,
)

COMPARISONS = {
    CompareOperators.LT: lambda a, b: a < b,
    CompareOperators.LTE: lambda a, b: a <= b,
    CompareOperators.GT: lambda a, b: a > b,
    CompareOperators.GTE: lambda a, b: a >= b,
}


def matches(rule: SigmaRule, events: list[dict[str, Any]]) -> list[bool]:
    """Whether any of the rule's conditions is true of each event."""
    conditions = [condition.parsed for condition in rule.detection.parsed_condition]
    return [any(holds(condition, event) for condition in conditions) for event in events]


def holds(condition: Any, event: dict[str, Any]) -> bool:
    match condition:
        case ConditionOR():
            return any(holds(part, event) for part in condition.args)
        case ConditionAND():
            return all(holds(part, event) for part in condition.args)
        case ConditionNOT():
            return not holds(condition.args[0], event)
        case ConditionFieldEqualsValueExpression():
            return field_has(condition.field, condition.value, event)
        case ConditionValueExpression():
            return any(has_keyword(value, condition.value) for value in values_in(event))
    raise AssertionError(condition)


def values_in(part: Any) -> Iterator[Any]:
    """All single values, at any depth, but null."""
    if isinstance(part, dict):
        for inner in part.values():
            yield from values_in(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from values_in(inner)
    elif part is not None:
        yield part


def at_path(part: Any, names: list[str]) -> Iterator[Any]:
    """What is found at a dotted path; through lists, in each of their elements."""
    if isinstance(part, list) and names:
        for inner in part:
            yield from at_path(inner, names)
    elif not names:
        yield part
    elif isinstance(part, dict) and names[0] in part:
        yield from at_path(part[names[0]], names[1:])


def field_has(field: str, value: Any, event: dict[str, Any]) -> bool:
    found = list(at_path(event, field.split(".")))
    match value:
        case SigmaExpansion():
            return any(field_has(field, each, event) for each in value.values)
        case SigmaNull():
            return all(one is None for one in found)
        case SigmaExists():
            return value.exists == any(one is not None for one in found)
        case SigmaFieldReference():
            other = list(at_path(event, value.field.split(".")))
            return len(found) == len(other) == 1 and same(found[0], other[0])
    return any(is_value(one, value) for each in found for one in values_in(each))


def same(left: Any, right: Any) -> bool:
    """Whether two single values of one kind are equal."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return isinstance(left, int | float) and isinstance(right, int | float) and left == right


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    plain = f"{Decimal(str(value)):f}"
    return re.sub(r"\.?0+$", "", plain) if "." in plain else plain


def expression_of(string: SigmaString) -> str:
    wildcards = {SpecialChars.WILDCARD_MULTI: ".*", SpecialChars.WILDCARD_SINGLE: "."}
    return "".join(re.escape(p) if isinstance(p, str) else wildcards[p] for p in string.s)


def case_of(string: SigmaString) -> re.RegexFlag:
    return re.NOFLAG if isinstance(string, SigmaCasedString) else re.IGNORECASE


def is_value(one: Any, value: Any) -> bool:
    """Whether a single value of the event is the value of a detection."""
    match value:
        case SigmaString():
            flags = re.DOTALL | case_of(value)
            return re.fullmatch(expression_of(value), text_of(one), flags) is not None
        case SigmaNumber():
            return text_of(one) == text_of(value.number)
        case SigmaBool():
            return text_of(one).lower() == text_of(value.boolean)
        case SigmaRegularExpression():
            flags = re.NOFLAG
            for flag in value.flags:
                flags |= value.sigma_to_python_flags[flag]
            return re.search(str(value.regexp), text_of(one), flags) is not None
        case SigmaCIDRExpression():
            try:
                return ipaddress.ip_address(text_of(one)) in value.network
            except ValueError:
                return False
        case SigmaCompareExpression():
            is_number = isinstance(one, int | float) and not isinstance(one, bool)
            return is_number and COMPARISONS[value.op](one, value.number.number)
    raise AssertionError(value)


def has_keyword(one: Any, value: Any) -> bool:
    """Whether a single value of the event has a keyword in it."""
    match value:
        case SigmaExpansion():
            return any(has_keyword(one, each) for each in value.values)
        case SigmaString():
            flags = re.DOTALL | case_of(value)
            return re.search(expression_of(value), text_of(one), flags) is not None
        case SigmaNumber():
            return text_of(value.number) in text_of(one)
    return is_value(one, value)
