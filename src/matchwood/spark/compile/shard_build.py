"""What executors do to compile: a shard of rules becomes a segment file, sent in pieces."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.tree import Call, Node, attributes_in, reads_everything, walk
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.subjects import EVERYTHING, named
from matchwood.language.values import read
from matchwood.match.parts.given_rules import GivenRules
from matchwood.match.parts.rule_checks import lists_in_texts
from matchwood.match.store.rule_input import given_rules
from matchwood.schema import Schema
from matchwood.spark.compile import pieces
from matchwood.spark.compile.rules_version import bucket_hashes
from matchwood.spark.kernel_shipping import use_shipped

# Rejected rules in one batch of rows.
REJECTS = 10_000
# The column of rules in which what they carry is JSON text.
DATA = "data"
# The text of data without any field.
_EMPTY = "{}"
# Why a rule is rejected whose priority does not compare.
NAN_PRIORITY = "the priority is NaN"


class BuildOptions(NamedTuple):
    """What travels with every task, so nothing large."""

    schema: Schema | None
    statistics: str | None  # the name of a shipped file
    enforce: bool = False
    operators: str | None = None  # the import path of a module
    kernels: str | None = None  # the name of a shipped file
    lists: tuple[str, ...] | None = None  # those that rules may name; None: any


class Rejected(NamedTuple):
    """A rule that was rejected, where the mistake is, and why."""

    id: str | None
    rule: str | None
    line: int | None
    column: int | None
    reason: str


def compiling(options: BuildOptions) -> Callable[[Any], Iterator[Any]]:
    """A task that turns the rules of one shard into the pieces of its segment."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return build_shard(batches, options, context.partitionId() if context else 0)

    return run


def build_shard(batches: Iterator[Any], options: BuildOptions, shard: int) -> Iterator[Any]:
    """Batches of rows: the facts about the shard, its rejected rules, the pieces of its segment."""
    import pyarrow as pa

    from matchwood.matcher import Matcher

    use_shipped(options.kernels)
    collected = list(batches)
    matcher = Matcher(
        schema=options.schema,
        enforce=options.enforce,
        operators=options.operators,
        statistics=_statistics(options.statistics),
    )
    matcher.store.build_threads = 1  # other tasks use the other cores
    rejected: list[Rejected] = []
    if collected:
        table = pa.Table.from_batches(collected)
        # In the order of ids, so that a task that is run again builds the same file.
        table, rejected = _acceptable(table.sort_by("id"))
        del collected
        known = options.lists
        names = lists_in_texts(table["rule"].to_pylist()) if known is None else known
        matcher.lists.update(dict.fromkeys(names, ()))  # their values come with the events
        refused = matcher.store.update(_given(table), "collect")
        rejected += _refused(refused, table)
        del table
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        path = Path(folder, "segment")
        matcher.save(path)
        facts = _facts(matcher, path, len(rejected))
        del matcher
        yield pieces.of_facts(facts, shard)
        yield from _reject_rows(rejected, shard)
        yield from pieces.of_file(path, shard)


def _given(table: Any) -> GivenRules:
    """The rules of a table, with their data, which is JSON text already."""
    if DATA not in table.column_names:
        return given_rules(table)
    texts = enumerate(table[DATA].to_pylist())
    data = {row: text for row, text in texts if text and text != _EMPTY}
    return given_rules(table.drop_columns([DATA]))._replace(data=data)


def _statistics(name: str | None) -> Any:
    if name is None:
        return None
    from pyspark import SparkFiles

    with open(SparkFiles.get(name), "rb") as file:
        return pickle.load(file)


def _acceptable(table: Any) -> tuple[Any, list[Rejected]]:
    """The rows that can be rules: with a unique id, a text and a priority that is not NaN."""
    import pyarrow as pa

    ids, rules = table["id"].to_pylist(), table["rule"].to_pylist()
    counts = Counter(ids)
    priorities = table["priority"].to_pylist() if "priority" in table.column_names else None
    good, rejected = [], []
    for row, (rule_id, rule) in enumerate(zip(ids, rules, strict=True)):
        reason = None
        if rule_id is None:
            reason = "the id is null"
        elif counts[rule_id] > 1:
            reason = f"duplicate id: {counts[rule_id]} rules have it"
        elif rule is None:
            reason = "the rule is null"
        elif priorities is not None and priorities[row] != priorities[row]:
            reason = NAN_PRIORITY
        if reason is None:
            good.append(row)
        else:
            shown = None if rule_id is None else str(rule_id)
            rejected.append(Rejected(shown, rule, None, None, reason))
    return (table.take(pa.array(good, pa.int64())) if rejected else table), rejected


def _refused(refused: list[tuple[Any, RuleError]], table: Any) -> list[Rejected]:
    if not refused:
        return []
    wanted = {rule_id for rule_id, _ in refused}
    pairs = zip(table["id"].to_pylist(), table["rule"].to_pylist(), strict=True)
    texts = {rule_id: rule for rule_id, rule in pairs if rule_id in wanted}
    return [
        Rejected(str(rule_id), texts[rule_id], error.line, error.column, error.reason)
        for rule_id, error in refused
    ]


def _reject_rows(rejected: list[Rejected], shard: int) -> Iterator[Any]:
    for low in range(0, len(rejected), REJECTS):
        batch = rejected[low : low + REJECTS]
        ids, rules, lines, columns, reasons = (list(column) for column in zip(*batch, strict=True))
        yield pieces.rows(
            pieces.REJECT, shard, id=ids, rule=rules, line=lines, column=columns, reason=reasons
        )


def _facts(matcher: Any, path: Path, rejected: int) -> dict[str, Any]:
    from matchwood.index.build.gc_pause import collection_paused
    from matchwood.spark.compile.canonical import canonical_texts

    ids: list[Any] = []
    texts: list[str] = []
    families: dict[str, set[str]] = {}
    everything = False
    lists: set[str] = set()
    with collection_paused():
        for part in matcher.store.snapshot.parts:
            ids += part.details.ids.tolist()
            rules, data = list(part.details.rules), part.details.data
            carried = [""] * len(rules) if data is None else data
            lists |= lists_in_texts(rules)
            texts += map(add, canonical_texts(rules), carried)
            _add_attributes(part.segment, families)
            costly = [parse(rule) for rule in part.rules(part.segment.costly)]
            for tree in costly:
                _add_mentioned(tree, families)
            everything = everything or any(
                slot.attribute == EVERYTHING for slot in part.segment.slots
            )
            everything = everything or any(map(reads_everything, (*part.segment.opaque, *costly)))
        buckets = bucket_hashes(zip(ids, texts, strict=True))
    return {
        "rules": len(ids),
        "rejected": rejected,
        "bytes": path.stat().st_size,
        "sha256": pieces.sha256_of(path),
        "attributes": {name: sorted(kinds) for name, kinds in families.items()},
        "everything": everything,
        "lists": sorted(lists),
        "buckets": buckets,
    }


def _add_attributes(segment: Any, families: dict[str, set[str]]) -> None:
    """Add the attributes that rules ask for, with the families of value that they expect."""
    for slot in segment.slots:
        for name in named(slot.attribute):
            kinds = families.setdefault(name, set())
            kinds.update(str(family) for family, values in slot.constants.items() if values)
    for node in segment.opaque:
        _add_mentioned(node, families)


def _add_mentioned(tree: Node, families: dict[str, set[str]]) -> None:
    from matchwood.schema.rule_check import expected_families

    for name in attributes_in(tree):
        families.setdefault(name, set())
    for node in walk(tree):
        for asked, family in expected_families(node):
            for name in named(asked):
                families[name].add(str(family))
        if isinstance(node, Call) and node.name == "contains":
            subject, item = node.arguments
            kind = read(item).family
            if isinstance(subject, Attribute) and kind is not None:
                for name in named(subject.name):
                    families[name].add(str(kind))
