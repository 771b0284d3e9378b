"""`match_events`: a DataFrame of events, batch or streaming, to a DataFrame of matches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from matchwood.language.aliases import Aliases, AliasForm, aliases_of
from matchwood.match.batch.gpu.card import chosen_device
from matchwood.schema import Schema
from matchwood.spark.compile.compiled_rules import CompiledRules
from matchwood.spark.compile.operator_modules import check_operators
from matchwood.spark.events.event_attributes import Reading, column, prepare
from matchwood.spark.executors import check_executors
from matchwood.spark.kernel_shipping import ship_kernels
from matchwood.spark.match.devices_used import devices_used
from matchwood.spark.match.event_files import event_files
from matchwood.spark.match.given_lists import ship_lists
from matchwood.spark.match.match_files import FACTS, writing
from matchwood.spark.match.plan import EVENTS, FORMER_OUTPUTS, REPLICATED, ROWS, SHARDED, Plan
from matchwood.spark.match.tasks import matching, rejecting
from matchwood.spark.session import session_of

# Bytes of segments that a worker may map at once.
MEMORY = 2 << 30
# The types of columns about rules.
RULE_COLUMNS: dict[str, DataType] = {
    "rule": StringType(),
    "tags": ArrayType(StringType()),
    "priority": DoubleType(),
    "data": StringType(),
}


def match_events(
    events: DataFrame,
    compiled: CompiledRules,
    *,
    keep: Sequence[str],
    attributes: str | None = None,
    output: str = ROWS,
    tags: Iterable[str] | None = None,
    limit: int | None = None,
    layout: str | None = None,
    memory: int = MEMORY,
    rejects: str | None = None,
    enforce: bool = False,
    aliases: Aliases | AliasForm | None = None,
    rule_columns: Sequence[str] = (),
    lists: Mapping[str, Any] | None = None,
    device: str | None = None,
) -> DataFrame:
    """Which rules are true of which events: the columns in `keep`, `rule_id`, `rules_version`.

    There is one row per match or, with output="events", one row per event, which has `rule_ids`.
    `attributes` names a column that holds the event (a map, JSON as a string or as bytes, or a
    variant); without it, the columns are the attributes. `tags` and `limit` are those of
    `Matcher.match`.

    An event that cannot be read has no matches; `rejected_events` says which ones and why. To get
    them in the same pass, name one more column with `rejects`: each such event has a row without a
    rule and with the reason in that column, which is null in all other rows.

    With `enforce`, events are held to the schema of the compiled rules: an event that breaks R1, R2
    or R3 is rejected like one that cannot be read. All columns that can be attributes are then
    read.

    `rule_columns` are columns about each rule to add to its matches, so that nobody joins them:
    `rule` (its text), `tags`, `priority`, and `data` (JSON of the columns that were compiled). With
    output="events", each of them is an array in the order of `rule_ids`.

    `aliases` are other names under which events have an attribute, as for `Matcher`.

    `lists` are the values of each list that rules name with `in list`: a DataFrame of one column,
    or any values of Python. They are read now and sent to the executors; the compiled rules stay as
    they are when lists change.

    `layout` is "replicated" (a worker opens all segments) or "sharded" (one at a time). By default
    it is replicated if the segments take at most `memory` bytes.

    `device` is that of `Matcher.match_batch`. By default, a task that Spark gave a GPU uses it.
    """
    chosen_device(device)
    keep = _names(keep, "keep")
    output = FORMER_OUTPUTS.get(output, output)
    _check_arguments(keep, output, limit, layout, rejects)
    facts = _rule_columns(rule_columns, keep, rejects)
    if layout is None:
        layout = layout_of(compiled, memory)
    spelled = aliases_of(aliases)
    frame, reading = _prepared(events, compiled, keep, attributes, enforce, spelled)
    plan = _plan(events, compiled, reading, output, layout, rejects is not None, tags, limit)
    shipped = ship_lists(session_of(events), compiled, lists)
    plan = plan._replace(rule_columns=facts, lists=shipped, device=device)
    return _matched(events, frame, plan, compiled.version, keep, rejects)


def layout_of(compiled: CompiledRules, memory: int = MEMORY) -> str:
    """The layout for rules of a size."""
    return REPLICATED if compiled.bytes <= memory else SHARDED


def match_into_files(
    events: DataFrame,
    compiled: CompiledRules,
    folder: str,
    *,
    keep: Sequence[str],
    attributes: str | None,
    output: str,
    tags: Iterable[str] | None,
    limit: int | None,
    enforce: bool,
    aliases: Aliases | AliasForm | None,
    rule_columns: Sequence[str],
    lists: Mapping[str, Any] | None,
    device: str | None,
    only_files: bool,
) -> DataFrame:
    """Matches that workers write to files in a folder of theirs.

    The result has a row with `facts` per task, and one with a `reason` per event that cannot be
    read; see `match_files`. If `events` are `only_files`, nothing but files of Parquet, workers
    read them too, where they see what Spark would.
    """
    spelled = aliases_of(aliases)
    frame, reading = _prepared(events, compiled, keep, attributes, enforce, spelled)
    plan = _plan(events, compiled, reading, output, REPLICATED, True, tags, limit)
    facts = _rule_columns(rule_columns, keep, None)
    shipped = ship_lists(session_of(events), compiled, lists)
    plan = plan._replace(rule_columns=facts, lists=shipped, device=device)
    schema = _schema(events, keep, plan.id_type, output, True, plan.rule_columns)
    schema = schema.add(FACTS, BinaryType())
    files = None
    if only_files:
        cores = session_of(events).sparkContext.defaultParallelism
        files = event_files(events, frame, attributes, cores)
    given = frame if files is None else files.frame(session_of(events))
    written = given.mapInArrow(writing(plan, folder, compiled.version, files), schema)
    return written.select(*(column(name) for name in keep), "reason", FACTS)


def columns_of_matches(
    events: DataFrame, keep: Sequence[str], id_type: str, output: str, rule_columns: Sequence[str]
) -> StructType:
    """The columns of matches, as `match_events` promises them."""
    schema = _schema(events, keep, id_type, output, False, rule_columns)
    return schema.add("rules_version", StringType())


def _plan(
    events: DataFrame,
    compiled: CompiledRules,
    reading: Reading,
    output: str,
    layout: str,
    rejects: bool,
    tags: Iterable[str] | None,
    limit: int | None,
) -> Plan:
    return Plan(
        compiled.ship(session_of(events)),
        compiled.id_type,
        reading,
        output,
        layout,
        rejects,
        None if tags is None else _names(tags, "tags"),
        limit,
        compiled.schema,
        compiled.operators,
        ship_kernels(session_of(events)),
        compiled.replaced,
        devices_used=devices_used(session_of(events)),
    )


def _prepared(
    events: DataFrame,
    compiled: CompiledRules,
    keep: Sequence[str],
    attributes: str | None,
    enforce: bool,
    aliases: Aliases | None,
) -> tuple[DataFrame, Reading]:
    """The columns of events that the rules need, and how a worker reads them."""
    check_executors(session_of(events))
    check_operators(session_of(events), compiled.operators)
    if enforce and compiled.schema is None:
        raise ValueError("enforce: the rules were compiled without a schema to hold events to")
    enforced = compiled.schema if enforce else None
    return prepare(events, attributes, keep, compiled.needs, enforced, aliases)


def _matched(
    events: DataFrame,
    frame: DataFrame,
    plan: Plan,
    rules_version: str,
    keep: Sequence[str],
    rejects: str | None,
) -> DataFrame:
    """The matches of prepared events, with the columns that `match_events` promises."""
    output = plan.output
    schema = _schema(events, keep, plan.id_type, output, rejects is not None, plan.rule_columns)
    matched = frame.mapInArrow(matching(plan), schema)
    rule = "rule_id" if output == ROWS else "rule_ids"
    version = F.lit(rules_version).alias("rules_version")
    reason = [] if rejects is None else [F.col("reason").alias(rejects)]
    about = [F.col(name) for name in plan.rule_columns]
    kept = [column(name) for name in keep]
    return matched.select(*kept, F.col(rule), *about, version, *reason)


def rejected_events(
    events: DataFrame,
    *,
    keep: Sequence[str],
    attributes: str | None = None,
    schema: Schema | None = None,
    aliases: Aliases | AliasForm | None = None,
) -> DataFrame:
    """The events that cannot be read: the columns in `keep`, and `reason`.

    With a `schema`, events that break it are among them; `aliases` are other names of attributes.
    """
    keep = _names(keep, "keep")
    if "reason" in keep:
        raise ValueError("keep: 'reason' is the name of a column that is added; rename yours")
    frame, reading = prepare(events, attributes, keep, None, schema, aliases_of(aliases))
    fields = [events.schema[name] for name in keep]
    columns = StructType([*fields, StructField("reason", StringType())])
    return frame.mapInArrow(rejecting(reading), columns)


def _names(names: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{what} is a list of names, found the string {names!r}")
    return tuple(names)


def _check_arguments(
    keep: Sequence[str], output: str, limit: int | None, layout: str | None, rejects: str | None
) -> None:
    if output not in (ROWS, EVENTS):
        raise ValueError(f"output is {ROWS!r} or {EVENTS!r}, found {output!r}")
    if layout not in (None, REPLICATED, SHARDED):
        raise ValueError(f"layout is {REPLICATED!r} or {SHARDED!r}, found {layout!r}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit is 0 or more, found {limit}")
    added = ["rule_id" if output == ROWS else "rule_ids", "rules_version"]
    if rejects is not None:
        added.append("reason")
        if rejects in added[:2]:
            raise ValueError(f"rejects: {rejects!r} is another column that is added")
    seen: set[str] = set()
    for name in keep:
        if name.lower() in added or name == rejects:
            raise ValueError(
                f"keep: {name!r} is the name of a column that is added; rename yours first"
            )
        if name.lower() in seen:
            raise ValueError(f"keep: {name!r} is listed twice")
        seen.add(name.lower())


def _rule_columns(
    names: Sequence[str], keep: Sequence[str], rejects: str | None
) -> tuple[str, ...]:
    if not names:
        return ()
    from matchwood.match.search.rule_facts import check_facts

    chosen = check_facts(names)
    for name in chosen:
        if name in (*(kept.lower() for kept in keep), rejects):
            raise ValueError(f"rule_columns: {name!r} is another column that is kept; rename it")
    return chosen


def _schema(
    events: DataFrame,
    keep: Sequence[str],
    id_type: str,
    output: str,
    rejects: bool,
    rule_columns: Sequence[str] = (),
) -> StructType:
    id_kind = StringType() if id_type == "string" else LongType()
    fields = [events.schema[name] for name in keep]
    if output == ROWS:
        fields.append(StructField("rule_id", id_kind))
    else:
        # Spark copies a third faster if it need not test for null.
        fields.append(StructField("rule_ids", ArrayType(id_kind, containsNull=False)))
    for name in rule_columns:
        kind = RULE_COLUMNS[name]
        fields.append(StructField(name, kind if output == ROWS else ArrayType(kind)))
    if rejects:
        fields.append(StructField("reason", StringType()))
    return StructType(fields)
