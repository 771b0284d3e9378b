"""What the algorithms of several papers use.

- `protocol`: `Algorithm`, the work of a match, and the errors of what is unsupported or too large.
- `rule_numbers`: the ids of rules and the small numbers that kernels know rules by.
- `predicate_lookup`: the engine's predicates, and which literals are true of an event.
- `forms`: rules as trees of alternating `and` and `or` over literals, without negation.
- `plain`: rules simplified, with `not`, `xor` and `xnor` kept.
- `axes`: rules as intervals of codes on axes, one axis per attribute and family of values.
- `box_algorithm`: rules as boxes, one interval per axis, and the base of all algorithms over them.

`forms_kernels`, `plain_kernels`, `predicate_lookup_kernels`, `axes_kernels` and
`box_algorithm_kernels` have the compiled parts.
"""
