"""The formats by name, and `read`, which imports from any of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from matchwood.imports.imported import ImportedRule, NotImported
from matchwood.language import RuleError, parse


@dataclass(frozen=True)
class Format:
    """A format of rules, and the module that reads it."""

    module: str
    about: str
    options: tuple[str, ...] = ()  # names of the options that it takes


FORMATS: dict[str, Format] = {
    "sigma": Format(
        "matchwood.imports.sigma", "Sigma detections", options=("pipelines", "text_patterns")
    ),
    "eventbridge": Format(
        "matchwood.imports.event_patterns.eventbridge", "event patterns of Amazon EventBridge"
    ),
    "sns": Format(
        "matchwood.imports.event_patterns.sns", "filter policies of Amazon SNS", ("scope",)
    ),
    "percolator": Format(
        "matchwood.imports.percolator",
        "stored queries of Elasticsearch and OpenSearch",
        ("mapping", "now", "field"),
    ),
    "sql": Format(
        "matchwood.imports.sql",
        "tables of conditions in SQL: CSV, JSONL, Parquet, Delta",
        ("dialect", "columns", "names"),
    ),
    "jsonlogic": Format(
        "matchwood.imports.json_logic.files", "expressions of JSONLogic", ("typed",)
    ),
}

Source = str | os.PathLike[str]


def read(
    kind: str, source: Source | Sequence[Source], **options: Any
) -> Iterator[ImportedRule | NotImported]:
    """The rules of files or folders in a format, in order; `kind` is a name of `FORMATS`.

    A text that matchwood cannot parse, or an id that occurs twice, is a `NotImported`, too.
    """
    if kind not in FORMATS:
        raise ValueError(f"no such format: {kind!r}; expected one of {', '.join(FORMATS)}")
    expected = FORMATS[kind].options
    unknown = sorted(set(options) - set(expected))
    if unknown:
        takes = f"takes {', '.join(expected)}" if expected else "takes no options"
        raise ValueError(f"{kind} {takes}, found {', '.join(unknown)}")
    single = isinstance(source, str | os.PathLike)
    paths = [Path(source)] if single else [Path(each) for each in source]  # type: ignore[arg-type, union-attr]
    module = import_module(FORMATS[kind].module)
    return _checked(module.read_rules(paths, **options))


def _checked(
    found: Iterable[ImportedRule | NotImported],
) -> Iterator[ImportedRule | NotImported]:
    """Refuses what a matcher would refuse, so that a whole table of imported rules can be used."""
    places: dict[str, str] = {}
    for each in found:
        if isinstance(each, NotImported):
            yield each
            continue
        first = places.setdefault(each.id, each.source)
        if first != each.source:
            yield NotImported(each.source, f"the id is that of the rule in {first}", each.id)
            continue
        try:
            parse(each.rule)
        except RuleError as error:
            yield NotImported(each.source, str(error).splitlines()[0], each.id)
            continue
        yield each
