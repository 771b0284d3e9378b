"""Texts that `lower(…)` never has, because there are upper-case letters in them."""

from __future__ import annotations

from collections.abc import Iterator

from matchwood.language.subjects import lower_case
from matchwood.language.tree import Comparison, In, Like, LikeMany, Lowered, Node, walk_inside


def never_lower(tree: Node) -> Iterator[str]:
    """A reason for a warning for each text with upper case that is compared with `lower(…)`.

    >>> from matchwood.language import parse
    >>> list(never_lower(parse("lower(name) = 'Ann' and lower(city) like 'rome%'")))
    ["lower(name) is never 'Ann': write 'ann'"]
    """
    for node, _ in walk_inside(tree):
        if isinstance(getattr(node, "attribute", None), Lowered):
            for text in _texts(node):
                if lower_case(text) != text:
                    subject = str(node.subjects[0])
                    yield f"{subject} is never {text!r}: write {lower_case(text)!r}"


def _texts(node: Node) -> list[str]:
    """The texts, or patterns, that a value has to equal."""
    values: tuple[object, ...] = ()
    if isinstance(node, Comparison) and node.op in ("=", "!="):
        values = (node.value,)
    elif isinstance(node, In):
        values = node.values
    elif isinstance(node, Like) and node.kind == "like":
        values = (node.pattern,)
    elif isinstance(node, LikeMany) and node.kind == "like":
        values = node.patterns
    return [value for value in values if isinstance(value, str)]
