"""Conjunctions of intervals, and events that meet their ends."""

from hypothesis import strategies as st

from matcher.random_rules import ordered, text, trees
from matchwood.lab.papers.shared.axes import is_conjunctive

ATTRIBUTES = ["p", "q", "r", "s"]
numbers = st.integers(0, 6).map(lambda number: number / 2 if number % 2 else number // 2)
attributes = st.sampled_from(ATTRIBUTES)
intervals = st.one_of(
    text("{} {} {}", attributes, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), numbers),
    text("{} between {} and {}", attributes, numbers, numbers),
    text("{} > {} and {} <= {}", attributes, numbers, attributes, numbers),
    text("{} not between {} and {}", attributes, numbers, numbers),
)
conjunctions = st.lists(intervals, min_size=1, max_size=6).map(" and ".join)
any_conjunctions = trees(ordered, max_leaves=4).filter(is_conjunctive).map(str)
numeric_events = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(ATTRIBUTES, st.one_of(numbers, st.sampled_from([0.25, -1, 9, "1"])))
)
