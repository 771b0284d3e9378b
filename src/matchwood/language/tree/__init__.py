"""The tree of a rule: immutable nodes, equal if they say the same.

    nodes        Constant               true or false
                 And, Or, Xor, Xnor     two operands or more; Xor and Xnor fold from the left
                 Not                    one operand
    predicates   Comparison, Between,
                 In, Like, IsNull       a predicate over one attribute
                 AttributeComparison    two attributes
                 Call                   a built-in or registered operator
                 VariableComparison     a constraint on what calls bind
    variables    Join                   calls and constraints that share variables
    arithmetic   attributes, variables and sums, as operands
    calls        the built-in calls, and what they take

Import nodes and predicates from here.
"""

from matchwood.language.tree.nodes import (
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
from matchwood.language.tree.predicates import (
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
