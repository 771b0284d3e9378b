"""The JSON form of a rule: the same tree for programs.

An error's place is found from its path: the text is walked once more, value by value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from matchwood.language.arithmetic import Sum
from matchwood.language.errors import RuleError
from matchwood.language.json_operands import (
    Refused,
    kind_of,
    literal_at,
    literal_to_json,
    number_of,
    side_at,
    side_to_json,
    string_at,
)
from matchwood.language.json_place import Path, locate
from matchwood.language.text import check_size
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
            return {"attr": node.attribute, "op": node.op, "value": literal_to_json(node.value)}
        case Between():
            low, high = literal_to_json(node.low), literal_to_json(node.high)
            return {"attr": node.attribute, "op": f"{no}between", "low": low, "high": high}
        case In():
            values = [literal_to_json(value) for value in node.values]
            return {"attr": node.attribute, "op": f"{no}in", "values": values}
        case Like():
            return {"attr": node.attribute, "op": f"{no}{node.kind}", "value": node.pattern}
        case IsNull():
            return {"attr": node.attribute, "op": f"is {no}null"}
        case AttributeComparison():
            return {"attr": node.left, "op": node.op, "other": node.right}
        case Call():
            return {"call": node.name, "args": [side_to_json(side) for side in node.arguments]}
        case VariableComparison():
            left, right = side_to_json(node.left), side_to_json(node.right)
            return {"left": left, "op": node.op, "right": right}
    raise AssertionError(type(node))


# From JSON


def from_json(rule: object) -> Node:
    """The tree of a JSON form: of its text, or of the dicts and lists that it reads as."""
    text = rule if isinstance(rule, str) else None
    value = _loads(text) if text is not None else rule
    try:
        return _build(value)
    except Refused as refused:
        path = "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in refused.path)
        path = path.encode(errors="backslashreplace").decode()
        shown = text if text is not None else _dumps(value)
        place = locate(shown, refused.path)
        raise RuleError(refused.reason, text=shown, position=place, path=path) from None


def _loads(text: str) -> Any:
    check_size(text)
    try:
        return json.loads(text, parse_float=number_of, parse_int=number_of)
    except json.JSONDecodeError as error:
        raise RuleError(
            f"the JSON cannot be read: {error.msg}", text=text, position=error.pos
        ) from None
    except RecursionError:
        raise RuleError("the JSON nests too deeply to be read", text=text, position=0) from None
    except RuleError as error:
        raise error.at(text, 0) from None


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
            raise Refused(f"a rule has at most {MAX_NODES:,} nodes", ())
        inner = _operands(item, path)
        if inner is None:
            results.append(_leaf(item, path))
            continue
        if len(path) > _MAX_DEPTH:
            raise Refused(f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's", path)
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
        found = f"{len(inner)}" if isinstance(inner, list | tuple) else kind_of(inner)
        raise Refused(
            f"'{word}' takes a list of two operands or more, found {found}", (*path, word)
        )
    return list(inner)


def _checked(make: Callable[[], Node], path: Path) -> Node:
    try:
        return make()
    except RuleError as error:
        raise Refused(error.reason, path) from None


def _leaf(item: object, path: Path) -> Node:
    if isinstance(item, bool):
        return Constant(item)
    if not isinstance(item, dict):
        raise Refused(f"expected an object, true or false, found {kind_of(item)}", path)
    if "call" in item:
        _keys(item, ("call", "args"), path)
        name = string_at(item, "call", path)
        arguments = item["args"]
        if not isinstance(arguments, list | tuple):
            raise Refused(f"expected a list, found {kind_of(arguments)}", (*path, "args"))
        sides = [side_at(side, (*path, "args", i)) for i, side in enumerate(arguments)]
        if any(isinstance(side, Sum) for side in sides):
            raise Refused("an argument is an attribute, a literal or a variable", (*path, "args"))
        return _checked(lambda: Call(name, sides), path)
    if "left" in item:
        _keys(item, ("left", "op", "right"), path)
        left, right = (side_at(item[key], (*path, key)) for key in ("left", "right"))
        op = string_at(item, "op", path)
        return _checked(lambda: VariableComparison(left, op, right), path)
    if "attr" in item:
        return _predicate(item, path)
    words = "'attr', 'call', 'left', 'and', 'or', 'not', 'xor' or 'xnor'"
    found = ", ".join(kind_of(key) for key in list(item)[:5]) or "no key"
    raise Refused(f"expected an object with {words}, found {found}", path)


def _predicate(item: dict[Any, Any], path: Path) -> Node:
    attribute = string_at(item, "attr", path)
    if "op" not in item:
        raise Refused("expected 'op'", path)
    op = " ".join(string_at(item, "op", path).lower().split())
    negated = op.startswith("not ") or op == "is not null"
    word = op.removeprefix("not ")
    if op in ("is null", "is not null"):
        _keys(item, ("attr", "op"), path)
        return _checked(lambda: IsNull(attribute, negated), path)
    if word == "between":
        _keys(item, ("attr", "op", "low", "high"), path)
        low, high = (literal_at(item[key], (*path, key)) for key in ("low", "high"))
        return _checked(lambda: Between(attribute, low, high, negated), path)
    if word == "in":
        _keys(item, ("attr", "op", "values"), path)
        values = item["values"]
        if not isinstance(values, list | tuple):
            raise Refused(f"expected a list, found {kind_of(values)}", (*path, "values"))
        literals = [literal_at(value, (*path, "values", i)) for i, value in enumerate(values)]
        return _checked(lambda: In(attribute, literals, negated), (*path, "values"))
    if word in ("like", "ilike", "rlike"):
        _keys(item, ("attr", "op", "value"), path)
        pattern = literal_at(item["value"], (*path, "value"))
        return _checked(lambda: Like(attribute, word, pattern, negated), (*path, "value"))
    if op not in (*COMPARISONS, "==", "<>"):
        known = ", ".join((*COMPARISONS, "in", "between", "like", "ilike", "rlike", "is null"))
        raise Refused(f"expected an operator ({known}), found {op[:40]!r}", (*path, "op"))
    if "other" in item:
        _keys(item, ("attr", "op", "other"), path)
        other = string_at(item, "other", path)
        return _checked(lambda: AttributeComparison(attribute, op, other), path)
    _keys(item, ("attr", "op", "value"), path)
    value = literal_at(item["value"], (*path, "value"))
    return _checked(lambda: Comparison(attribute, op, value), path)


def _keys(item: dict[Any, Any], wanted: tuple[str, ...], path: Path) -> None:
    for key in wanted:
        if key not in item:
            raise Refused(f"expected '{key}'", path)
    for key in item:
        if key not in wanted:
            names = ", ".join(f"'{name}'" for name in wanted)
            place = (*path, key) if isinstance(key, str) else path
            raise Refused(f"expected {names} and no more, found {kind_of(key)}", place)
