"""Check tables of rules: every bad rule with its line, and warnings about silent mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchwood.check.dialects import DIALECTS, Dialect
from matchwood.check.findings import (
    ERROR,
    WARNING,
    CountProgress,
    Finding,
    of_bad_row,
    of_error,
    warn,
)
from matchwood.check.sample import Sample
from matchwood.check.upper_case import never_lower
from matchwood.language import parse
from matchwood.language.aliases import Aliases
from matchwood.language.errors import RuleError
from matchwood.language.joins import joined
from matchwood.language.named_lists import NamedLists, check_lists
from matchwood.language.tree import Call, Node, attributes_in
from matchwood.language.tree.calls import BUILT_IN, check_operator
from matchwood.language.tree.elements import walk_inside
from matchwood.rewrite import always_true, fingerprint, meaning, never_true
from matchwood.schema import Schema
from matchwood.schema.rule_check import REFUSED
from matchwood.tables import BadRow, RuleRow, read_events, read_rules
from matchwood.tables.rule_table import RuleId


@dataclass
class CheckReport:
    """What was found in tables of rules."""

    rules: int = 0
    findings: list[Finding] = field(default_factory=list)
    events: int | None = None  # how many events of the sample were used
    events_capped: bool = False  # whether the sample had more

    @property
    def errors(self) -> int:
        return sum(finding.level == ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding.level == WARNING for finding in self.findings)

    def summary(self) -> str:
        """One line that says how much was checked and found."""
        counted = f"checked {_many(self.rules, 'rule')}"
        if self.events is not None:
            first = "the first " if self.events_capped else ""
            counted += f" against {first}{_many(self.events, 'event')}"
        return f"{counted}: {_many(self.errors, 'error')}, {_many(self.warnings, 'warning')}"

    def to_json(self) -> dict[str, object]:
        """The counts and every finding, for programs."""
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
    lists: NamedLists | None = None,
    aliases: Aliases | None = None,
    progress: CountProgress = lambda rules: None,
) -> CheckReport:
    """Everything that is wrong, or looks wrong, in tables of rules.

    `ignore` names kinds of warnings to leave out; `progress` is called with the number of rules
    read so far. With `operators`, a rule that calls any other operator is an error; operators are
    never called. With `lists`, a rule that names any other list is an error. The events of
    the sample may have the names of `aliases`.

    >>> from pathlib import Path
    >>> _ = Path("rules.csv").write_text("id,rule\\na,age >=\\nb,age < 1 and age > 5\\n")
    >>> report = check_rules(["rules.csv"])
    >>> print(report.summary())
    checked 2 rules: 1 error, 1 warning
    >>> print(report.findings[1])
    rules.csv:3: warning: rule 'b': never true of single values
    """
    checker = _Checker(
        sample=None if events is None else Sample.of(read_events(events), aliases=aliases),
        schema=schema,
        dialect=None if dialect is None else DIALECTS[dialect],
        operators=operators,
        lists=lists,
    )
    file_order: dict[str, int] = {}
    for number, path in enumerate(paths):
        file_order.setdefault(str(path), number)
        for row in read_rules(path):
            checker.add(row)
            progress(checker.report.rules)
    checker.finish()
    report = checker.report
    report.findings = [f for f in report.findings if f.level == ERROR or f.kind not in ignore]
    # Findings about the whole set came last; sorted, they are next to the others of their rule.
    report.findings.sort(key=lambda f: (file_order.get(f.file, -1), f.line))
    return report


@dataclass
class _Checker:
    sample: Sample | None
    schema: Schema | None
    dialect: Dialect | None
    operators: Mapping[str, Any] | None = None
    lists: NamedLists | None = None
    report: CheckReport = field(default_factory=CheckReport)
    rows: dict[RuleId, RuleRow] = field(default_factory=dict)
    by_fingerprint: dict[int, list[RuleRow]] = field(default_factory=dict)
    spellings: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sample is not None:
            self.report.events = len(self.sample.events)
            self.report.events_capped = self.sample.capped
            self.report.findings.extend(map(of_bad_row, self.sample.bad))

    def add(self, row: RuleRow | BadRow) -> None:
        """Check one row, without what depends on other rows, which `finish` checks."""
        self.report.rules += 1
        findings = self.report.findings
        if isinstance(row, BadRow):
            findings.append(of_bad_row(row))
            return
        first = self.rows.setdefault(row.id, row)
        if first is not row:
            reason = f"the id is there already, at {first.file}:{first.line}"
            findings.append(Finding(ERROR, "duplicate-id", row.file, row.line, reason, row.id))
        if self.dialect is not None and isinstance(row.rule, str):
            for hint in self.dialect.hints(row.rule):
                findings.append(of_error(row, hint, "dialect", WARNING))
        try:
            tree = parse(row.rule)
            joined(tree, row.rule if isinstance(row.rule, str) else None)
            if self.operators is not None:
                _check_calls(tree, self.operators)
            if self.lists is not None:
                check_lists(tree, self.lists)
        except RuleError as error:
            findings.append(of_error(row, error))
            return
        findings.extend(self.of_tree(row, tree))
        self.by_fingerprint.setdefault(fingerprint(tree), []).append(row)
        if self.dialect is not None:
            for name in attributes_in(tree):
                self.spellings.setdefault(name.lower(), Counter())[name] += 1

    def of_tree(self, row: RuleRow, tree: Node) -> Iterator[Finding]:
        """Findings about one rule by itself."""
        if never_true(tree):
            yield warn(row, "never-true", "never true of single values")
        elif always_true(tree):
            yield warn(row, "always-true", "true of every event with single values")
        for reason in never_lower(tree):
            yield warn(row, "upper-case", reason)
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
            if self.sample.never_defined(tree, self.schema, self.lists):
                events = _many(len(self.sample.events), "event")
                yield warn(row, "undefined", f"undefined for each of {events} of the sample")

    def finish(self) -> None:
        """Add the warnings that depend on all rules together."""
        for rows in self.by_fingerprint.values():
            if len(rows) > 1:
                self.report.findings.extend(_equals(rows))
        if self.dialect is not None and self.dialect.folds_names:
            self.report.findings.extend(self.other_spellings())

    def other_spellings(self) -> Iterator[Finding]:
        """Names that differ only in case, if they are the same name in the dialect."""
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
    for node, _ in walk_inside(tree):
        if isinstance(node, Call) and node.name not in BUILT_IN:
            check_operator(node.name, operators)
            check = getattr(operators[node.name], "check", None)
            if check is not None:
                check(node)


def _equals(rows: list[RuleRow]) -> Iterator[Finding]:
    """Of rules with the same fingerprint, those that have the meaning of an earlier one."""
    first: dict[bytes, RuleRow] = {}
    keys: dict[Node, bytes] = {}
    for row in rows:
        tree = parse(row.rule)  # parsed again, as the trees of all rules would take too much memory
        key = keys.get(tree)
        if key is None:
            key = keys[tree] = meaning(tree)
        other = first.setdefault(key, row)
        if other is not row:
            reason = f"equal in meaning to rule {other.id!r}, at {other.file}:{other.line}"
            yield warn(row, "equal", reason, other.id)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
