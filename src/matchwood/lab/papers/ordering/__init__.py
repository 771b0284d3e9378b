"""Which predicates to evaluate, and in which order: the algorithms of Liu et al. (DEBS 2007).

Z. Liu, S. Parthasarathy, A. Ranganathan, H. Yang: *Scalable Event Matching for Overlapping
Subscriptions in Pub/Sub Systems*. A subscription is a conjunction of predicates that are expensive
to evaluate. All algorithms follow one protocol, `Ordering`: it is made from an `OrderingProblem`,
and given the truth of an event's predicates, it says which of them it evaluated and which
subscriptions match.

- `problem`: `OrderingProblem`, the protocol `Ordering`, and what an evaluation returns.
- `naive`: Naive, which takes subscriptions in turn, each until one of its predicates is false.
- `sequential`: Sequential, which evaluates all predicates of an undecided subscription.
- `sub_order`: Sub-Order, which orders subscriptions by what they save through shared predicates.
- `linked_chains`: the structure of Sub-Order, kept up to date as subscriptions come and go.
- `engine_order`: the order of matchwood itself, given the selectivities.
- `optimum`: lower bounds by exhaustive search, for small problems.

`naive_kernels`, `sequential_kernels` and `sub_order_kernels` have the compiled parts.
"""

from matchwood.lab.papers.ordering.problem import Evaluated, Ordering, OrderingProblem

__all__ = ["Evaluated", "Ordering", "OrderingProblem"]
