"""Rules and events on Spark: a table of rules and a table or stream of events in, matches out.

from matchwood.spark import compile_rules, match_events
compiled = compile_rules(rules_df, id="id", rule="rule")
matches = match_events(events_df, compiled, keep=["key"])
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchwood.spark.compile import compile_rules
    from matchwood.spark.match import match_events, rejected_events
    from matchwood.spark.profile import profile
    from matchwood.spark.rules import CompiledRules, load
    from matchwood.spark.run import run
    from matchwood.spark.sql import register
    from matchwood.spark.stream import match_stream, read_matches

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

_MODULES = {
    "CompiledRules": "rules",
    "compile_rules": "compile",
    "load": "rules",
    "match_events": "match",
    "match_stream": "stream",
    "profile": "profile",
    "read_matches": "stream",
    "register": "sql",
    "rejected_events": "match",
    "run": "run",
}


class _Package(ModuleType):
    """A module does not hide the function of the same name when it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first used: PySpark itself takes a second."""
    if name not in _MODULES:
        raise AttributeError(f"module 'matchwood.spark' has no attribute {name!r}")
    try:
        import pyspark  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "matchwood.spark needs PySpark, which is not installed: use the platform's, "
            "or pip install 'matchwood[spark]'"
        ) from error
    found = getattr(import_module(f"matchwood.spark.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
