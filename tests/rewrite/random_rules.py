"""Small random rules and events for the properties of rewrites: few names, so that parts meet."""

from hypothesis import strategies as st

from matchwood.language import parse
from matchwood.language.tree import And, Node, Not, Or, Xnor, Xor

NAMES = ["a", "b", "c.d"]

LEAVES = [
    "{0} = 1", "{0} != 1", "{0} = 2", "{0} < 2", "{0} >= 2", "{0} > 2", "{0} <= 1.5",
    "{0} in (1, 2)", "{0} in (2, 1, 2)", "{0} not in (2, 3)", "{0} in (3)", "{0} between 1 and 2",
    "{0} between 2 and 2", "{0} between 3 and 1", "{0} not between 3 and 1", "{0}", "{0} = false",
    "{0} > false", "{0} = 'x'", "{0} != 'x'", "{0} < 'x'", "{0} < ''", "{0} in ('x', '')",
    "{0} like 'x%'", "{0} not like 'x%'", "{0} ilike 'X'", "{0} rlike '^2'", "{0} is null",
    "{0} is not null", "{0} = date '2026-01-01'", "{0} > date '2026-01-01'",
    "{0} < date '2026-01-01'", "{0} < b", "{0} >= b", "b > {0}", "{0} = b", "{0} != a",
    "startswith({0}, 'x')", "endswith({0}, 'x')", "contains({0}, 'x')", "contains({0}, 1)",
    "true", "false",
]  # fmt: skip

leaves = st.builds(
    lambda leaf, name: parse(leaf.format(name)), st.sampled_from(LEAVES), st.sampled_from(NAMES)
)


def _inner(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(children, min_size=2, max_size=4)
    kinds = [st.builds(kind, some) for kind in (And, Or, Xor, Xnor)]
    return st.one_of(*kinds, st.builds(Not, children))


rules = st.recursive(leaves, _inner, max_leaves=12)

singles = st.sampled_from(
    [
        None,
        0,
        1,
        1.5,
        2,
        3,
        float("nan"),
        True,
        False,
        "",
        "a",
        "x",
        "xy",
        "2",
        "2026-01-01",
        "2027-01-01",
        b"x",
    ]
)
values = st.one_of(singles, st.lists(singles, max_size=3))


def events(of: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, of))
