"""Cases: tests of rules, each an event with the ids that must match it and those that must not.

A line of a file of cases is `{"event": {…}, "match": ["vip"], "not": ["teens"], "name": "…"}`.
`name` is optional, and so are `match` and `not`, but one of these two must be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchwood.check.findings import CountProgress, Finding, of_bad_row, of_error
from matchwood.language import parse
from matchwood.language.aliases import Aliases
from matchwood.language.errors import EventError, RuleError
from matchwood.language.events import Event
from matchwood.language.explanation import TRUTH_WORDS, Explanation, explain
from matchwood.language.named_lists import NamedLists
from matchwood.language.tree import Node
from matchwood.schema import Schema
from matchwood.schema.errors import nearest
from matchwood.tables import BadRow, read_rules
from matchwood.tables.formats import json_lines
from matchwood.tables.rule_table import RuleId

_FIELDS = ("event", "match", "not", "name")


@dataclass(frozen=True)
class CaseFailure:
    """A case that failed, or could not be tried."""

    file: str
    line: int
    name: str | None
    reason: str
    id: RuleId | None = None
    explanation: Explanation | None = None

    def __str__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        drawn = "" if self.explanation is None else f"\n{self.explanation}"
        shown = drawn.replace("\n", "\n    ")
        return f"{self.file}:{self.line}: case{name}: {self.reason}{shown}"

    def to_json(self) -> dict[str, object]:
        form: dict[str, object] = {"file": self.file, "line": self.line, "reason": self.reason}
        if self.name is not None:
            form["name"] = self.name
        if self.id is not None:
            form["id"] = self.id
        if self.explanation is not None:
            form["explanation"] = self.explanation.to_json()
        return form


@dataclass
class CaseReport:
    """The results of cases; `bad_rules` are the rules that could not be read."""

    cases: int = 0
    failed: int = 0
    failures: list[CaseFailure] = field(default_factory=list)
    bad_rules: list[Finding] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.failures and not self.bad_rules

    def summary(self) -> str:
        counted = f"{self.cases:,} case{'' if self.cases == 1 else 's'}: {self.failed:,} failed"
        if self.bad_rules:
            noun = "rule" if len(self.bad_rules) == 1 else "rules"
            counted += f"; {len(self.bad_rules):,} {noun} could not be read"
        return counted

    def to_json(self) -> dict[str, object]:
        """The counts and every failure, for programs."""
        return {
            "cases": self.cases,
            "failed": self.failed,
            "failures": [failure.to_json() for failure in self.failures],
            "bad_rules": [finding.to_json() for finding in self.bad_rules],
        }


def run_cases(
    rules: str | Path,
    cases: str | Path,
    schema: Schema | None = None,
    progress: CountProgress = lambda cases: None,
    operators: Mapping[str, Any] | None = None,
    lists: NamedLists | None = None,
    aliases: Aliases | None = None,
) -> CaseReport:
    """Try every case of a file on the rules of another file.

    The rules may call `operators` and name `lists`; events may have the names of `aliases`.

    >>> from pathlib import Path
    >>> _ = Path("rules.csv").write_text("id,rule\\nadults,age >= 18\\n")
    >>> _ = Path("cases.jsonl").write_text('{"event": {"age": 17}, "match": ["adults"]}\\n')
    >>> print(run_cases("rules.csv", "cases.jsonl").failures[0])
    cases.jsonl:1: case: rule 'adults' should match and is false
        false      age >= 18  age: 17
    """
    report = CaseReport()
    trees: dict[RuleId, Node] = {}
    for row in read_rules(rules):
        try:
            if isinstance(row, BadRow):
                report.bad_rules.append(of_bad_row(row))
            elif row.id in trees:
                twice = BadRow(row.file, row.line, f"rule {row.id!r}: the id is there already")
                report.bad_rules.append(of_bad_row(twice))
            else:
                trees[row.id] = parse(row.rule)
        except RuleError as error:
            assert not isinstance(row, BadRow)
            report.bad_rules.append(of_error(row, error))
    for line in json_lines(cases):
        report.cases += 1
        if isinstance(line, BadRow):
            failures = [CaseFailure(line.file, line.line, None, line.reason)]
        else:
            failures = list(_try(str(cases), *line, trees, schema, operators, lists, aliases))
        report.failed += bool(failures)
        report.failures.extend(failures)
        progress(report.cases)
    return report


def _try(
    file: str,
    line: int,
    form: object,
    trees: dict[RuleId, Node],
    schema: Schema | None,
    operators: Mapping[str, Any] | None,
    lists: NamedLists | None,
    aliases: Aliases | None,
) -> Iterator[CaseFailure]:
    wrong = _wrong_form(form)
    if wrong:
        yield CaseFailure(file, line, None, wrong)
        return
    assert isinstance(form, dict)
    name = form.get("name")
    try:
        event = Event(form["event"], aliases)
    except EventError as error:
        yield CaseFailure(file, line, name, f"the event cannot be read: {error}")
        return
    for wanted, ids in ((True, form.get("match", [])), (False, form.get("not", []))):
        for identity in ids:
            tree = trees.get(identity)
            if tree is None:
                near = nearest(str(identity), map(str, trees))
                reason = f"no rule that can be read has the id {identity!r}{near}"
                yield CaseFailure(file, line, name, reason, identity)
                continue
            try:
                explanation = explain(tree, event, operators=operators, schema=schema, lists=lists)
            except (RuleError, EventError) as error:
                yield CaseFailure(file, line, name, f"rule {identity!r}: {error}", identity)
                continue
            if (explanation.truth is True) is not wanted:
                should = "should match" if wanted else "should not match"
                reason = f"rule {identity!r} {should} and is {TRUTH_WORDS[explanation.truth]}"
                yield CaseFailure(file, line, name, reason, identity, explanation)


def _wrong_form(form: object) -> str:
    """What is wrong with the form of a case; '' if nothing is."""
    if not isinstance(form, dict):
        return f"a case is an object, found {type(form).__name__}"
    for key in form:
        if key not in _FIELDS:
            return f"expected {', '.join(_FIELDS)}, found {key!r}"
    if not isinstance(form.get("event"), dict):
        return "expected an object as 'event'"
    if not isinstance(form.get("name", ""), str):
        return "expected a string as 'name'"
    if "match" not in form and "not" not in form:
        return "expected ids as 'match' or 'not'"
    for key in ("match", "not"):
        ids = form.get(key, [])
        if not isinstance(ids, list) or not all(isinstance(i, str | int) for i in ids):
            return f"expected a list of ids as {key!r}"
    return ""
