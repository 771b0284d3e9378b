"""matchwood: keep a very large set of Boolean rules, and say which are true of every event.

Packages, from the top down; a package imports only from those below it:

    cli                    the command line
    lab                    other algorithms, workloads, benchmarks and experiments
    spark, service         rules on Spark; rules and subscriptions over HTTP
    compiling              all kernels, compiled by processes of their own
    client, check, warm    clients of the service; the checker of rules; compiling ahead of time
    matcher                `Matcher`, which most programs need and nothing else
    match                  matching: parts, strategies for events and batches, the store of rules
    index                  rules to segments, which are arrays, and the files that hold them
    operators, tables      calls of users' functions; files of rules and of events
    rewrite                equivalent, simpler rules
    schema, arrow          domains, hierarchies and types of attributes; Arrow data
    forking                what has to be renewed after a fork
    language, kernels      rules as text, JSON and trees; what compiled functions share
"""

from typing import TYPE_CHECKING, Any

from matchwood.language import EventError, RuleError, attr, parse
from matchwood.operators import operator

if TYPE_CHECKING:
    from matchwood.matcher import Matcher
    from matchwood.schema import Schema

__all__ = ["EventError", "Matcher", "RuleError", "Schema", "attr", "operator", "parse"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Matcher` is imported when it is first used: it brings Numba, which takes a second."""
    if name == "Matcher":
        from matchwood.matcher import Matcher

        return Matcher
    if name == "Schema":
        from matchwood.schema import Schema

        return Schema
    raise AttributeError(f"module 'matchwood' has no attribute {name!r}")
