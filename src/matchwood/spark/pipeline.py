"""`pipeline.toml`: where rules and events come from and where matches go, checked key by key.

Each section is a dataclass, whose fields are the keys that it may have, whose types are what
their values must be, and whose fields without default are required. What is wrong is said with
the file's line, before Spark is asked for anything.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from matchwood.schema.errors import nearest
from matchwood.spark.toml_lines import key_lines

Texts = tuple[str, ...]
# ${NAME}, ${NAME:-what it is if it is not set}; $${ is written for ${ itself.
_VARIABLE = re.compile(r"\$(\$\{)|\$\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}|\$\{")
HERE = "HERE"  # the folder of the pipeline file
ENDINGS = {
    **{".parquet": "parquet", ".orc": "orc", ".csv": "csv"},
    **{".json": "json", ".jsonl": "json", ".ndjson": "json"},
}
Section = TypeVar("Section")


class PipelineError(ValueError):
    """A pipeline that cannot be run as it is written, with the place in its file."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Rows to read: a path, a catalog table, a query, or a format that its options suffice for."""

    format: str | None = None
    path: str | Texts | None = None
    table: str | None = None
    query: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    select: Texts = ()
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rules(Source):
    """The rules, and in which columns they are."""

    id: str = "id"
    rule: str = "rule"
    tags: str | None = None
    priority: str | None = None
    compiled: str | None = None
    save: str | None = None


@dataclass(frozen=True, kw_only=True)
class Events(Source):
    """The events, where in a row their attributes are, and which columns go with matches."""

    keep: Texts
    attributes: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where rows go."""

    format: str | None = None
    path: str | None = None
    table: str | None = None
    mode: Literal["append", "overwrite", "error", "ignore"] = "error"
    partition_by: Texts = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Matches(Sink):
    """Where matches go, a row a match or an array of rules an event."""

    output: Literal["rows", "array"] = "rows"


@dataclass(frozen=True, kw_only=True)
class Job:
    """How the work is done."""

    name: str = "matchwood"
    mode: Literal["batch", "stream"] = "batch"
    layout: Literal["auto", "replicated", "sharded"] = "auto"
    schema: str | None = None
    check: bool = False
    operators: str | None = None
    profile: bool = False
    tags: Texts = ()
    limit: int | None = None
    report: str | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    poll: int | None = None


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A pipeline file, read.

    >>> Pipeline.of({"rules": {"table": "rules"}, "events": {"path": "visits.parquet"}})
    Traceback (most recent call last):
    ...
    matchwood.spark.pipeline.PipelineError: pipeline: no [matches]: where do matches go?
    """

    rules: Rules
    events: Events
    matches: Matches
    rejects: Sink | None = None
    rejected_rules: Sink | None = None
    job: Job = Job()
    spark: Mapping[str, str] = field(default_factory=dict)
    file: str = "pipeline"
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Pipeline:
        """The pipeline of a file; a PipelineError says what is wrong and on which line."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            form = tomllib.loads(text)
        except FileNotFoundError:
            raise PipelineError(f"{file}: no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise PipelineError(f"{file}: {error}") from None
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
            place, reason = (f":{found[2]}", found[1]) if found else ("", str(error))
            raise PipelineError(f"{file}{place}: not TOML: {reason}") from None
        return _Reader(str(file), key_lines(text), file.resolve().parent).pipeline(form)

    @classmethod
    def of(cls, given: str | Path | Mapping[str, Any] | Pipeline) -> Pipeline:
        """The pipeline of a file, of a mapping of the same form, or one that was read before."""
        if isinstance(given, Pipeline):
            return given
        if isinstance(given, Mapping):
            return _Reader("pipeline", {}, Path.cwd()).pipeline(given)
        return cls.read(given)

    def error(self, message: str, *key: str) -> PipelineError:
        """An error at a key of the file, or at the nearest above it that is written there."""
        return PipelineError(f"{_place(self.file, self.lines, key)}: {message}")


def _place(file: str, lines: Mapping[tuple[str, ...], int], key: tuple[str, ...]) -> str:
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return f"{file}:{lines[key[:length]]}"
    return f"{file}: {'.'.join(key)}" if key and not lines else file


SECTIONS: dict[str, type] = {
    "rules": Rules,
    "events": Events,
    "matches": Matches,
    "rejects": Sink,
    "rejected_rules": Sink,
    "job": Job,
}
WANTED = {
    "rules": "where do rules come from?",
    "events": "where do events come from?",
    "matches": "where do matches go?",
}


class _Reader:
    """A pipeline's dict form to its dataclasses."""

    def __init__(self, file: str, lines: Mapping[tuple[str, ...], int], here: Path) -> None:
        self.file = file
        self.lines = lines
        self.here = here

    def pipeline(self, form: Mapping[str, Any]) -> Pipeline:
        self.known(form, (*SECTIONS, "spark"), (), "section")
        for name, question in WANTED.items():
            if name not in form:
                raise PipelineError(f"{self.file}: no [{name}]: {question}")
        sections: dict[str, Any] = {
            name: self.section(kind, form[name], name)
            for name, kind in SECTIONS.items()
            if name in form
        }
        spark = {
            key: self.option(value, ("spark", key))
            for key, value in self.table(_flat(form.get("spark", {})), ("spark",)).items()
        }
        pipeline = Pipeline(**sections, spark=spark, file=self.file, lines=self.lines)
        check(pipeline)
        return pipeline

    def section(self, kind: type[Section], form: object, name: str) -> Section:
        given = self.table(form, (name,))
        hints = get_type_hints(kind)
        self.known(given, tuple(hints), (name,), "key")
        for one in fields(kind):  # type: ignore[arg-type]
            required = one.default is MISSING and one.default_factory is MISSING
            if required and one.name not in given:
                raise self.error(f"[{name}] needs {one.name!r}", (name,))
        return kind(
            **{key: self.value(value, hints[key], (name, key)) for key, value in given.items()}
        )

    def value(self, value: object, hint: Any, key: tuple[str, ...]) -> Any:
        """The value as the type of its field, with variables put in."""
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for kind in kinds:
            if get_origin(kind) is Literal:
                return self.choice(self.text(value, key), get_args(kind), key)
            if kind == Texts and isinstance(value, list):
                return tuple(self.text(part, key) for part in value)
            if get_origin(kind) is Mapping:
                options = self.table(value, key)
                return {name: self.option(one, (*key, name)) for name, one in options.items()}
            if kind is str and isinstance(value, str):
                return self.text(value, key)
            if kind in (int, bool):
                return self.number(value, kind, key)
        expected = " or ".join(_NAMES[kind] for kind in kinds if kind is not NoneType)
        raise self.error(f"{key[-1]} is {expected}, found {value!r}", key)

    def number(self, value: object, kind: type, key: tuple[str, ...]) -> Any:
        """An integer or a boolean; from a variable it comes as text."""
        if isinstance(value, str) and _VARIABLE.search(value):
            text = self.text(value, key)
            known = {"true": True, "false": False} if kind is bool else {}
            value = known.get(text, int(text) if text.isdecimal() else text)
        if type(value) is not kind:
            raise self.error(f"{key[-1]} is {_NAMES[kind]}, found {value!r}", key)
        return value

    def option(self, value: object, key: tuple[str, ...]) -> str:
        """Spark takes options as text, and so may be written true for "true"."""
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, int | float) else self.text(value, key)

    def text(self, value: object, key: tuple[str, ...]) -> str:
        if not isinstance(value, str):
            raise self.error(f"{key[-1]} is text, found {value!r}", key)

        def put(found: re.Match[str]) -> str:
            if found[1]:
                return "${"
            name: str | None = found["name"]
            default: str | None = found["default"]
            if name is None:
                raise self.error(f"expected ${{NAME}}, found {value!r}", key)
            put_in = str(self.here) if name == HERE else os.environ.get(name, default)
            if put_in is None:
                near = nearest(name, os.environ)
                raise self.error(f"the environment has no variable {name!r}{near}", key)
            return put_in

        return _VARIABLE.sub(put, value)

    def choice(self, value: str, choices: tuple[str, ...], key: tuple[str, ...]) -> str:
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
                near = nearest(name, names) or f": expected one of {', '.join(names)}"
                where = f" in [{above[0]}]" if above else ""
                raise self.error(f"unknown {what} {name!r}{where}{near}", (*above, name))

    def error(self, message: str, key: tuple[str, ...]) -> PipelineError:
        return PipelineError(f"{_place(self.file, self.lines, key)}: {message}")


_NAMES: dict[Any, str] = {
    **{str: "text", Texts: "a list of texts"},
    **{int: "an integer", bool: "true or false"},
}


def _flat(form: object) -> object:
    """`spark.sql.shuffle.partitions = 8` under [spark] nests in TOML; it is one name in Spark."""
    if not isinstance(form, Mapping):
        return form
    flat: dict[str, Any] = {}
    for name, value in form.items():
        inner = _flat(value)
        if isinstance(inner, Mapping):
            flat |= {f"{name}.{below}": one for below, one in inner.items()}
        else:
            flat[name] = inner
    return flat


def check(pipeline: Pipeline) -> None:
    """What keys say only together."""
    _check_source(pipeline, "rules", pipeline.rules)
    _check_source(pipeline, "events", pipeline.events)
    for name in ("matches", "rejects", "rejected_rules"):
        sink = getattr(pipeline, name)
        if sink is not None:
            _check_sink(pipeline, name, sink)
    job = pipeline.job
    if job.limit is not None and job.limit < 1:
        raise pipeline.error(f"limit is at least 1, found {job.limit}", "job", "limit")
    if job.mode == "stream" and job.checkpoint is None:
        raise pipeline.error("a stream needs 'checkpoint', a folder of its own", "job")
    for key in ("checkpoint", "trigger", "poll"):
        if job.mode == "batch" and getattr(job, key) is not None:
            raise pipeline.error(f"{key!r} is for mode = 'stream'", "job", key)
    for section, key in (("rules", "save"), ("job", "profile")):
        if job.mode == "stream" and getattr(getattr(pipeline, section), key):
            raise pipeline.error(f"{key!r} is for mode = 'batch'", section, key)


def _check_source(pipeline: Pipeline, name: str, source: Source) -> None:
    ways = [way for way in ("path", "table", "query") if getattr(source, way) is not None]
    if isinstance(source, Rules) and source.compiled is not None:
        ways.append("compiled")
    if len(ways) > 1:
        message = f"[{name}] has {' and '.join(map(repr, ways))}: expected one of them"
        raise pipeline.error(message, name, ways[1])
    if not ways and source.format is None:
        raise pipeline.error(f"[{name}] needs 'path', 'table', 'query' or 'format'", name)
    if ways == ["path"] and format_of(source) is None:
        raise pipeline.error(f"[{name}] needs 'format': its path has no ending", name, "path")


def _check_sink(pipeline: Pipeline, name: str, sink: Sink) -> None:
    if sink.path is not None and sink.table is not None:
        message = f"[{name}] has 'path' and 'table': expected one of them"
        raise pipeline.error(message, name, "table")
    if sink.path is None and sink.table is None and sink.format is None:
        raise pipeline.error(f"[{name}] needs 'path', 'table' or 'format'", name)
    if sink.path is not None and format_of(sink) is None:
        raise pipeline.error(f"[{name}] needs 'format': its path has no ending", name, "path")


def format_of(where: Source | Sink) -> str | None:
    """The format that is written, or that the ending of the path tells."""
    if where.format is not None or where.path is None:
        return where.format
    paths = (where.path,) if isinstance(where.path, str) else where.path
    endings = {ENDINGS.get(Path(path.removesuffix(".gz")).suffix) for path in paths}
    return endings.pop() if len(endings) == 1 else None
