"""matchwood: keep a very large set of Boolean rules, and say which are true of every event."""

from typing import TYPE_CHECKING, Any

from matchwood.language import EventError, RuleError, attr, parse
from matchwood.operators import operator

if TYPE_CHECKING:
    from matchwood.engine import Matcher
    from matchwood.schema import Schema

__all__ = ["EventError", "Matcher", "RuleError", "Schema", "attr", "operator", "parse"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Matcher` is imported when it is first used: it brings Numba, which takes a second."""
    if name == "Matcher":
        from matchwood.engine import Matcher

        return Matcher
    if name == "Schema":
        from matchwood.schema import Schema

        return Schema
    raise AttributeError(f"module 'matchwood' has no attribute {name!r}")
