"""Rules, schemas and operators for commands: from tables of rules, or a file that `build` wrote."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from matchwood.check.findings import ERROR, Finding, of_bad_row, of_error
from matchwood.cli.entry_point import import_from_here, misuse
from matchwood.cli.progress import ProgressMeter
from matchwood.language import EventError, RuleError
from matchwood.language.aliases import Aliases, aliases_of
from matchwood.language.named_lists import NamedList
from matchwood.language.values import is_text
from matchwood.schema import Schema
from matchwood.tables import BadRow, EventRow, RuleRow, TableError, read_events, read_rules

if TYPE_CHECKING:
    from matchwood.index.build.statistics import Statistics
    from matchwood.matcher import Matcher
    from matchwood.operators import Operators

# The ending of files that `build` writes.
BUILT = ".mw"

# Events of a sample from which statistics are made.
SAMPLE = 10_000


class Loaded(NamedTuple):
    """A matcher, and findings about the rules that were left out."""

    matcher: Matcher
    bad: list[Finding]


def load(
    paths: list[Path],
    schema: Schema | None,
    operators: Operators,
    sample: Path | None = None,
    strict: bool = False,
    lists: Mapping[str, NamedList] | None = None,
    aliases: Aliases | None = None,
) -> Loaded:
    """A matcher of the rules in some files; bad rules are reported on standard error.

    With `strict`, a bad rule ends the command.
    """
    built = [path for path in paths if path.suffix == BUILT]
    if built and len(paths) > 1:
        misuse(f"{built[0]} is built already: give tables of rules, or one {BUILT} file")
    if built:
        return Loaded(_open(built[0], schema, operators, lists, aliases), [])
    loaded = _build(paths, schema, operators, _profile(sample), lists, aliases)
    for finding in loaded.bad:
        print(finding, file=sys.stderr)
    if loaded.bad and strict:
        print(f"{_many(len(loaded.bad), 'bad rule')}: nothing was done", file=sys.stderr)
        sys.exit(1)
    return loaded


def _open(
    path: Path,
    schema: Schema | None,
    operators: Operators,
    lists: Mapping[str, NamedList] | None,
    aliases: Aliases | None,
) -> Matcher:
    from matchwood.matcher import Matcher

    if not path.is_file():
        raise TableError(f"{path}: no such file")
    try:
        return Matcher.load(path, operators=operators, schema=schema, lists=lists, aliases=aliases)
    except RuleError as error:
        misuse(f"{path}: {error}")
    except OSError as error:
        misuse(f"{path}: {error.strerror}")


def _profile(sample: Path | None) -> Statistics | None:
    from matchwood.index.build.statistics import Statistics

    if sample is None:
        return None
    statistics = Statistics()
    rows = (row for row in read_events(sample) if isinstance(row, EventRow))
    for row in islice(rows, SAMPLE):
        try:
            statistics.add(row.event)
        except EventError:  # left out here; `check --events` reports it
            continue
    return statistics


def _build(
    paths: list[Path],
    schema: Schema | None,
    operators: Operators,
    statistics: Statistics | None,
    lists: Mapping[str, NamedList] | None,
    aliases: Aliases | None,
) -> Loaded:
    from matchwood.match.parts.rule_columns import RuleDetails
    from matchwood.match.store.rule_input import text_of
    from matchwood.matcher import Matcher

    bad: list[Finding] = []
    rows: dict[str | int, RuleRow] = {}
    details: list[RuleDetails] = []
    with ProgressMeter("rules") as meter:
        for row in _rows(paths, rows, bad):
            meter.seen(len(rows))
            try:
                text, tags = text_of(row.rule), frozenset(row.tags)
                details.append(RuleDetails(row.id, text, tags, row.priority, row.data))
            except RuleError as error:
                bad.append(of_error(row, error))
        matcher = Matcher(
            statistics=statistics,
            operators=operators,
            schema=schema,
            lists=lists,
            aliases=aliases,
        )
        refused = matcher.store.update_texts(
            details, "collect", lambda done, _: meter.seen(done - done % meter.every)
        )
    bad += [of_error(rows[rule_id], error) for rule_id, error in refused]
    order = {str(path): number for number, path in enumerate(paths)}
    bad.sort(key=lambda finding: (order[finding.file], finding.line))
    return Loaded(matcher, bad)


def _rows(
    paths: list[Path], rows: dict[str | int, RuleRow], bad: list[Finding]
) -> Iterator[RuleRow]:
    """The rows with usable ids: all of one type, and no id twice."""
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
        return "unreadable", "the id is not valid Unicode"
    if isinstance(row.id, int) and not -(2**63) <= row.id < 2**63:
        return "unreadable", "an integer id has at most 64 bits"
    first = rows.get(row.id)
    if first is not None:
        return "duplicate-id", f"the id is there already, at {first.file}:{first.line}"
    return None


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def read_schema(path: Path | None) -> Schema | None:
    """The schema in a file, None without a file."""
    if path is None:
        return None
    if not path.is_file():
        misuse(f"{path}: no such file")
    return Schema.load(path)


def read_lists(arguments: list[str] | None) -> dict[str, NamedList]:
    """The lists that rules name, each given as NAME=FILE."""
    lists: dict[str, NamedList] = {}
    for argument in arguments or ():
        name, equals, file = argument.partition("=")
        if not equals or not name or not file:
            misuse(f"--list: expected NAME=FILE, found {argument!r}")
        if name in lists:
            misuse(f"--list: {name!r} is given twice")
        try:
            lists[name] = NamedList(_values(Path(file)))
        except RuleError as error:
            misuse(f"--list: {file}: {error}")
    return lists


def read_aliases(path: Path | None) -> Aliases | None:
    """The other names of attributes in a file, None without a file."""
    if path is None:
        return None
    if not path.is_file():
        misuse(f"{path}: no such file")
    try:
        text = path.read_text(encoding="utf-8")
        form = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        return aliases_of(form)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        misuse(f"--aliases: {path}: {error}")


def _values(path: Path) -> Iterator[object]:
    """A string per line of a text file, without empty lines; a JSON value per line of .jsonl."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text:
                    continue
                try:
                    yield json.loads(text) if path.suffix == ".jsonl" else text
                except (ValueError, RecursionError) as error:
                    misuse(f"{path}:{number}: this is not JSON: {error}")
    except FileNotFoundError:
        misuse(f"{path}: no such file")
    except (OSError, UnicodeDecodeError) as error:
        misuse(f"{path}: {error}")


def read_operators(module: str | None) -> Operators:
    """The operators of a module, and those that are always available."""
    from matchwood.operators.geo import available
    from matchwood.operators.registry import load

    if module is None:
        return available(None)
    import_from_here()
    try:
        return available(load(module))
    except (ModuleNotFoundError, ValueError) as error:
        misuse(str(error))
    except Exception as error:  # whatever the module does while it is imported
        misuse(f"operators: {module!r} cannot be imported: {type(error).__name__}: {error}")
