"""The integrated event schema: domains, attributes, event types and views over them.

Rules are checked against it (`Schema.check`), and so are events (`Schema.check_event`); `isa` asks
its hierarchies.
"""

from matchwood.schema.domains import Domain, Enumerated, Hierarchical, Plain, Range
from matchwood.schema.errors import SchemaError
from matchwood.schema.events import Violation
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.rules import Problem
from matchwood.schema.schema import Attribute, Schema
from matchwood.schema.types import Use, View

__all__ = [
    "Attribute",
    "Domain",
    "Enumerated",
    "Hierarchical",
    "Hierarchy",
    "Plain",
    "Problem",
    "Range",
    "Schema",
    "SchemaError",
    "Use",
    "View",
    "Violation",
]
