"""`parse`: a rule in any of the forms in which it may be given."""

from __future__ import annotations

from matchwood.language.errors import RuleError
from matchwood.language.json.form import from_json
from matchwood.language.text.parser import parse_text
from matchwood.language.tree import Node, uses_element


def parse(rule: object) -> Node:
    """The tree of a rule, given as text, in its JSON form, or built in Python.

    The JSON form is a dict, or text that starts with `{`. A rule that is malformed, or over a
    limit of the language, is a `RuleError`.

    >>> parse("18 <= age and (country <> 'US' or vip)")
    parse("age >= 18 and (country != 'US' or vip)")
    >>> parse({"attr": "age", "op": ">=", "value": 18})
    parse('age >= 18')
    """
    if isinstance(rule, str) and not rule.lstrip().startswith("{"):
        return parse_text(rule)
    if isinstance(rule, Node):
        return _whole(rule)
    if hasattr(rule, "as_rule"):
        return _whole(rule.as_rule())
    return from_json(rule)


def _whole(tree: Node) -> Node:
    """A rule built in Python, which is the only form in which `it` may stand outside elements."""
    if uses_element(tree):
        raise RuleError("'it' stands for an element: use it inside any(…) or every(…)")
    return tree
