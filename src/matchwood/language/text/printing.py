"""Tree to canonical text, which `parse` reads back as an equal tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from matchwood.language.names import KEYWORDS
from matchwood.language.tree import (
    AtLeast,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    Derived,
    Elements,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Lowered,
    Node,
    Not,
    SumComparison,
    TruthTest,
    VariableComparison,
    in_parity_chain,
)
from matchwood.language.tree.arithmetic import BINDING, Attribute, Side, Sum, Variable
from matchwood.language.tree.variables import Join
from matchwood.language.values import Literal, Time, spell_number

_PLAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def to_text(tree: Node) -> str:
    """The canonical text of a rule: keywords in lower case, and no parentheses without need."""
    pieces: list[str] = []
    todo: list[str | Node] = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif not item.operands:
            pieces.append(predicate_text(item))
        else:
            todo.extend(reversed(_layout(item)))
    return "".join(pieces)


def _layout(node: Node) -> list[str | Node]:
    if isinstance(node, Not):
        inner = node.operands[0]
        return ["not (", inner, ")"] if inner.binding < Not.binding else ["not ", inner]
    if isinstance(node, TruthTest):
        inner = node.operands[0]
        bare = inner.tested_bare
        return [inner, f" is {node.asks}"] if bare else ["(", inner, f") is {node.asks}"]
    layout: list[str | Node] = []
    if isinstance(node, AtLeast):
        for operand in node.operands:
            layout.extend([", ", operand])
        return [f"at_least({node.count}", *layout, ")"]
    word = f" {type(node).word} "  # type: ignore[attr-defined]
    chain = in_parity_chain(node, node.operands)
    for index, operand in enumerate(node.operands):
        if index:
            layout.append(word)
        free = operand.binding > node.binding or (chain and index == 0)
        layout.extend([operand] if free else ["(", operand, ")"])
    return layout


def predicate_text(node: Node) -> str:
    """The text of a node without operands."""
    no = "not " if getattr(node, "negated", False) else ""
    match node:
        case Constant():
            return "true" if node.value else "false"
        case Comparison():
            name = attribute_text(node.attribute)
            if node.is_bare:
                return name
            return f"{name} {node.op} {literal_text(node.value)}"
        case Between():
            low, high = literal_text(node.low), literal_text(node.high)
            return f"{attribute_text(node.attribute)} {no}between {low} and {high}"
        case In():
            values = ", ".join(map(literal_text, node.values))
            return f"{attribute_text(node.attribute)} {no}in ({values})"
        case Like():
            return f"{attribute_text(node.attribute)} {no}{node.kind} {literal_text(node.pattern)}"
        case LikeMany():
            patterns = ", ".join(map(literal_text, node.patterns))
            return f"{attribute_text(node.attribute)} {node.kind} {node.which} ({patterns})"
        case InList():
            name = literal_text(node.name)
            return f"{attribute_text(node.attribute)} {no}in list {name}"
        case Elements():
            return f"{node.kind}({attribute_text(node.attribute)}, {to_text(node.rule)})"
        case IsNull():
            return f"{attribute_text(node.attribute)} is {no}null"
        case AttributeComparison():
            return f"{attribute_text(node.left)} {node.op} {attribute_text(node.right)}"
        case Call():
            return f"{node.name}({', '.join(map(side_text, node.arguments))})"
        case VariableComparison() | SumComparison():
            return f"{side_text(node.left)} {node.op} {side_text(node.right)}"
        case Join():
            parts = (*node.calls, *node.constraints)
            texts = [f"({to_text(p)})" if p.binding <= node.binding else to_text(p) for p in parts]
            return " and ".join(texts)
    raise AssertionError(type(node))


def attribute_text(name: str) -> str:
    """The name of an attribute, in backquotes if it would not read back as a name."""
    if isinstance(name, Lowered):
        return f"lower({attribute_text(name.base)})"
    if isinstance(name, Derived):
        return str(name)
    if name == "it":
        return "`it`"  # without quotes it would be the element, inside `any` and `every`
    if _PLAIN.fullmatch(name) and name.partition(".")[0].lower() not in KEYWORDS:
        return name
    return f"`{name.replace('`', '``')}`"


def literal_text(literal: Literal) -> str:
    """A literal as rules spell it."""
    if isinstance(literal, bool):
        return "true" if literal else "false"
    if isinstance(literal, str):
        return f"'{literal.replace(chr(39), chr(39) * 2)}'"
    if isinstance(literal, Time):
        text = str(literal)
        return f"date '{text}'" if len(text) == 10 else f"timestamp '{text}'"
    return spell_number(literal)


def side_text(side: Side) -> str:
    """An operand of a comparison or a call as rules spell it."""
    if isinstance(side, Attribute):
        return attribute_text(side.name)
    if isinstance(side, Variable):
        return f"?{side.name}"
    return _sum_text(side) if isinstance(side, Sum) else literal_text(side)


def _sum_text(sum_: Sum) -> str:
    stack: list[tuple[str, int]] = []
    for term in sum_.postfix:
        if isinstance(term, int | Decimal):
            stack.append((spell_number(term), 3))
        elif isinstance(term, Attribute | Variable):
            stack.append((side_text(term), 3))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((_joined(left, term, right), BINDING[term]))
    return stack[0][0]


def _joined(left: tuple[str, int], op: str, right: tuple[str, int]) -> str:
    binding = BINDING[op]
    first = left[0] if left[1] >= binding else f"({left[0]})"
    second = right[0] if right[1] > binding else f"({right[0]})"
    return f"{first} {op} {second}"


def outline(tree: Node) -> Sequence[tuple[str, Node]]:
    """The tree drawn with lines: one (branch, node) per line, operands below their node."""
    lines: list[tuple[str, Node]] = []
    todo: list[tuple[str, str, Node]] = [("", "", tree)]
    while todo:
        branch, below, node = todo.pop()
        lines.append((branch, node))
        last = len(node.operands) - 1
        for index in range(last, -1, -1):
            end = index == last
            todo.append(
                (
                    below + ("└─ " if end else "├─ "),
                    below + ("   " if end else "│  "),
                    node.operands[index],
                )
            )
    return lines
