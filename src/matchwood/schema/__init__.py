"""The integrated event schema: domains, attributes, event types and views over them.

Rules are checked against a schema (`Schema.check`), and so are events (`Schema.check_event`);
`isa` in rules asks its hierarchies.

    schema          Schema: everything below, as methods
      schema_file   schemas in TOML and JSON files
      dict_form     the dict form of a schema, both ways
      rule_check    what in a rule does not fit
      event_check   what in an event breaks the rules R1, R2 and R3
      own_order     orders that only a domain knows: refused in rules, or spelled out
      definitions   what a schema defines, and which attributes events of some types have
      types         how event types use attributes
      domains       the values that an attribute may have
      hierarchy     trees of kinds
      errors        SchemaError, and the nearest known spelling of a name
"""

from matchwood.schema.definitions import SchemaAttribute
from matchwood.schema.domains import Domain, Enumerated, Hierarchical, Plain, Range
from matchwood.schema.errors import SchemaError
from matchwood.schema.event_check import Violation
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.rule_check import RuleProblem
from matchwood.schema.schema import Schema
from matchwood.schema.types import EventView, Use

__all__ = [
    "Domain",
    "Enumerated",
    "EventView",
    "Hierarchical",
    "Hierarchy",
    "Plain",
    "Range",
    "RuleProblem",
    "Schema",
    "SchemaAttribute",
    "SchemaError",
    "Use",
    "Violation",
]
