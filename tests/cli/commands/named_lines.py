"""A format with which the command is tested: lines of `id: rule`, some of which are refused."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from matchwood.imports import ImportedRule, NotImported


def read_rules(sources: Sequence[Path]) -> Iterator[ImportedRule | NotImported]:
    for path in sources:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            place = f"{path}:{number}"
            name, colon, rule = line.partition(": ")
            if colon:
                yield ImportedRule(name, rule, place, tags=("imported",), priority=1)
            else:
                yield NotImported(place, "found no colon")
