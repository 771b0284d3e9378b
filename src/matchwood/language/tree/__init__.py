"""The tree of a rule: immutable nodes, equal if they say the same.

    nodes        Constant               true or false
                 And, Or, Xor, Xnor     two operands or more; Xor and Xnor fold from the left
                 Not                    one operand
                 TruthTest              `(…) is true`, `is not unknown` and the like
    predicates   Comparison, Between,
                 In, Like, IsNull       a predicate over one attribute
                 AttributeComparison    two attributes
                 Call                   a built-in or registered operator
                 VariableComparison     a constraint on what calls bind
                 SumComparison          a comparison with a sum over attributes
                 InList, LikeMany       `in list`, and `like any` or `like all`
    thresholds   AtLeast                so many of several rules
    elements     Elements               `any` and `every`, about the elements of a list
    subjects     Lowered, Everything,
                 Element                `lower(a)`, `*` and `it`, in the place of an attribute
    variables    Join                   calls and constraints that share variables
    arithmetic   attributes, variables and sums, as operands
    calls        the built-in calls, and what they take

Import nodes and predicates from here.
"""

from matchwood.language.tree.elements import (
    Elements,
    inner_name,
    reads_everything,
    uses_element,
    walk_inside,
)
from matchwood.language.tree.nodes import (
    MAX_LEVELS,
    MAX_NODES,
    And,
    Constant,
    Node,
    Not,
    Or,
    TruthTest,
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
    InList,
    IsNull,
    Like,
    LikeMany,
    Predicate,
    SumComparison,
    VariableComparison,
    compared,
)
from matchwood.language.tree.subjects import EVERYTHING, IT, Derived, Element, Everything, Lowered
from matchwood.language.tree.thresholds import AtLeast

__all__ = [
    "COMPARISONS",
    "EVERYTHING",
    "FLIPPED",
    "IT",
    "MAX_LEVELS",
    "MAX_NODES",
    "And",
    "Argument",
    "AtLeast",
    "AttributeComparison",
    "Between",
    "Call",
    "Comparison",
    "Constant",
    "Derived",
    "Element",
    "Elements",
    "Everything",
    "In",
    "InList",
    "IsNull",
    "Like",
    "LikeMany",
    "Lowered",
    "Node",
    "Not",
    "Or",
    "Predicate",
    "SumComparison",
    "TruthTest",
    "VariableComparison",
    "Xnor",
    "Xor",
    "attributes_in",
    "compared",
    "fold",
    "in_parity_chain",
    "inner_name",
    "node_of",
    "parity_chain",
    "reads_everything",
    "uses_element",
    "walk",
    "walk_inside",
]
