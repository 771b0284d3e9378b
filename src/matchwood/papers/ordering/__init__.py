"""Which predicates to evaluate, and in which order: the algorithms of Liu et al. (DEBS 2007).

Z. Liu, S. Parthasarathy, A. Ranganathan, H. Yang: *Scalable Event Matching for Overlapping
Subscriptions in Pub/Sub Systems*. Subscriptions are conjunctions of predicates that cost. All have
one protocol, `Ordering`: made of a `Problem`, asked with the truth of an event's predicates, it
says which of them it evaluated, and which subscriptions match.
"""

from matchwood.papers.ordering.problem import Evaluated, Ordering, Problem

__all__ = ["Evaluated", "Ordering", "Problem"]
