"""The JSON form of a rule: the same tree for programs.

An error's place is found from its path: the text is walked once more, value by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from matchwood.language.arithmetic import BINDING, MAX_TERMS, Attribute, Side, Sum, Variable
from matchwood.language.errors import RuleError
from matchwood.language.json_place import Path, locate
from matchwood.language.text import check_size
from matchwood.language.tokens import NUMBER
from matchwood.language.tree import (
    COMPARISONS,
    MAX_LEVELS,
    MAX_NODES,
    And,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Node,
    Not,
    Or,
    VariableComparison,
    Xnor,
    Xor,
    fold,
)
from matchwood.language.values import (
    MAX_DIGITS,
    Literal,
    Time,
    literal,
    negative,
    read_number,
    read_time,
    spell_number,
)

_OPERATORS: dict[str, type[And | Or | Xor | Xnor]] = {
    "and": And,
    "or": Or,
    "xor": Xor,
    "xnor": Xnor,
}
# Between two levels of parentheses an or, an xnor, an xor and an and, each a word and a place.
_MAX_DEPTH = 8 * (MAX_LEVELS + 1)
_MAX_SHOWN = 1 << 16  # of a rule that was given as dicts and lists: it is written out only to show


# To JSON


def to_json(tree: Node) -> Any:
    """The JSON form: dicts, lists, strings, numbers and booleans that `json.dumps` writes.

    >>> from matchwood.language import parse
    >>> to_json(parse("age >= 18 or vip"))
    {'or': [{'attr': 'age', 'op': '>=', 'value': 18}, {'attr': 'vip', 'op': '=', 'value': True}]}
    """
    return fold(tree, _node_to_json)


def _node_to_json(node: Node, operands: Sequence[Any]) -> Any:
    no = "not " if getattr(node, "negated", False) else ""
    match node:
        case Constant():
            return node.value
        case Not():
            return {"not": operands[0]}
        case And() | Or() | Xor() | Xnor():
            return {node.word: list(operands)}
        case Comparison():
            return {"attr": node.attribute, "op": node.op, "value": _literal_to_json(node.value)}
        case Between():
            low, high = _literal_to_json(node.low), _literal_to_json(node.high)
            return {"attr": node.attribute, "op": f"{no}between", "low": low, "high": high}
        case In():
            values = [_literal_to_json(value) for value in node.values]
            return {"attr": node.attribute, "op": f"{no}in", "values": values}
        case Like():
            return {"attr": node.attribute, "op": f"{no}{node.kind}", "value": node.pattern}
        case IsNull():
            return {"attr": node.attribute, "op": f"is {no}null"}
        case AttributeComparison():
            return {"attr": node.left, "op": node.op, "other": node.right}
        case Call():
            return {"call": node.name, "args": [_side_to_json(side) for side in node.arguments]}
        case VariableComparison():
            left, right = _side_to_json(node.left), _side_to_json(node.right)
            return {"left": left, "op": node.op, "right": right}
    raise AssertionError(type(node))


def _literal_to_json(value: Literal) -> Any:
    if isinstance(value, Time):
        text = str(value)
        return {"date": text} if len(text) == 10 else {"timestamp": text}
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return {"number": spell_number(value)}
    if isinstance(value, Decimal):
        near = float(value)
        return near if Decimal(repr(near)) == value else {"number": spell_number(value)}
    return value


def _side_to_json(side: Side) -> Any:
    if isinstance(side, Attribute):
        return {"attr": side.name}
    if isinstance(side, Variable):
        return {"var": side.name}
    if isinstance(side, Sum):
        return _sum_to_json(side)
    return _literal_to_json(side)


def _sum_to_json(sum_: Sum) -> Any:
    stack: list[Any] = []
    for term in sum_.postfix:
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            stack.append({term: [left, right]})
        else:
            stack.append(_side_to_json(term))
    return stack[0]


# From JSON


class _Refused(Exception):
    """What is wrong, and at which path."""

    def __init__(self, reason: str, path: Path) -> None:
        self.reason = reason
        self.path = path


def from_json(rule: object) -> Node:
    """The tree of a JSON form: of its text, or of the dicts and lists that it reads as."""
    text = rule if isinstance(rule, str) else None
    value = _loads(text) if text is not None else rule
    try:
        return _build(value)
    except _Refused as refused:
        path = "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in refused.path)
        path = path.encode(errors="backslashreplace").decode()
        shown = text if text is not None else _dumps(value)
        place = locate(shown, refused.path)
        raise RuleError(refused.reason, text=shown, position=place, path=path) from None


def _loads(text: str) -> Any:
    check_size(text)
    try:
        return json.loads(text, parse_float=_json_number, parse_int=_json_number)
    except json.JSONDecodeError as error:
        raise RuleError(
            f"the JSON cannot be read: {error.msg}", text=text, position=error.pos
        ) from None
    except RecursionError:
        raise RuleError("the JSON nests too deeply to be read", text=text, position=0) from None
    except RuleError as error:
        raise error.at(text, 0) from None


def _json_number(text: str) -> int | Decimal:
    return negative(read_number(text[1:])) if text.startswith("-") else read_number(text)


def _dumps(value: object) -> str:
    """The text to show an error in, '' where there is none: the value may be anything."""
    pieces: list[str] = []
    size = 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_SHOWN:
                return ""
    except (RecursionError, TypeError, ValueError):
        return ""
    return "".join(pieces)


def _build(value: object) -> Node:
    """Operators with a stack of our own, so that deep input cannot break it."""
    results: list[Node] = []
    # An item, the path of what holds it, its place there, how many operands are ready (-1: new).
    todo: list[tuple[object, Path, Path, int]] = [(value, (), (), -1)]
    nodes = 0
    while todo:
        item, above, place, ready = todo.pop()
        path = (*above, *place)
        if ready >= 0:
            operands = results[len(results) - ready :]
            del results[len(results) - ready :]
            word = next(iter(item))  # type: ignore[call-overload]
            results.append(_checked(partial(_operator, word, operands), path))
            continue
        nodes += 1
        if nodes > MAX_NODES:
            raise _Refused(f"a rule has at most {MAX_NODES:,} nodes", ())
        inner = _operands(item, path)
        if inner is None:
            results.append(_leaf(item, path))
            continue
        if len(path) > _MAX_DEPTH:
            raise _Refused(
                f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's", path
            )
        todo.append((item, path, (), len(inner)))
        word = next(iter(item))  # type: ignore[call-overload]
        for index in range(len(inner) - 1, -1, -1):
            todo.append((inner[index], path, ("not",) if word == "not" else (word, index), -1))
    return results[0]


def _operator(word: str, operands: Sequence[Node]) -> Node:
    return Not(operands[0]) if word == "not" else _OPERATORS[word](operands)


def _operands(item: object, path: Path) -> list[object] | None:
    """The operands of an operator node, None for a leaf."""
    if not isinstance(item, dict) or len(item) != 1:
        return None
    word = next(iter(item))
    if word == "not":
        return [item["not"]]
    if word not in _OPERATORS:
        return None
    inner = item[word]
    if not isinstance(inner, list | tuple) or len(inner) < 2:
        found = f"{len(inner)}" if isinstance(inner, list | tuple) else _kind(inner)
        raise _Refused(
            f"'{word}' takes a list of two operands or more, found {found}", (*path, word)
        )
    return list(inner)


def _checked(make: Callable[[], Node], path: Path) -> Node:
    try:
        return make()
    except RuleError as error:
        raise _Refused(error.reason, path) from None


def _leaf(item: object, path: Path) -> Node:
    if isinstance(item, bool):
        return Constant(item)
    if not isinstance(item, dict):
        raise _Refused(f"expected an object, true or false, found {_kind(item)}", path)
    if "call" in item:
        _keys(item, ("call", "args"), path)
        name = _string(item, "call", path)
        arguments = item["args"]
        if not isinstance(arguments, list | tuple):
            raise _Refused(f"expected a list, found {_kind(arguments)}", (*path, "args"))
        sides = [_side(side, (*path, "args", i)) for i, side in enumerate(arguments)]
        if any(isinstance(side, Sum) for side in sides):
            raise _Refused("an argument is an attribute, a literal or a variable", (*path, "args"))
        return _checked(lambda: Call(name, sides), path)
    if "left" in item:
        _keys(item, ("left", "op", "right"), path)
        left, right = (_side(item[key], (*path, key)) for key in ("left", "right"))
        op = _string(item, "op", path)
        return _checked(lambda: VariableComparison(left, op, right), path)
    if "attr" in item:
        return _predicate(item, path)
    words = "'attr', 'call', 'left', 'and', 'or', 'not', 'xor' or 'xnor'"
    found = ", ".join(_kind(key) for key in list(item)[:5]) or "no key"
    raise _Refused(f"expected an object with {words}, found {found}", path)


def _predicate(item: dict[Any, Any], path: Path) -> Node:
    attribute = _string(item, "attr", path)
    if "op" not in item:
        raise _Refused("expected 'op'", path)
    op = " ".join(_string(item, "op", path).lower().split())
    negated = op.startswith("not ") or op == "is not null"
    word = op.removeprefix("not ")
    if op in ("is null", "is not null"):
        _keys(item, ("attr", "op"), path)
        return _checked(lambda: IsNull(attribute, negated), path)
    if word == "between":
        _keys(item, ("attr", "op", "low", "high"), path)
        low, high = (_literal(item[key], (*path, key)) for key in ("low", "high"))
        return _checked(lambda: Between(attribute, low, high, negated), path)
    if word == "in":
        _keys(item, ("attr", "op", "values"), path)
        values = item["values"]
        if not isinstance(values, list | tuple):
            raise _Refused(f"expected a list, found {_kind(values)}", (*path, "values"))
        literals = [_literal(value, (*path, "values", i)) for i, value in enumerate(values)]
        return _checked(lambda: In(attribute, literals, negated), (*path, "values"))
    if word in ("like", "ilike", "rlike"):
        _keys(item, ("attr", "op", "value"), path)
        pattern = _literal(item["value"], (*path, "value"))
        return _checked(lambda: Like(attribute, word, pattern, negated), (*path, "value"))
    if op not in (*COMPARISONS, "==", "<>"):
        known = ", ".join((*COMPARISONS, "in", "between", "like", "ilike", "rlike", "is null"))
        raise _Refused(f"expected an operator ({known}), found {op[:40]!r}", (*path, "op"))
    if "other" in item:
        _keys(item, ("attr", "op", "other"), path)
        other = _string(item, "other", path)
        return _checked(lambda: AttributeComparison(attribute, op, other), path)
    _keys(item, ("attr", "op", "value"), path)
    value = _literal(item["value"], (*path, "value"))
    return _checked(lambda: Comparison(attribute, op, value), path)


def _keys(item: dict[Any, Any], wanted: tuple[str, ...], path: Path) -> None:
    for key in wanted:
        if key not in item:
            raise _Refused(f"expected '{key}'", path)
    for key in item:
        if key not in wanted:
            names = ", ".join(f"'{name}'" for name in wanted)
            place = (*path, key) if isinstance(key, str) else path
            raise _Refused(f"expected {names} and no more, found {_kind(key)}", place)


def _string(item: dict[Any, Any], key: str, path: Path) -> str:
    if not isinstance(item[key], str):
        raise _Refused(f"expected a string, found {_kind(item[key])}", (*path, key))
    return str(item[key])


def _literal(value: object, path: Path) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        key, text = next(iter(value.items()))
        if key in ("date", "timestamp", "number") and isinstance(text, str):
            return _spelled(key, text, (*path, key))
    if isinstance(value, dict | list | tuple):
        raise _Refused(
            "expected a number, a string, true, false, a date or a timestamp, "
            f"found {_kind(value)}",
            path,
        )
    if value is None:
        raise _Refused("null stands only in 'is null'", path)
    return value


def _spelled(kind: str, text: str, path: Path) -> Literal:
    if kind == "number":
        if not re.fullmatch(rf"-?+{NUMBER}", text):
            raise _Refused(f"expected a number, found {text[:40]!r}", path)
        try:
            return _json_number(text)
        except RuleError as error:
            raise _Refused(error.reason, path) from None
    time = read_time(text)
    if time is None or (kind == "date" and len(text) > 10):
        raise _Refused(f"expected a {kind} in ISO 8601, found {text[:40]!r}", path)
    return time


def _side(value: object, path: Path) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        if key in ("attr", "var"):
            name = _string(value, key, path)
            try:
                return Attribute(name) if key == "attr" else Variable(name)
            except RuleError as error:
                raise _Refused(error.reason, path) from None
        if key in BINDING:
            return _sum(value, path)
    return _literal(value, path)


def _sum(value: dict[Any, Any], path: Path) -> Sum:
    """Operators first and from the right, which reversed is postfix."""
    terms: list[Any] = []
    todo: list[tuple[object, Path]] = [(value, path)]
    while todo:
        item, place = todo.pop()
        key = next(iter(item)) if isinstance(item, dict) and len(item) == 1 else None
        if key not in BINDING:
            term = _side(item, place)
            if isinstance(term, bool) or not isinstance(term, int | float | Decimal | Variable):
                raise _Refused("a sum is made of numbers and variables", place)
            terms.append(_number(term, place))
        else:
            inner = item[key]  # type: ignore[index]
            if not isinstance(inner, list | tuple) or len(inner) != 2:
                raise _Refused(f"'{key}' takes a list of two, found {_kind(inner)}", place)
            terms.append(key)
            todo.extend((side, (*place, key, i)) for i, side in enumerate(inner))
        if len(terms) > 2 * MAX_TERMS:
            raise _Refused(f"a sum has at most {MAX_TERMS:,} terms", path)
    return Sum(tuple(reversed(terms)))


def _number(term: object, path: Path) -> object:
    try:
        return term if isinstance(term, Variable) else literal(term)
    except RuleError as error:
        raise _Refused(error.reason, path) from None


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 10**40):
        return str(value).lower()
    return "null" if value is None else f"a value of type {type(value).__name__}"
