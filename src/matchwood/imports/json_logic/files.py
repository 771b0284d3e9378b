"""Files of JSONLogic: an expression, a rule with its id and expression, or a list of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.imports.json_documents import documents
from matchwood.imports.json_logic.conversion import rule_of_logic
from matchwood.imports.records import Columns, Record, imported, records
from matchwood.language.tree import Node

COLUMNS = Columns(
    listed="rules",
    names=("id", "name"),
    conditions=("logic", "rule", "condition"),
    titles=("title", "description"),
)


def read_rules(
    sources: Sequence[Path], typed: bool = False
) -> Iterator[ImportedRule | NotImported]:
    """The rules of files and folders; `typed` is described with `rule_of_logic`."""
    for document in documents(sources):
        if isinstance(document, NotImported):
            yield document
            continue
        for record in records(document, COLUMNS):
            yield imported(record, lambda record, differs: _rule(record, typed, differs))


def _rule(record: Record, typed: bool, differs: set[str]) -> Node:
    if record.condition is None:
        raise Inexpressible("the rule has no expression")
    return rule_of_logic(record.condition, typed, differs)
