"""What executors do to compile: a shard of rules becomes a segment file, sent on in pieces."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.language.errors import RuleError
from matchwood.language.text import parse
from matchwood.language.tree import Node, attributes_in, walk
from matchwood.schema import Schema
from matchwood.spark import pieces
from matchwood.spark.version import bucket_hashes

REJECTS = 10_000  # rows in a batch


class Options(NamedTuple):
    """What goes along with the task: nothing large."""

    schema: Schema | None
    statistics: str | None  # the name of a file that was shipped
    enforce: bool = False
    operators: str | None = None  # the path of a module


class Rejected(NamedTuple):
    """A rule that was refused, and where."""

    id: str | None
    rule: str | None
    line: int | None
    column: int | None
    reason: str


def compiling(options: Options) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of a task: the rules of one shard in, the pieces of its segment out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        return build_shard(batches, options, context.partitionId() if context else 0)

    return run


def build_shard(batches: Iterator[Any], options: Options, shard: int) -> Iterator[Any]:
    """A batch a piece: of the segment, of what was refused, of what is known of the shard."""
    import pyarrow as pa

    from matchwood.engine import Matcher

    given = list(batches)
    matcher = Matcher(
        schema=options.schema,
        enforce=options.enforce,
        operators=options.operators,
        statistics=_statistics(options.statistics),
    )
    rejected: list[Rejected] = []
    if given:
        table = pa.Table.from_batches(given)
        # in the order of ids, so that a task that is run again builds the same file
        table, rejected = _acceptable(table.sort_by("id"))
        del given
        refused = matcher.update(table, errors="collect")
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


def _statistics(name: str | None) -> Any:
    if name is None:
        return None
    from pyspark import SparkFiles

    with open(SparkFiles.get(name), "rb") as file:
        return pickle.load(file)


def _acceptable(table: Any) -> tuple[Any, list[Rejected]]:
    """The rows that can be rules: with an id of their own, a rule and a priority that compares."""
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
            reason = "the priority is NaN"
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
        some = rejected[low : low + REJECTS]
        ids, rules, lines, columns, reasons = (list(column) for column in zip(*some, strict=True))
        yield pieces.rows(
            pieces.REJECT, shard, id=ids, rule=rules, line=lines, column=columns, reason=reasons
        )


def _facts(matcher: Any, path: Path, rejected: int) -> dict[str, Any]:
    from matchwood.index.build import no_collection
    from matchwood.spark.canonical import canonical_texts

    ids: list[Any] = []
    texts: list[str] = []
    families: dict[str, set[str]] = {}
    with no_collection():
        for part in matcher._snapshot.parts:
            ids += part.details.ids.tolist()
            texts += canonical_texts(list(part.details.rules))
            _add_attributes(part.segment, families)
            for rule in part.rules(part.segment.costly):
                _add_mentioned(parse(rule), families)
        buckets = bucket_hashes(zip(ids, texts, strict=True))
    return {
        "rules": len(ids),
        "rejected": rejected,
        "bytes": path.stat().st_size,
        "sha256": pieces.sha256_of(path),
        "attributes": {name: sorted(found) for name, found in families.items()},
        "buckets": buckets,
    }


def _add_attributes(segment: Any, families: dict[str, set[str]]) -> None:
    """The attributes that rules ask for, each with the families of value that they expect."""
    for slot in segment.slots:
        found = families.setdefault(slot.attribute, set())
        found.update(str(family) for family, values in slot.constants.items() if values)
    for node in segment.opaque:
        _add_mentioned(node, families)


def _add_mentioned(tree: Node, families: dict[str, set[str]]) -> None:
    from matchwood.schema.rules import expected_families

    for name in attributes_in(tree):
        families.setdefault(name, set())
    for node in walk(tree):
        for name, family in expected_families(node):
            families[name].add(str(family))
