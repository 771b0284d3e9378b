"""JSONLogic, written plainly after its library for JavaScript: the obvious second opinion.

It shares nothing with the importer. JavaScript's conversions are those of the language's
specification, for null, booleans, numbers, strings, lists and objects as JSON has them.
"""

import math
import re
from typing import Any


def truthy(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def apply(logic: Any, data: Any) -> Any:
    if isinstance(logic, list):
        return [apply(each, data) for each in logic]
    if not isinstance(logic, dict) or len(logic) != 1:
        return logic
    ((op, values),) = logic.items()
    values = values if isinstance(values, list) else [values]
    if op in ("if", "?:"):
        for i in range(0, len(values) - 1, 2):
            if truthy(apply(values[i], data)):
                return apply(values[i + 1], data)
        return apply(values[-1], data) if len(values) % 2 else None
    if op in ("and", "or"):
        current = None
        for each in values:
            current = apply(each, data)
            if truthy(current) is (op == "or"):
                break
        return current
    if op in ("some", "all", "none"):
        listed = apply(values[0], data)
        if not isinstance(listed, list) or not listed:
            return op == "none"
        found = [truthy(apply(values[1], each)) for each in listed]
        return {"some": any(found), "all": all(found), "none": not any(found)}[op]
    return _operated(op, [apply(each, data) for each in values], data)


def _operated(op: str, values: list[Any], data: Any) -> Any:
    first, second, third = (*values, None, None, None)[:3]
    match op:
        case "var":
            return _variable(first, second, data)
        case "missing":
            names = first if isinstance(first, list) else values
            return [name for name in names if _variable(name, None, data) in (None, "")]
        case "missing_some":
            gone = _operated("missing", [second], data)
            return [] if len(second) - len(gone) >= first else gone
        case "!" | "!!":
            return truthy(first) is (op == "!!")
        case "==" | "!=":
            return _loosely(first, second) is (op == "==")
        case "===" | "!==":
            return _strictly(first, second) is (op == "===")
        case "<" | "<=":
            chained = len(values) < 3 or _ordered(op, second, third)
            return _ordered(op, first, second) and chained
        case ">" | ">=":
            return _ordered(op, first, second)
        case "in":
            return _in(first, second)
        case "+" | "*":
            total = 0.0 if op == "+" else 1.0
            for each in values:
                number = _parsed(each)
                total = total + number if op == "+" else total * number
            return total
        case "-":
            return -_number(first) if len(values) == 1 else _number(first) - _number(second)
        case "/":
            return _number(first) / _number(second)
    raise AssertionError(op)


def _variable(path: Any, default: Any, data: Any) -> Any:
    if path in (None, ""):
        return data
    for step in path.split("."):
        if not isinstance(data, dict) or step not in data:
            return default
        data = data[step]
    return data


def _in(needle: Any, haystack: Any) -> bool:
    if isinstance(haystack, list):
        return any(_strictly(needle, each) for each in haystack)
    return isinstance(haystack, str) and haystack != "" and _text(needle) in haystack


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str({None: "null", True: "true", False: "false"}[value])
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    if isinstance(value, list):
        return ",".join("" if each is None else _text(each) for each in value)
    return "[object Object]" if isinstance(value, dict) else str(value)


def _number(value: Any) -> float:
    if value is None or isinstance(value, bool | int | float):
        return float(value or 0)
    text = _text(value).strip()
    if text == "":
        return 0.0
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+", text):
        return float(int(text, 0))
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?Infinity", text, re.IGNORECASE):
        return float(text)
    return math.nan


def _parsed(value: Any) -> float:
    """parseFloat: the number at the start of a string; null and booleans are none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = re.match(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))", _text(value))
    return float(found[1]) if found else math.nan


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _strictly(left: Any, right: Any) -> bool:
    if _is_number(left) and _is_number(right):
        return float(left) == float(right)
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return left is right
    return type(left) is type(right) and bool(left == right)


def _loosely(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        return left is right
    left = _text(left) if isinstance(left, list | dict) else left
    right = _text(right) if isinstance(right, list | dict) else right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return _number(left) == _number(right)


def _ordered(op: str, left: Any, right: Any) -> bool:
    a: Any = left
    b: Any = right
    if isinstance(left, list | dict):
        a = left = _text(left)
    if isinstance(right, list | dict):
        b = right = _text(right)
    if isinstance(left, str) and isinstance(right, str):
        a, b = left.encode("utf-16-be"), right.encode("utf-16-be")
    else:
        a, b = _number(left), _number(right)
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op])
