"""`parse`: a rule in any of the forms in which it may be given."""

from __future__ import annotations

from matchwood.language.json.form import from_json
from matchwood.language.text.parser import parse_text
from matchwood.language.tree import Node


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
        return rule
    if hasattr(rule, "as_rule"):
        return rule.as_rule()  # type: ignore[no-any-return]
    return from_json(rule)
