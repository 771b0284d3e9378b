"""Rules for the commands that match: a file that `build` wrote, or tables of rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matchwood.check.findings import ERROR, Finding, of_bad_row, of_error
from matchwood.cli.program import misuse
from matchwood.cli.progress import Watch
from matchwood.language import EventError, RuleError
from matchwood.language.values import is_text
from matchwood.schema import Schema
from matchwood.tables import BadRow, EventRow, RuleRow, TableError, read_events, read_rules

if TYPE_CHECKING:
    from matchwood.engine import Matcher
    from matchwood.index.statistics import Statistics
    from matchwood.operators import Operators

BUILT = ".mw"  # the ending of files that `build` writes
SAMPLE = 10_000  # events that a profile is made of


class Loaded(NamedTuple):
    """A matcher, and the rules that are not in it."""

    matcher: Matcher
    bad: list[Finding]


def load(
    paths: list[Path],
    schema: Schema | None,
    operators: Operators,
    sample: Path | None = None,
    strict: bool = False,
) -> Loaded:
    """The rules of files; bad ones are reported on standard error, with their places.

    With `strict`, bad rules end the command.
    """
    built = [path for path in paths if path.suffix == BUILT]
    if built and len(paths) > 1:
        misuse(f"{built[0]} is built already: give tables of rules, or one {BUILT} file")
    if built:
        return Loaded(_open(built[0], schema, operators), [])
    loaded = _build(paths, schema, operators, _profile(sample))
    for finding in loaded.bad:
        print(finding, file=sys.stderr)
    if loaded.bad and strict:
        print(f"{_many(len(loaded.bad), 'bad rule')}: nothing was done", file=sys.stderr)
        sys.exit(1)
    return loaded


def _open(path: Path, schema: Schema | None, operators: Operators) -> Matcher:
    from matchwood.engine import Matcher

    if not path.is_file():
        raise TableError(f"{path}: no such file")
    try:
        return Matcher.load(path, operators=operators, schema=schema)
    except RuleError as error:
        misuse(f"{path}: {error}")
    except OSError as error:
        misuse(f"{path}: {error.strerror}")


def _profile(sample: Path | None) -> Statistics | None:
    from matchwood.index.statistics import Statistics

    if sample is None:
        return None
    statistics = Statistics()
    rows = (row for row in read_events(sample) if isinstance(row, EventRow))
    for row in islice(rows, SAMPLE):
        try:
            statistics.add(row.event)
        except EventError:  # `check --events` says which; a sample does without
            continue
    return statistics


def _build(
    paths: list[Path],
    schema: Schema | None,
    operators: Operators,
    statistics: Statistics | None,
) -> Loaded:
    from matchwood.engine import Matcher
    from matchwood.match.given import text_of
    from matchwood.match.parts import Details

    bad: list[Finding] = []
    rows: dict[str | int, RuleRow] = {}
    details: list[Details] = []
    with Watch("rules") as watch:
        for row in _rows(paths, rows, bad):
            watch.seen(len(rows))
            try:
                details.append(
                    Details(row.id, text_of(row.rule), frozenset(row.tags), row.priority)
                )
            except RuleError as error:
                bad.append(of_error(row, error))
        matcher = Matcher(statistics=statistics, operators=operators, schema=schema)
        refused = matcher.update_details(
            details, "collect", lambda done, _: watch.seen(done - done % watch.every)
        )
    bad += [of_error(rows[rule_id], error) for rule_id, error in refused]
    order = {str(path): place for place, path in enumerate(paths)}
    bad.sort(key=lambda finding: (order[finding.file], finding.line))
    return Loaded(matcher, bad)


def _rows(
    paths: list[Path], rows: dict[str | int, RuleRow], bad: list[Finding]
) -> Iterator[RuleRow]:
    """The rows whose ids will do: one type for all, and each id once."""
    strings: bool | None = None
    for path in paths:
        for row in read_rules(path):
            if isinstance(row, BadRow):
                bad.append(of_bad_row(row))
                continue
            strings = isinstance(row.id, str) if strings is None else strings
            problem = _problem(row, strings, rows)
            if problem is None:
                rows[row.id] = row
                yield row
            else:
                kind, reason = problem
                bad.append(Finding(ERROR, kind, row.file, row.line, reason, row.id))


def _problem(row: RuleRow, strings: bool, rows: dict[str | int, RuleRow]) -> tuple[str, str] | None:
    if isinstance(row.id, str) != strings:
        kinds = ("strings", "an integer") if strings else ("integers", "a string")
        return "unreadable", f"the ids before it are {kinds[0]}, this one is {kinds[1]}"
    if isinstance(row.id, str) and not is_text(row.id):
        return "unreadable", "an id is valid Unicode"
    if isinstance(row.id, int) and not -(2**63) <= row.id < 2**63:
        return "unreadable", "an integer id has at most 64 bits"
    first = rows.get(row.id)
    if first is not None:
        return "duplicate-id", f"the id is there already, at {first.file}:{first.line}"
    return None


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
