"""Rules however they are given: mappings, pairs, tables; tags and priorities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from matchwood.language.text import parse
from matchwood.match.parts import Details


def details_of(rules: Any) -> Iterator[Details]:
    """Rules however they are given: id, text or tree, tags, priority."""
    if isinstance(rules, Mapping):
        pairs: Iterable[Any] = rules.items()
    elif hasattr(rules, "__arrow_c_stream__") or hasattr(rules, "to_pylist"):
        from matchwood.match.tables import table_of

        table = table_of(rules)
        names = table.columns
        for name in ("id", "rule"):
            if name not in names:
                raise ValueError(f"a table of rules has columns 'id' and 'rule', no {name!r} found")
        tags = names["tags"].plain() if "tags" in names else None
        priority = names["priority"].plain() if "priority" in names else None
        columns = zip(names["id"].plain(), names["rule"].plain(), strict=True)
        for row, (rule_id, rule) in enumerate(columns):
            yield Details(
                rule_id,
                rule,
                tag_set(tags[row] or ()) if tags else frozenset(),
                priority_of(priority[row] or 0) if priority else 0.0,
            )
        return
    else:
        pairs = rules
    nothing: frozenset[str] = frozenset()
    for pair in pairs:
        try:
            rule_id, rule = pair
        except (TypeError, ValueError):
            raise TypeError(f"rules are pairs of id and rule, found {pair!r}") from None
        yield Details(rule_id, rule, nothing, 0.0)


def text_of(rule: object) -> str:
    """The text that a rule is kept as: merges read it again, so it must be one that can be read."""
    if isinstance(rule, str):
        return rule
    text = str(parse(rule))
    parse(text)
    return text


def tag_set(tags: Iterable[str]) -> frozenset[str]:
    """Tags however they are given; a string is one tag."""
    return frozenset([tags] if isinstance(tags, str) else tags)


def priority_of(given: float) -> float:
    priority = float(given)
    if priority != priority:
        raise ValueError("a priority is a number that compares, found NaN")
    return priority
