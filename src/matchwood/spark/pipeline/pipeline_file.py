"""`pipeline.toml`: where rules and events come from and where matches go, checked key by key.

Each section is a dataclass: its fields are the keys that the section may have, the types of the
fields are the types of the values, and a field without a default is a required key. Mistakes are
reported with their line in the file, before Spark is started.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from matchwood.language.aliases import aliases_of
from matchwood.schema.errors import nearest
from matchwood.spark.endpoints import (
    EventSource,
    MatchSink,
    RowSource,
    RuleSource,
    Sink,
    Texts,
    format_of,
)
from matchwood.spark.pipeline.toml_lines import key_lines

# ${NAME} or ${NAME:-default}, where NAME is a variable of the environment; $${ stands for ${.
_VARIABLE = re.compile(r"\$(\$\{)|\$\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}|\$\{")
# The name of the variable that stands for the folder of the pipeline file.
FOLDER_VARIABLE = "HERE"
# The column in which Spark has the value of a message of Kafka.
KAFKA_VALUE = "value"
Section = TypeVar("Section")


class PipelineError(ValueError):
    """A pipeline that cannot be run as it is written; says where in its file."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """How the pipeline runs."""

    name: str = "matchwood"
    mode: Literal["batch", "stream"] = "batch"
    layout: Literal["auto", "replicated", "sharded"] = "auto"
    schema: str | None = None
    enforce: bool = False
    operators: str | None = None
    profile: bool = False
    tags: Texts = ()
    limit: int | None = None
    device: Literal["cpu", "gpu", "auto"] | None = None
    report: str | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    poll: int | None = None
    metrics: str | None = None  # HOST:PORT or PORT


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What a pipeline file says.

    >>> Pipeline.of({"rules": {"table": "rules"}, "events": {"path": "visits.parquet"}})
    Traceback (most recent call last):
    ...
    matchwood.spark.pipeline.pipeline_file.PipelineError: pipeline: no [matches]: where do...
    """

    rules: RuleSource
    events: EventSource
    matches: MatchSink
    rejects: Sink | None = None
    rejected_rules: Sink | None = None
    lists: Mapping[str, RowSource] = field(default_factory=dict)  # what `in list` looks up
    job: Job = Job()
    spark: Mapping[str, str] = field(default_factory=dict)
    file: str = "pipeline"
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Pipeline:
        """Read a pipeline from a file; a PipelineError says what is wrong and on which line."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            form = tomllib.loads(text)
        except FileNotFoundError:
            raise PipelineError(f"{file}: no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise PipelineError(f"{file}: {error}") from None
        except tomllib.TOMLDecodeError as error:
            located = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
            line, reason = (f":{located[2]}", located[1]) if located else ("", str(error))
            raise PipelineError(f"{file}{line}: not TOML: {reason}") from None
        return _Reader(str(file), key_lines(text), file.resolve().parent).pipeline(form)

    @classmethod
    def of(cls, config: str | Path | Mapping[str, Any] | Pipeline) -> Pipeline:
        """Read a pipeline from a file or a mapping of the same form; a Pipeline is returned."""
        if isinstance(config, Pipeline):
            return config
        if isinstance(config, Mapping):
            return _Reader("pipeline", {}, Path.cwd()).pipeline(config)
        return cls.read(config)

    def error(self, message: str, *key: str) -> PipelineError:
        """An error at a key of the file, or at its section if the key is not written."""
        return PipelineError(f"{_location(self.file, self.lines, key)}: {message}")


def _location(file: str, lines: Mapping[tuple[str, ...], int], key: tuple[str, ...]) -> str:
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return f"{file}:{lines[key[:length]]}"
    return f"{file}: {'.'.join(key)}" if key and not lines else file


# The sections that a file may have besides [spark].
SECTIONS: dict[str, type] = {
    "rules": RuleSource,
    "events": EventSource,
    "matches": MatchSink,
    "rejects": Sink,
    "rejected_rules": Sink,
    "job": Job,
}
# Keys that had another name in earlier versions.
RENAMED: dict[tuple[str, ...], str] = {("job", "check"): "enforce"}
# Values that had another name in earlier versions, and are still accepted.
FORMER_VALUES: dict[tuple[str, ...], str] = {("matches", "output", "array"): "events"}
# What to ask where a required section is missing.
WANTED = {
    "rules": "where do rules come from?",
    "events": "where do events come from?",
    "matches": "where do matches go?",
}


class _Reader:
    """Turns the dict form of a pipeline into its dataclasses."""

    def __init__(self, file: str, lines: Mapping[tuple[str, ...], int], folder: Path) -> None:
        self.file = file
        self.lines = lines
        self.folder = folder

    def pipeline(self, form: Mapping[str, Any]) -> Pipeline:
        self.known(form, (*SECTIONS, "lists", "spark"), (), "section")
        for name, question in WANTED.items():
            if name not in form:
                raise PipelineError(f"{self.file}: no [{name}]: {question}")
        sections: dict[str, Any] = {
            name: self.section(kind, form[name], name)
            for name, kind in SECTIONS.items()
            if name in form
        }
        lists = {
            key: self.section(RowSource, value, "lists", key)
            for key, value in self.table(form.get("lists", {}), ("lists",)).items()
        }
        spark = {
            key: self.option(value, ("spark", key))
            for key, value in self.table(_flat(form.get("spark", {})), ("spark",)).items()
        }
        pipeline = Pipeline(**sections, lists=lists, spark=spark, file=self.file, lines=self.lines)
        check(pipeline)
        if pipeline.events.value is None:
            return pipeline
        return replace(pipeline, events=replace(pipeline.events, attributes=KAFKA_VALUE))

    def section(self, kind: type[Section], form: object, *name: str) -> Section:
        keys = self.table(form, name)
        hints = get_type_hints(kind)
        self.known(keys, tuple(hints), name, "key")
        for key in fields(kind):  # type: ignore[arg-type]
            required = key.default is MISSING and key.default_factory is MISSING
            if required and key.name not in keys:
                raise self.error(f"[{'.'.join(name)}] needs {key.name!r}", name)
        return kind(
            **{key: self.value(value, hints[key], (*name, key)) for key, value in keys.items()}
        )

    def value(self, value: object, hint: Any, key: tuple[str, ...]) -> Any:
        """The value as the type of its field says, with variables replaced."""
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for kind in kinds:
            if get_origin(kind) is Literal:
                return self.choice(self.text(value, key), get_args(kind), key)
            if kind == Texts and isinstance(value, list):
                return tuple(self.text(part, key) for part in value)
            if get_origin(kind) is Mapping:
                return self.mapping(value, get_args(kind)[1], key)
            if kind is str and isinstance(value, str):
                return self.text(value, key)
            if kind in (int, bool):
                return self.number(value, kind, key)
        expected = " or ".join(_NAMES[kind] for kind in kinds if kind is not NoneType)
        raise self.error(f"{key[-1]} is {expected}, found {value!r}", key)

    def mapping(self, value: object, hint: Any, key: tuple[str, ...]) -> dict[str, Any]:
        """A table of any keys: options of Spark, or values of another type."""
        table = self.table(value, key)
        if hint is str:
            return {name: self.option(option, (*key, name)) for name, option in table.items()}
        return {name: self.value(inner, hint, (*key, name)) for name, inner in table.items()}

    def number(self, value: object, kind: type, key: tuple[str, ...]) -> Any:
        """An integer or a boolean, which may also be the text of a variable."""
        if isinstance(value, str) and _VARIABLE.search(value):
            text = self.text(value, key)
            known = {"true": True, "false": False} if kind is bool else {}
            value = known.get(text, int(text) if text.isdecimal() else text)
        if type(value) is not kind:
            raise self.error(f"{key[-1]} is {_NAMES[kind]}, found {value!r}", key)
        return value

    def option(self, value: object, key: tuple[str, ...]) -> str:
        """The text of an option of Spark, which may be written as true for "true"."""
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, int | float) else self.text(value, key)

    def text(self, value: object, key: tuple[str, ...]) -> str:
        if not isinstance(value, str):
            raise self.error(f"{key[-1]} is text, found {value!r}", key)

        def replacement(variable: re.Match[str]) -> str:
            if variable[1]:
                return "${"
            name: str | None = variable["name"]
            default: str | None = variable["default"]
            if name is None:
                raise self.error(f"expected ${{NAME}}, found {value!r}", key)
            text = str(self.folder) if name == FOLDER_VARIABLE else os.environ.get(name, default)
            if text is None:
                near = nearest(name, os.environ)
                raise self.error(f"the environment has no variable {name!r}{near}", key)
            return text

        return _VARIABLE.sub(replacement, value)

    def choice(self, value: str, choices: tuple[str, ...], key: tuple[str, ...]) -> str:
        value = FORMER_VALUES.get((*key, value), value)
        if value not in choices:
            expected = " or ".join(map(repr, choices))
            near = nearest(value, choices)
            raise self.error(f"{key[-1]} is {expected}, found {value!r}{near}", key)
        return value

    def table(self, form: object, key: tuple[str, ...]) -> Mapping[str, Any]:
        if isinstance(form, Mapping):
            return form
        raise self.error(f"{key[-1]} is a table of keys and values, found {form!r}", key)

    def known(
        self, form: Mapping[str, Any], names: tuple[str, ...], above: tuple[str, ...], what: str
    ) -> None:
        for name in form:
            if name not in names:
                near = nearest(RENAMED.get((*above, name), name), names)
                near = near or f": expected one of {', '.join(names)}"
                where = f" in [{'.'.join(above)}]" if above else ""
                raise self.error(f"unknown {what} {name!r}{where}{near}", (*above, name))

    def error(self, message: str, key: tuple[str, ...]) -> PipelineError:
        return PipelineError(f"{_location(self.file, self.lines, key)}: {message}")


# What each type of value is called in messages.
_NAMES: dict[Any, str] = {
    **{str: "text", Texts: "a list of texts"},
    **{int: "an integer", bool: "true or false"},
}


def _flat(form: object) -> object:
    """`sql.shuffle.partitions = 8` under [spark] is nested in TOML, and one name in Spark."""
    if not isinstance(form, Mapping):
        return form
    flat: dict[str, Any] = {}
    for name, value in form.items():
        inner = _flat(value)
        if isinstance(inner, Mapping):
            flat |= {f"{name}.{below}": inner_value for below, inner_value in inner.items()}
        else:
            flat[name] = inner
    return flat


def check(pipeline: Pipeline) -> None:
    """Check what depends on several keys."""
    _check_source(pipeline, pipeline.rules, "rules")
    _check_source(pipeline, pipeline.events, "events")
    for name, source in pipeline.lists.items():
        _check_source(pipeline, source, "lists", name)
    if pipeline.events.value is not None:
        _check_value(pipeline)
    _check_aliases(pipeline)
    for name in ("matches", "rejects", "rejected_rules"):
        sink = getattr(pipeline, name)
        if sink is not None:
            _check_sink(pipeline, name, sink)
    _check_rule_columns(pipeline)
    job = pipeline.job
    if pipeline.matches.writer == "workers":
        _check_workers_write(pipeline)
    if job.limit is not None and job.limit < 1:
        raise pipeline.error(f"limit is at least 1, found {job.limit}", "job", "limit")
    if job.mode == "stream" and job.checkpoint is None:
        raise pipeline.error("a stream needs 'checkpoint', a folder of its own", "job")
    for key in ("checkpoint", "trigger", "poll", "metrics"):
        if job.mode == "batch" and getattr(job, key) is not None:
            raise pipeline.error(f"{key!r} is for mode = 'stream'", "job", key)
    for section, key in (("rules", "save"), ("job", "profile")):
        if job.mode == "stream" and getattr(getattr(pipeline, section), key):
            raise pipeline.error(f"{key!r} is for mode = 'batch'", section, key)


def _check_source(pipeline: Pipeline, source: RowSource, *key: str) -> None:
    name = ".".join(key)
    written = [key for key in ("path", "table", "query") if getattr(source, key) is not None]
    if isinstance(source, RuleSource) and source.compiled is not None:
        written.append("compiled")
    if len(written) > 1:
        message = f"[{name}] has {' and '.join(map(repr, written))}: expected one of them"
        raise pipeline.error(message, *key, written[1])
    if not written and source.format is None:
        raise pipeline.error(f"[{name}] needs 'path', 'table', 'query' or 'format'", *key)
    if written == ["path"] and format_of(source) is None:
        raise pipeline.error(f"[{name}] needs 'format': its path has no ending", *key, "path")


def _check_workers_write(pipeline: Pipeline) -> None:
    sink, job = pipeline.matches, pipeline.job
    if sink.path is None or format_of(sink) != "parquet" or sink.partition_by or sink.options:
        message = "writer = 'workers' is for a path of Parquet, without partition_by and options"
    elif job.mode == "stream" or job.layout == "sharded":
        message = "writer = 'workers' is for mode = 'batch' and the replicated layout"
    else:
        return
    raise pipeline.error(message, "matches", "writer")


def _check_aliases(pipeline: Pipeline) -> None:
    try:
        aliases_of(pipeline.events.aliases)
    except ValueError as error:
        raise pipeline.error(f"[events] aliases: {error}", "events", "aliases") from None


def _check_rule_columns(pipeline: Pipeline) -> None:
    names = pipeline.matches.rule_columns
    if not names:
        return
    from matchwood.match.search.rule_facts import check_facts

    try:
        check_facts(names)
    except ValueError as error:
        raise pipeline.error(f"[matches] {error}", "matches", "rule_columns") from None
    for name in pipeline.events.keep:
        if name.lower() in names:
            message = f"keep: {name!r} is one of the rule_columns of [matches], too; use select"
            raise pipeline.error(message, "events", "keep")
    if "data" in names and not pipeline.rules.data and pipeline.rules.compiled is None:
        message = "rule_columns: 'data' needs 'data' in [rules], the columns that rules carry"
        raise pipeline.error(message, "matches", "rule_columns")


def _check_value(pipeline: Pipeline) -> None:
    if pipeline.events.format != "kafka":
        raise pipeline.error("'value' is for format = 'kafka'", "events", "value")
    if pipeline.events.attributes is not None:
        message = "[events] has 'value' and 'attributes': expected one of them"
        raise pipeline.error(message, "events", "attributes")


def _check_sink(pipeline: Pipeline, name: str, sink: Sink) -> None:
    if sink.path is not None and sink.table is not None:
        message = f"[{name}] has 'path' and 'table': expected one of them"
        raise pipeline.error(message, name, "table")
    if sink.path is None and sink.table is None and sink.format is None:
        raise pipeline.error(f"[{name}] needs 'path', 'table' or 'format'", name)
    if sink.path is not None and format_of(sink) is None:
        raise pipeline.error(f"[{name}] needs 'format': its path has no ending", name, "path")
    for key in ("key", "headers"):
        if getattr(sink, key) and sink.format != "kafka":
            raise pipeline.error(f"{key!r} is for format = 'kafka'", name, key)
