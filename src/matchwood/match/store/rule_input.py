"""What people give: rules as mappings, pairs or tables, ids, tags, priorities, events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matchwood.language import parse
from matchwood.language.values import is_text
from matchwood.match.parts.given_rules import GivenRules
from matchwood.tables.rule_data import data_of_columns, data_text


def given_rules(rules: Any) -> GivenRules:
    """The rules of a mapping, of pairs, or of a table with columns `id` and `rule`.

    Further columns of a table are the data that its rules carry.
    """
    if isinstance(rules, Mapping):
        return GivenRules(list(rules.keys()), list(rules.values()), {}, {}, {})
    if not (hasattr(rules, "__arrow_c_stream__") or hasattr(rules, "to_pylist")):
        return GivenRules.of_pairs(rules)
    from matchwood.match.batch.codes.event_tables import table_of

    table = table_of(rules)
    names = table.columns
    for name in ("id", "rule"):
        if name not in names:
            raise ValueError(f"a table of rules needs columns 'id' and 'rule'; {name!r} is missing")
    ids, texts = list(names["id"].plain()), list(names["rule"].plain())
    tags = names["tags"].plain() if "tags" in names else ()
    priorities = names["priority"].plain() if "priority" in names else ()
    known = ("id", "rule", "tags", "priority")
    further = {name: column.plain() for name, column in names.items() if name not in known}
    rows = zip(*further.values(), strict=True)
    data = [data_of_columns(dict(zip(further, row, strict=True)), known) for row in rows]
    return GivenRules(
        ids,
        texts,
        {row: tag_set(mine) for row, mine in enumerate(tags) if mine},
        {row: priority_of(mine) for row, mine in enumerate(priorities) if mine},
        {row: data_text(mine) for row, mine in enumerate(data) if mine is not None},
    )


def count_of(events: Any) -> int | None:
    """The number of events, or None if only iterating over them would tell."""
    rows = getattr(events, "num_rows", None)
    if isinstance(rows, int):
        return rows
    try:
        return len(events)
    except TypeError:
        return None


def check_ids(ids: Sequence[Any], strings: bool | None) -> None:
    """Raise unless all ids are strings, or all are integers, that Arrow can hold.

    `strings` says whether the ids that are there already are strings; None if there are none.
    """
    integers = strings is not True and set(map(type, ids)) == {int}
    if integers and min(ids) >= -(2**63) and max(ids) < 2**63:
        return  # the usual case, without a look at each of a million ids
    for rule_id in ids:
        is_string = isinstance(rule_id, str)
        if not is_string and (isinstance(rule_id, bool) or not isinstance(rule_id, int)):
            raise TypeError(f"an id must be a string or an integer, found {type(rule_id).__name__}")
        if strings is None:
            strings = is_string
        if strings != is_string:
            kind = "strings" if strings else "integers"
            raise TypeError(f"the ids of this matcher are {kind}, found {rule_id!r}")
        if is_string and not is_text(rule_id):
            raise ValueError(f"an id must be valid Unicode, found {rule_id!r}")
        if not is_string and not -(2**63) <= rule_id < 2**63:
            raise ValueError(f"an integer id must fit into 64 bits, found {rule_id}")


def distinct_ids(ids: Iterable[Any]) -> list[Any]:
    """Several ids, each once; a single id that is not in a collection is refused.

    >>> distinct_ids(["a", "b", "a"])
    ['a', 'b']
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        shown = "one id" if isinstance(ids, str | int) else type(ids).__name__
        raise TypeError(
            f"remove takes several ids, such as a list, found {shown}: "
            f"write `del m[{ids!r}]` or `m.remove([{ids!r}])`"
        )
    return list(dict.fromkeys(ids))


def text_of(rule: object) -> str:
    """The text that a rule is stored as; merges parse it again, so it must be one that parses."""
    if isinstance(rule, str):
        return rule
    text = str(parse(rule))
    parse(text)
    return text


def tag_set(tags: Iterable[str]) -> frozenset[str]:
    """Tags as a set; a string is one tag."""
    return frozenset([tags] if isinstance(tags, str) else tags)


def priority_of(value: float) -> float:
    """A priority as a float; NaN is refused, as it does not compare."""
    priority = float(value)
    if priority != priority:
        raise ValueError("a priority must be a number other than NaN")
    return priority
