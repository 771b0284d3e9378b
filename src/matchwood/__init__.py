"""matchwood: keep a very large set of Boolean rules, and say which are true of every event."""

from matchwood.language import EventError, RuleError, attr, parse
from matchwood.schema import Schema

__all__ = ["EventError", "RuleError", "Schema", "attr", "parse"]
__version__ = "0.1.0"
