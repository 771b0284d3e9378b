"""Files of event patterns.

A file holds a pattern; a rule with its name and pattern; a list of either; or what
`aws events list-rules` or `describe-rule` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matchwood.imports.event_patterns.patterns import rule_of_pattern
from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.imports.json_documents import documents
from matchwood.imports.records import Columns, Record, imported, records
from matchwood.language.tree import Node

# EventBridge takes no event whose detail is not an object.
OBJECTS = frozenset({("detail",)})

COLUMNS = Columns(
    listed="Rules",
    names=("Name", "name", "id"),
    conditions=("EventPattern", "pattern"),
    titles=("Description", "description", "title"),
)


def read_rules(sources: Sequence[Path]) -> Iterator[ImportedRule | NotImported]:
    """The rules of files and folders of event patterns."""
    for document in documents(sources):
        if isinstance(document, NotImported):
            yield document
            continue
        for record in records(document, COLUMNS):
            yield imported(record, _rule)


def _rule(record: Record, differs: set[str]) -> Node:
    if record.fields.get("State") == "DISABLED":
        raise Inexpressible("the rule is disabled, and matches nothing")
    if record.condition is None:
        raise Inexpressible(_without_pattern(record.fields))
    return rule_of_pattern(record.condition, OBJECTS, differs)


def _without_pattern(fields: dict[str, Any]) -> str:
    if "ScheduleExpression" in fields:
        return "a rule with a schedule and no pattern matches no event"
    return "the rule has no pattern"
