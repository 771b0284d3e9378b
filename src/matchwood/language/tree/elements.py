"""`any(items, …)` and `every(items, …)`: a rule about the elements of a list.

The rule inside is about another event, the element, so it is no operand of the node: `walk` and
`fold` do not go into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from matchwood.language.errors import RuleError
from matchwood.language.tree.arithmetic import Variable
from matchwood.language.tree.nodes import Node, check_limits, walk
from matchwood.language.tree.predicates import Call, VariableComparison, attribute_name
from matchwood.language.tree.subjects import IT, Element, Everything, Lowered, unlowered

# Elements within elements. Every level of a tree that is compared or hashed takes Python's stack.
MAX_NESTED = 32

_set = object.__setattr__


class Elements(Node):
    """`any(items, price > 10)`: whether the rule is true of an element; `every`: of all of them."""

    __slots__ = ("attribute", "kind", "levels", "nested", "rule", "size")
    KINDS: ClassVar = ("any", "every")
    kind: str
    attribute: str
    rule: Node
    nested: int  # elements within elements

    def __init__(self, kind: str, attribute: str, rule: Node) -> None:
        if kind not in self.KINDS:
            raise RuleError(f"elements are asked with 'any' or 'every', found {kind!r}")
        nested = 1 + _check_inside(rule, kind)
        if nested > MAX_NESTED:
            raise RuleError(f"'any' and 'every' nest at most {MAX_NESTED} deep")
        if isinstance(attribute, Everything | Lowered):
            raise RuleError(f"the first argument of '{kind}' is an attribute, found {attribute}")
        levels = rule.levels + 1
        check_limits(rule.size + 1, levels)
        _set(self, "kind", kind)
        _set(self, "attribute", attribute_name(attribute))
        _set(self, "rule", rule)
        _set(self, "nested", nested)
        _set(self, "size", rule.size + 1)
        _set(self, "levels", levels)

    @property
    def tested_bare(self) -> bool:
        return True

    @property
    def subjects(self) -> tuple[str, ...]:
        return (self.attribute,)

    def _key(self) -> tuple[object, ...]:
        return (self.kind, self.attribute, self.rule)


def _check_inside(rule: Node, kind: str) -> int:
    """Refuse what cannot stand inside elements; how deep elements nest in the rule."""
    nested = 0
    for node in walk(rule):
        if isinstance(node, Elements):
            nested = max(nested, node.nested)
        elif isinstance(node, VariableComparison) or _binds(node):
            raise RuleError(f"variables cannot be used inside '{kind}'")
    return nested


def _binds(node: Node) -> bool:
    return isinstance(node, Call) and any(isinstance(a, Variable) for a in node.arguments)


def inner_name(path: str, attribute: str) -> str:
    """The name that an attribute of an element has in the event, without regard to case.

    >>> inner_name("items", "price")
    'items.price'
    """
    attribute = unlowered(attribute)
    return path if isinstance(attribute, Element) else f"{path}.{attribute}"


def walk_inside(tree: Node, path: str | None = None) -> Iterator[tuple[Node, str | None]]:
    """Every node of a tree, inside elements too, with the path of the elements it is about.

    >>> from matchwood.language import parse
    >>> [(str(node), path) for node, path in walk_inside(parse("any(items, price > 10)"))]
    [('any(items, price > 10)', None), ('price > 10', 'items')]
    """
    for node in walk(tree):
        yield node, path
        if isinstance(node, Elements):
            inner = node.attribute if path is None else inner_name(path, node.attribute)
            yield from walk_inside(node.rule, inner)


def uses_element(rule: Node) -> bool:
    """Whether `it` is used outside `any` and `every`, where it stands for nothing."""
    return any(
        isinstance(subject, Element) or (isinstance(subject, Lowered) and subject.base == IT)
        for node in walk(rule)
        for subject in node.subjects
    )


def reads_everything(rule: Node) -> bool:
    """Whether a rule uses `*` outside elements, and so depends on all attributes of an event."""
    return any(isinstance(subject, Everything) for node in walk(rule) for subject in node.subjects)
