"""Rules however they are given: mappings, pairs, tables; tags and priorities; counts of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from matchwood.language.text import parse
from matchwood.language.values import is_text
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


def count_of(events: Any) -> int | None:
    """How many events are given, None where only going through them would tell."""
    rows = getattr(events, "num_rows", None)
    if isinstance(rows, int):
        return rows
    try:
        return len(events)
    except TypeError:
        return None


def check_ids(ids: Sequence[Any], strings: bool | None) -> None:
    """Strings or integers that Arrow can hold, and of one type: that of the ids that are there.

    `strings` says whether those are strings; None where there are none.
    """
    for rule_id in ids:
        is_string = isinstance(rule_id, str)
        if not is_string and (isinstance(rule_id, bool) or not isinstance(rule_id, int)):
            raise TypeError(f"an id is a string or an integer, found {type(rule_id).__name__}")
        if strings is None:
            strings = is_string
        if strings != is_string:
            kind = "strings" if strings else "integers"
            raise TypeError(f"the ids of this matcher are {kind}, found {rule_id!r}")
        if is_string and not is_text(rule_id):
            raise ValueError(f"an id is valid Unicode, found {rule_id!r}")
        if not is_string and not -(2**63) <= rule_id < 2**63:
            raise ValueError(f"an integer id has at most 64 bits, found {rule_id}")


def several(ids: Iterable[Any]) -> list[Any]:
    """Ids that are given together, each once; a single one is refused.

    >>> several(["a", "b", "a"])
    ['a', 'b']
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        one = "one id" if isinstance(ids, str | int) else type(ids).__name__
        raise TypeError(
            f"remove takes several ids, such as a list, found {one}: "
            f"write `del m[{ids!r}]` or `m.remove([{ids!r}])`"
        )
    return list(dict.fromkeys(ids))


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
