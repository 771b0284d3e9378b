"""The JSON form of a rule: the same tree, for programs.

The position of an error is found from its path, by reading the text once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from matchwood.language.errors import RuleError
from matchwood.language.json.json_operands import (
    Refused,
    kind_of,
    literal_at,
    literal_to_json,
    number_of,
    side_at,
    side_to_json,
    string_at,
    subject_at,
    subject_to_json,
)
from matchwood.language.json.location import JsonPath, locate
from matchwood.language.text.parser import check_size
from matchwood.language.tree import (
    COMPARISONS,
    MAX_LEVELS,
    MAX_NODES,
    And,
    AtLeast,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    Elements,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Node,
    Not,
    Or,
    SumComparison,
    TruthTest,
    VariableComparison,
    Xnor,
    Xor,
    compared,
    fold,
)
from matchwood.language.tree.arithmetic import Sum, Variable
from matchwood.language.tree.elements import MAX_NESTED
from matchwood.language.tree.nodes import TRUTHS
from matchwood.language.tree.predicates import PATTERNS

_OPERATORS: dict[str, type[And | Or | Xor | Xnor]] = {
    "and": And,
    "or": Or,
    "xor": Xor,
    "xnor": Xnor,
}
_TESTS = (*TRUTHS, *(f"not {truth}" for truth in TRUTHS))

# Parts of the longest path to a node. Between two levels of parentheses there can be an or, an
# xnor, an xor and an and, each of which adds a word and an index.
_MAX_DEPTH = 8 * (MAX_LEVELS + 1)

# Characters of the longest rule of dicts and lists that an error shows as JSON text.
_MAX_SHOWN = 1 << 16


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
        case TruthTest():
            return {"is": node.asks, "rule": operands[0]}
        case AtLeast():
            return {"at_least": node.count, "of": list(operands)}
        case Elements():
            return {node.kind: subject_to_json(node.attribute), "rule": to_json(node.rule)}
        case Comparison():
            return {
                "attr": subject_to_json(node.attribute),
                "op": node.op,
                "value": literal_to_json(node.value),
            }
        case Between():
            low, high = literal_to_json(node.low), literal_to_json(node.high)
            return {
                "attr": subject_to_json(node.attribute),
                "op": f"{no}between",
                "low": low,
                "high": high,
            }
        case In():
            values = [literal_to_json(value) for value in node.values]
            return {"attr": subject_to_json(node.attribute), "op": f"{no}in", "values": values}
        case Like():
            return {
                "attr": subject_to_json(node.attribute),
                "op": f"{no}{node.kind}",
                "value": node.pattern,
            }
        case LikeMany():
            op = f"{node.kind} {node.which}"
            subject = subject_to_json(node.attribute)
            return {"attr": subject, "op": op, "values": list(node.patterns)}
        case InList():
            subject = subject_to_json(node.attribute)
            return {"attr": subject, "op": f"{no}in list", "value": node.name}
        case IsNull():
            return {"attr": subject_to_json(node.attribute), "op": f"is {no}null"}
        case AttributeComparison():
            left, right = subject_to_json(node.left), subject_to_json(node.right)
            return {"attr": left, "op": node.op, "other": right}
        case Call():
            return {"call": node.name, "args": [side_to_json(side) for side in node.arguments]}
        case VariableComparison() | SumComparison():
            left, right = side_to_json(node.left), side_to_json(node.right)
            return {"left": left, "op": node.op, "right": right}
    raise AssertionError(type(node))


# From JSON


def from_json(rule: object) -> Node:
    """The tree of a rule in its JSON form: JSON text, or the dicts and lists that it stands for.

    >>> from_json('{"not": {"attr": "age", "op": "in", "values": [17, 18]}}')
    parse('not age in (17, 18)')
    """
    text = rule if isinstance(rule, str) else None
    value = _loads(text) if text is not None else rule
    try:
        return _build(value)
    except Refused as refused:
        path = "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in refused.path)
        path = path.encode(errors="backslashreplace").decode()
        shown = text if text is not None else _dumps(value)
        position = locate(shown, refused.path)
        raise RuleError(refused.reason, text=shown, position=position, path=path) from None


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
    """The JSON text to show an error in; '' if the value has none, or a very long one."""
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


def _build(value: object, inside: int = 0, at: JsonPath = ()) -> Node:
    """The tree of a JSON value, without recursion, so that deep input exhausts no stack.

    Only `any` and `every`, which nest at most `MAX_NESTED` deep, use the stack; `inside` counts
    those around the value, and `at` is its path.
    """
    results: list[Node] = []
    # An item, the path of its parent, its own part of the path, and how many of its operands are
    # ready, or -1 if it has not been looked at.
    todo: list[tuple[object, JsonPath, JsonPath, int]] = [(value, at, (), -1)]
    nodes = 0
    while todo:
        item, above, last, ready = todo.pop()
        path = (*above, *last)
        if ready >= 0:
            operands = results[len(results) - ready :]
            del results[len(results) - ready :]
            results.append(_checked(partial(_operator, cast(dict[str, Any], item), operands), path))
            continue
        nodes += 1
        if nodes > MAX_NODES:
            raise Refused(f"a rule has at most {MAX_NODES:,} nodes", ())
        inner = _operands(item, path)
        if inner is None:
            results.append(_leaf(item, path, inside))
            continue
        if len(path) > _MAX_DEPTH:
            raise Refused(f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's", path)
        todo.append((item, path, (), len(inner)))
        todo.extend((operand, path, part, -1) for operand, part in reversed(inner))
    return results[0]


def _operator(item: dict[str, Any], operands: Sequence[Node]) -> Node:
    if "is" in item:
        asks = str(item["is"])
        return TruthTest(operands[0], asks.removeprefix("not "), asks.startswith("not "))
    if "at_least" in item:
        return AtLeast(item["at_least"], operands)
    word = next(iter(item))
    return Not(operands[0]) if word == "not" else _OPERATORS[word](operands)


def _operands(item: object, path: JsonPath) -> list[tuple[object, JsonPath]] | None:
    """The operands of an operator, each with its own part of the path; None for a leaf."""
    if not isinstance(item, dict):
        return None
    if "is" in item and "attr" not in item:
        _keys(item, ("is", "rule"), path)
        if string_at(item, "is", path) not in _TESTS:
            found = kind_of(item["is"])
            raise Refused(f"expected one of {', '.join(_TESTS)}, found {found}", (*path, "is"))
        return [(item["rule"], ("rule",))]
    if "at_least" in item:
        _keys(item, ("at_least", "of"), path)
        return _listed(item, "of", 1, path)
    if len(item) != 1:
        return None
    word = next(iter(item))
    if word == "not":
        return [(item["not"], ("not",))]
    return _listed(item, word, 2, path) if word in _OPERATORS else None


def _listed(
    item: dict[str, Any], word: str, fewest: int, path: JsonPath
) -> list[tuple[object, JsonPath]]:
    """The operands in a list, each with its own part of the path."""
    inner = item[word]
    if not isinstance(inner, list | tuple) or len(inner) < fewest:
        shown = f"{len(inner)}" if isinstance(inner, list | tuple) else kind_of(inner)
        count = "two operands" if fewest == 2 else "one rule"
        raise Refused(f"'{word}' takes a list of {count} or more, found {shown}", (*path, word))
    return [(operand, (word, index)) for index, operand in enumerate(inner)]


def _checked(make: Callable[[], Node], path: JsonPath) -> Node:
    """A node; if its constructor refuses it, the error has the path."""
    try:
        return make()
    except RuleError as error:
        raise Refused(error.reason, path) from None


def _elements(item: dict[Any, Any], kind: str, path: JsonPath, inside: int) -> Node:
    _keys(item, (kind, "rule"), path)
    if inside >= MAX_NESTED:
        raise Refused(f"'any' and 'every' nest at most {MAX_NESTED} deep", path)
    subject = subject_at(item[kind], (*path, kind), inside > 0)
    rule = _build(item["rule"], inside + 1, (*path, "rule"))
    return _checked(lambda: Elements(kind, subject, rule), path)


def _leaf(item: object, path: JsonPath, inside: int) -> Node:
    if isinstance(item, bool):
        return Constant(item)
    if not isinstance(item, dict):
        raise Refused(f"expected an object, true or false, found {kind_of(item)}", path)
    for kind in Elements.KINDS:
        if kind in item:
            return _elements(item, kind, path, inside)
    if "call" in item:
        _keys(item, ("call", "args"), path)
        name = string_at(item, "call", path)
        arguments = item["args"]
        if not isinstance(arguments, list | tuple):
            raise Refused(f"expected a list, found {kind_of(arguments)}", (*path, "args"))
        sides = [side_at(side, (*path, "args", i), inside > 0) for i, side in enumerate(arguments)]
        if any(isinstance(side, Sum) for side in sides):
            raise Refused("an argument is an attribute, a literal or a variable", (*path, "args"))
        return _checked(lambda: Call(name, sides), path)
    if "left" in item:
        _keys(item, ("left", "op", "right"), path)
        left, right = (side_at(item[key], (*path, key), inside > 0) for key in ("left", "right"))
        op = string_at(item, "op", path)
        if not any(isinstance(side, Variable | Sum) for side in (left, right)):
            raise Refused("a comparison with 'left' and 'right' has a variable or a sum", path)
        return _checked(lambda: compared(left, op, right), path)
    if "attr" in item:
        return _predicate(item, path, inside > 0)
    words = (
        "'attr', 'call', 'left', 'and', 'or', 'not', 'xor', 'xnor', 'is', 'any', 'every' "
        "or 'at_least'"
    )
    keys = ", ".join(kind_of(key) for key in list(item)[:5]) or "no key"
    raise Refused(f"expected an object with {words}, found {keys}", path)


def _predicate(item: dict[Any, Any], path: JsonPath, inside: bool) -> Node:
    attribute = subject_at(item["attr"], (*path, "attr"), inside)
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
        literals = _literals(item, path)
        return _checked(lambda: In(attribute, literals, negated), (*path, "values"))
    if word in PATTERNS:
        _keys(item, ("attr", "op", "value"), path)
        pattern = literal_at(item["value"], (*path, "value"))
        return _checked(lambda: Like(attribute, word, pattern, negated), (*path, "value"))
    if word == "in list":
        _keys(item, ("attr", "op", "value"), path)
        name = string_at(item, "value", path)
        return _checked(lambda: InList(attribute, name, negated), (*path, "value"))
    kind, _, which = op.partition(" ")
    if kind in PATTERNS and which in ("any", "all"):
        patterns = _literals(item, path)
        return _checked(lambda: LikeMany(attribute, kind, which, patterns), (*path, "values"))
    if op not in (*COMPARISONS, "==", "<>"):
        known = ", ".join((*COMPARISONS, "in", "in list", "between", *PATTERNS, "is null"))
        raise Refused(f"expected an operator ({known}), found {op[:40]!r}", (*path, "op"))
    if "other" in item:
        _keys(item, ("attr", "op", "other"), path)
        other = subject_at(item["other"], (*path, "other"), inside)
        return _checked(lambda: AttributeComparison(attribute, op, other), path)
    _keys(item, ("attr", "op", "value"), path)
    value = literal_at(item["value"], (*path, "value"))
    return _checked(lambda: Comparison(attribute, op, value), path)


def _literals(item: dict[Any, Any], path: JsonPath) -> list[Any]:
    """The literals under `values`."""
    _keys(item, ("attr", "op", "values"), path)
    values = item["values"]
    if not isinstance(values, list | tuple):
        raise Refused(f"expected a list, found {kind_of(values)}", (*path, "values"))
    return [literal_at(value, (*path, "values", i)) for i, value in enumerate(values)]


def _keys(item: dict[Any, Any], wanted: tuple[str, ...], path: JsonPath) -> None:
    for key in wanted:
        if key not in item:
            raise Refused(f"expected '{key}'", path)
    for key in item:
        if key not in wanted:
            names = ", ".join(f"'{name}'" for name in wanted)
            where = (*path, key) if isinstance(key, str) else path
            raise Refused(f"expected {names} and no more, found {kind_of(key)}", where)
