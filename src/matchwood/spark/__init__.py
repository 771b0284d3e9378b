"""Rules and events on Spark: a table of rules and a table or stream of events in, matches out.

    from matchwood.spark import compile_rules, match_events
    compiled = compile_rules(rules_df, id="id", rule="rule")
    matches = match_events(events_df, compiled, keep=["key"])

The driver plans and collects; rules and events are only ever processed on executors:

    driver                                    executors
    ------                                    ---------
    compile_rules:  rules, split in shards ─▶ one task per shard builds a segment
                    segment files on disk  ◀─ pieces of segments, rejected rules, facts
         │          (or through storage, with path=)
         │ ship: each file once per session
         ▼
    match_events:   a plan: names of files ─▶ Python workers map the segments once and turn
                                              Arrow batches of events into batches of matches
    match_stream:   the same for each micro-batch, with rules that may change in between
    run:            all of this as a pipeline file says, with counts and a report

The packages are layers; each imports only from those above it in this list:

    session     sessions, classic or of Spark Connect, and the files shipped to their executors
    executors   whether executors can run matchwood, asked before anything else
    kernel_shipping  compiled kernels, sent from the driver to the executors
    json_lines  lines of JSON as rows, of which none is lost
    endpoints   descriptions of sources and sinks; storage reads and writes them
    events      rows of a DataFrame as events: on the driver which columns, on executors how
    profiling   statistics of events, which make matching faster
    compile     rules to segments
    match       events and segments to matches; also as functions of SQL
    stream      matches of a stream, exactly once in folders, while rules change
    pipeline    a pipeline file, checked and run
    job         what spark-submit starts

`packed_environment` makes the archive for executors that have no matchwood; it needs none of these.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchwood.spark.compile.compiled_rules import CompiledRules, load
    from matchwood.spark.compile.compiler import compile_rules
    from matchwood.spark.match.event_matching import match_events, rejected_events
    from matchwood.spark.match.sql_functions import register
    from matchwood.spark.pipeline.pipeline_run import run
    from matchwood.spark.profiling import profile
    from matchwood.spark.stream.streaming import match_stream, read_matches

__all__ = [
    "CompiledRules",
    "compile_rules",
    "load",
    "match_events",
    "match_stream",
    "profile",
    "read_matches",
    "register",
    "rejected_events",
    "run",
]

# The module of each public name.
_MODULES = {
    "CompiledRules": "compile.compiled_rules",
    "compile_rules": "compile.compiler",
    "load": "compile.compiled_rules",
    "match_events": "match.event_matching",
    "match_stream": "stream.streaming",
    "profile": "profiling",
    "read_matches": "stream.streaming",
    "register": "match.sql_functions",
    "rejected_events": "match.event_matching",
    "run": "pipeline.pipeline_run",
}


def __getattr__(name: str) -> Any:
    """Import each name when it is first used, because importing PySpark takes a second."""
    if name not in _MODULES:
        raise AttributeError(f"module 'matchwood.spark' has no attribute {name!r}")
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "matchwood.spark needs PySpark, which is not installed: use the platform's, "
            "or pip install 'matchwood[spark]'"
        ) from error
    value = getattr(import_module(f"matchwood.spark.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
