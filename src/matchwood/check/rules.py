"""Check tables of rules: every bad rule with its place, and warnings of the silent mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchwood.check.dialects import DIALECTS, Dialect
from matchwood.check.findings import ERROR, WARNING, Finding, of_bad_row, of_error, warn
from matchwood.check.sample import Sample
from matchwood.language.calls import BUILT_IN, check_operator
from matchwood.language.errors import RuleError
from matchwood.language.text import parse
from matchwood.language.tree import Call, Node, attributes_in, walk
from matchwood.language.variables import joined
from matchwood.normalise import always_true, fingerprint, meaning, never_true
from matchwood.schema import Schema
from matchwood.schema.rules import REFUSED
from matchwood.tables import BadRow, RuleRow, read_events, read_rules
from matchwood.tables.rules import RuleId

Progress = Callable[[int], None]  # told how many rules have been read


@dataclass
class Report:
    """What was found in tables of rules."""

    rules: int = 0
    findings: list[Finding] = field(default_factory=list)
    events: int | None = None  # of the sample that were used
    events_capped: bool = False

    @property
    def errors(self) -> int:
        return sum(finding.level == ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.level == WARNING for finding in self.findings)

    def summary(self) -> str:
        """One line: how much was checked and found."""
        counted = f"checked {_many(self.rules, 'rule')}"
        if self.events is not None:
            first = "the first " if self.events_capped else ""
            counted += f" against {first}{_many(self.events, 'event')}"
        return f"{counted}: {_many(self.errors, 'error')}, {_many(self.warnings, 'warning')}"

    def to_json(self) -> dict[str, object]:
        """For machines: the counts, and every finding."""
        return {
            "rules": self.rules,
            "events": self.events,
            "errors": self.errors,
            "warnings": self.warnings,
            "findings": [finding.to_json() for finding in self.findings],
        }


def check_rules(
    paths: Iterable[str | Path],
    *,
    events: str | Path | None = None,
    schema: Schema | None = None,
    dialect: str | None = None,
    ignore: Collection[str] = (),
    operators: Mapping[str, Any] | None = None,
    progress: Progress = lambda rules: None,
) -> Report:
    """Everything that is wrong, or looks wrong, in tables of rules.

    `ignore` names kinds of warnings to leave out, `progress` is told how many rules were read.
    With `operators`, a rule that calls another is an error; none of them is called.

    >>> from pathlib import Path
    >>> _ = Path("rules.csv").write_text("id,rule\\na,age >=\\nb,age < 1 and age > 5\\n")
    >>> report = check_rules(["rules.csv"])
    >>> print(report.summary())
    checked 2 rules: 1 error, 1 warning
    >>> print(report.findings[1])
    rules.csv:3: warning: rule 'b': never true of single values
    """
    checker = _Checker(
        sample=None if events is None else Sample.of(read_events(events)),
        schema=schema,
        dialect=None if dialect is None else DIALECTS[dialect],
        operators=operators,
    )
    places: dict[str, int] = {}
    for place, path in enumerate(paths):
        places.setdefault(str(path), place)
        for row in read_rules(path):
            checker.add(row)
            progress(checker.report.rules)
    checker.finish()
    report = checker.report
    report.findings = [f for f in report.findings if f.level == ERROR or f.kind not in ignore]
    # findings about the whole set came last: by place, they stand beside the others of a rule
    report.findings.sort(key=lambda f: (places.get(f.file, -1), f.line))
    return report


@dataclass
class _Checker:
    sample: Sample | None
    schema: Schema | None
    dialect: Dialect | None
    operators: Mapping[str, Any] | None = None
    report: Report = field(default_factory=Report)
    places: dict[RuleId, RuleRow] = field(default_factory=dict)
    by_fingerprint: dict[int, list[RuleRow]] = field(default_factory=dict)
    spellings: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sample is not None:
            self.report.events = len(self.sample.events)
            self.report.events_capped = self.sample.capped
            self.report.findings.extend(map(of_bad_row, self.sample.bad))

    def add(self, row: RuleRow | BadRow) -> None:
        """Check one row; what depends on the others waits for `finish`."""
        self.report.rules += 1
        found = self.report.findings
        if isinstance(row, BadRow):
            found.append(of_bad_row(row))
            return
        first = self.places.setdefault(row.id, row)
        if first is not row:
            reason = f"the id is there already, at {first.file}:{first.line}"
            found.append(Finding(ERROR, "duplicate-id", row.file, row.line, reason, row.id))
        if self.dialect is not None and isinstance(row.rule, str):
            for hint in self.dialect.hints(row.rule):
                found.append(of_error(row, hint, "dialect", WARNING))
        try:
            tree = parse(row.rule)
            joined(tree, row.rule if isinstance(row.rule, str) else None)
            if self.operators is not None:
                _check_calls(tree, self.operators)
        except RuleError as error:
            found.append(of_error(row, error))
            return
        found.extend(self.of_tree(row, tree))
        self.by_fingerprint.setdefault(fingerprint(tree), []).append(row)
        if self.dialect is not None:
            for name in attributes_in(tree):
                self.spellings.setdefault(name.lower(), Counter())[name] += 1

    def of_tree(self, row: RuleRow, tree: Node) -> Iterator[Finding]:
        """Warnings about one rule alone."""
        if never_true(tree):
            yield warn(row, "never-true", "never true of single values")
        elif always_true(tree):
            yield warn(row, "always-true", "true of every event with single values")
        casts = "" if self.dialect is None else f" ({self.dialect.casts})"
        if self.schema is not None:
            for problem in self.schema.check(tree):
                reason = problem.reason + (casts if problem.kind == "family" else "")
                level = ERROR if problem.kind in REFUSED else WARNING
                yield Finding(level, problem.kind, row.file, row.line, reason, row.id)
        if self.sample is not None and self.sample.events:
            for _, reason in self.sample.unknown(tree):
                yield warn(row, "unknown-attribute", reason)
            for _, _, reason in self.sample.misfits(tree):
                yield warn(row, "family", reason + casts)
            if self.sample.never_defined(tree, self.schema):
                events = _many(len(self.sample.events), "event")
                yield warn(row, "undefined", f"undefined for each of {events} of the sample")

    def finish(self) -> None:
        """Warnings that take all the rules together."""
        for rows in self.by_fingerprint.values():
            if len(rows) > 1:
                self.report.findings.extend(_equals(rows))
        if self.dialect is not None and self.dialect.folds_names:
            self.report.findings.extend(self.other_spellings())

    def other_spellings(self) -> Iterator[Finding]:
        """Names that differ only in case, where the dialect takes them for one."""
        mixed = {key: names for key, names in self.spellings.items() if len(names) > 1}
        if not mixed:
            return
        for rows in self.by_fingerprint.values():
            for row in rows:
                for name in sorted(attributes_in(parse(row.rule))):
                    names = mixed.get(name.lower())
                    usual = names.most_common(1)[0][0] if names else name
                    if name != usual:
                        reason = (
                            f"names are case-sensitive: {name!r} is not the {usual!r} of others"
                        )
                        yield warn(row, "dialect", reason)


def _check_calls(tree: Node, operators: Mapping[str, Any]) -> None:
    for node in walk(tree):
        if isinstance(node, Call) and node.name not in BUILT_IN:
            check_operator(node.name, operators)
            check = getattr(operators[node.name], "check", None)
            if check is not None:
                check(node)


def _equals(rows: list[RuleRow]) -> Iterator[Finding]:
    """Of rules with one fingerprint, those that mean what an earlier one means."""
    first: dict[bytes, RuleRow] = {}
    keys: dict[Node, bytes] = {}
    for row in rows:
        tree = parse(row.rule)  # again: the trees of all rules would be too many to keep
        key = keys.get(tree)
        if key is None:
            key = keys[tree] = meaning(tree)
        other = first.setdefault(key, row)
        if other is not row:
            reason = f"equal in meaning to rule {other.id!r}, at {other.file}:{other.line}"
            yield warn(row, "equal", reason, other.id)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
