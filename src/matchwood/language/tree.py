"""The tree of a rule: immutable nodes that compare by what they say.

    Constant   true, false
    And, Or, Xor, Xnor   two operands or more; Xor and Xnor fold from left to right
    Not        one operand
    Comparison, Between, In, Like, IsNull   a predicate over one attribute
    AttributeComparison   two attributes
    Call       a built-in or registered operator
    VariableComparison    what calls bind, constrained

The first three lines are in `nodes`, the others in `predicates`; import them from here.
"""

from matchwood.language.nodes import (
    MAX_LEVELS,
    MAX_NODES,
    And,
    Constant,
    Node,
    Not,
    Or,
    Xnor,
    Xor,
    attributes_in,
    fold,
    in_parity_chain,
    node_of,
    parity_chain,
    walk,
)
from matchwood.language.predicates import (
    COMPARISONS,
    FLIPPED,
    Argument,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    In,
    IsNull,
    Like,
    Predicate,
    VariableComparison,
)

__all__ = [
    "COMPARISONS",
    "FLIPPED",
    "MAX_LEVELS",
    "MAX_NODES",
    "And",
    "Argument",
    "AttributeComparison",
    "Between",
    "Call",
    "Comparison",
    "Constant",
    "In",
    "IsNull",
    "Like",
    "Node",
    "Not",
    "Or",
    "Predicate",
    "VariableComparison",
    "Xnor",
    "Xor",
    "attributes_in",
    "fold",
    "in_parity_chain",
    "node_of",
    "parity_chain",
    "walk",
]
