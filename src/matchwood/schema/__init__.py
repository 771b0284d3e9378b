"""What is known of events in advance: the families of attributes, and their hierarchies."""

from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.schema import Attribute, Problem, Schema, SchemaError

__all__ = ["Attribute", "Hierarchy", "Problem", "Schema", "SchemaError"]
