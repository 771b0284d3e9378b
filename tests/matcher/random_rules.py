"""Rules and events for the engine: few names and values, so that predicates meet what they test."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy
from hypothesis import settings
from hypothesis import strategies as st

from language.random_rules import trees_over
from matchwood.language import parse

NAMES = ["a", "b", "c.d", "größe"]


def examples(share, **more):
    """Settings for a share of the examples that the profile asks for."""
    return settings(max_examples=max(1, int(share * settings.default.max_examples)), **more)


NUMBERS = [
    "0", "1", "-1", "1.5", "0.1", "2", "3", "9007199254740992", "9007199254740993",
    "9223372036854775808", "9223372036854776000", "-9223372036854775809", "1e400", "-1e400",
    "0.30000000000000004", "1e22", "3.4028234663852886e38",
]  # fmt: skip
STRINGS = [
    "", "a", "ab", "x", "É", "é", "ß", "😀", "2026-01-31", "10.1.2.3", "\ud7ff", "\ue000",
    "\U0010ffff", "it''s", "ſ", "a%b",
]  # fmt: skip
TIMES = [
    "date '2026-01-31'", "timestamp '2026-01-31T10:00:00Z'", "date '0001-01-01'",
    "timestamp '9999-12-31T23:59:59.999999999'", "timestamp '2026-01-31T00:00:00.000000001'",
]  # fmt: skip
PATTERNS = [
    "", "%", "a%", "%a", "%a%", "_", "a_", "É%", "%b", "a%b", r"a\%b", "%😀", "_%_", "%%", "ß",
    "A%", "2026%", "%.2.%", "\U0010ffff%",
]  # fmt: skip
EXPRESSIONS = ["", "a", "^a", "b$", "^a.*b$", "(?i)é", r"\d{4}-", "^$", "[[:alpha:]]", "x|😀"]
NETWORKS = ["10.0.0.0/8", "10.1.2.3", "::/0", "0.0.0.0/0", "10.1.0.0/16", "fe80::/10"]
COMPARED = ["=", "!=", "<", "<=", ">", ">="]

names = st.sampled_from([f"`{name}`" for name in NAMES])


def quoted(strings):
    return st.sampled_from(strings).map(lambda text: f"'{text}'")


literals = [
    st.sampled_from(NUMBERS),
    quoted(STRINGS),
    st.sampled_from(["true", "false"]),
    st.sampled_from(TIMES),
]
of_one_family = st.sampled_from(literals)


def text(template, *parts):
    return st.builds(lambda *found: template.format(*found), *parts)


maybe_not = st.sampled_from(["", "not "])
ordered = st.one_of(
    text("{} {} {}", names, st.sampled_from(COMPARED), st.one_of(literals)),
    of_one_family.flatmap(
        lambda family: text("{} {}between {} and {}", names, maybe_not, family, family)
    ),
    of_one_family.flatmap(
        lambda family: text(
            "{} {}in ({})",
            names,
            maybe_not,
            st.lists(family, min_size=1, max_size=4).map(", ".join),
        )
    ),
    text("{} is {}null", names, maybe_not),
    names,
)
stringy = st.one_of(
    text(
        "{} {}{} {}", names, maybe_not, st.sampled_from(["like", "ilike"]), quoted(PATTERNS)
    ),
    text("{} {}rlike {}", names, maybe_not, quoted(EXPRESSIONS)),
    text(
        "{}{}({}, {})", maybe_not, st.sampled_from(["startswith", "endswith", "contains"]), names,
        quoted(STRINGS),
    ),
    text("{}in_network({}, {})", maybe_not, names, quoted(NETWORKS)),
)  # fmt: skip
lazy = st.one_of(
    text("{} {} {}", names, st.sampled_from(COMPARED), names),
    text("{}contains({}, {})", maybe_not, names, names),
    text("{}odd({})", maybe_not, names),
    text("{}close({}, {}, {})", maybe_not, names, names, st.sampled_from(NUMBERS)),
    text("{}maybe({})", maybe_not, names),
)
subjects = st.one_of(names, names.map(lambda name: f"lower({name})"), st.just("*"))
inner_leaves = st.one_of(
    text("it {} {}", st.sampled_from(COMPARED), st.one_of(literals)),
    text("{} {} {}", names, st.sampled_from(COMPARED), st.one_of(literals)),
    text("{} is {}null", st.one_of(names, st.just("it")), maybe_not),
    text("* = {}", st.one_of(literals)),
    text("contains(it, {})", quoted(STRINGS)),
)
inner = st.one_of(
    inner_leaves,
    text("{}{} {} {}", maybe_not, inner_leaves, st.sampled_from(["and", "or"]), inner_leaves),
)
simple = st.one_of(ordered, stringy)
lowered = st.one_of(
    text("lower({}) {} {}", names, st.sampled_from(COMPARED), st.one_of(literals)),
    text("{}lower({}) like {}", maybe_not, names, quoted(PATTERNS)),
    text("contains(lower({}), {})", names, st.one_of(literals)),
)
tests = st.sampled_from(["true", "false", "unknown", "not true", "not false", "not unknown"])
mixed = st.lists(st.one_of(literals), min_size=2, max_size=5).map(", ".join)
several = st.lists(quoted(PATTERNS), min_size=1, max_size=3).map(", ".join)
like_many = text(
    "{} {} {} ({})", names, st.sampled_from(["like", "ilike"]), st.sampled_from(["any", "all"]),
    several,
)  # fmt: skip
whole = st.one_of(
    text("({}) is {}", st.one_of(simple, text("{} or {}", simple, simple)), tests),
    text("({} xor not {}) is {}", simple, simple, tests),
    text("at_least({}, {}, {}, {})", st.sampled_from("123"), simple, simple, simple),
    text("{}({}, {})", st.sampled_from(["any", "every"]), names, inner),
    text("{} {} {}", subjects, st.sampled_from(COMPARED), st.one_of(literals)),
    text("{} {}like {}", subjects, maybe_not, quoted(PATTERNS)),
    text("lower({}) {} {}", names, st.sampled_from(COMPARED), names),
    text("startswith({}, {})", subjects, quoted(STRINGS)),
    text("{} {}in ({})", st.one_of(names, subjects), maybe_not, mixed),
    text("{} {} 2 * {} - 1.5", names, st.sampled_from(COMPARED), names),
    text("{} / {} {} 1", names, names, st.sampled_from(COMPARED)),
    text("{} {}in list 'some'", st.one_of(names, subjects), maybe_not),
    like_many,
)  # fmt: skip
LISTS = {"some": [0, 1.5, "a", "É", "it's", True, date(2026, 1, 31)]}
alien = text("{}contains({}, {})", maybe_not, names, st.one_of(literals))
constants = st.sampled_from(["true", "false"])


def trees(*leaves, max_leaves=10):
    return trees_over(st.one_of(*leaves).map(parse), max_leaves)


tested = text("({}) is {}", st.one_of(ordered, stringy, lowered, alien), tests)
coded_rules = trees(ordered, ordered, stringy, alien, lowered, tested, constants)
rules = trees(ordered, ordered, stringy, lazy, alien, constants)


# All of the language, with what the index evaluates as a whole.
@st.composite
def whole_leaves(draw):
    """A function, because Hypothesis refuses the long description of these strategies."""
    return draw(st.one_of(ordered, stringy, lazy, whole, whole, constants))


whole_rules = trees(whole_leaves())


# Operators that a user might register


def odd(value):
    return value % 2 == 1 if type(value) is int else None


def close(left, right, distance):
    try:
        return abs(Decimal(str(left)) - Decimal(str(right))) <= distance
    except ArithmeticError:
        return None


def maybe(value):
    return None if isinstance(value, list | tuple) else bool(value)


OPERATORS = {"odd": odd, "close": close, "maybe": maybe}

# Events

SCALARS = [
    None, True, False, 0, 1, -1, 1.5, 0.1, 0.30000000000000004, 2, 2.0, 3, 2**53, 2**53 + 1,
    float(2**53), 2**63, 2**63 + 1, float(2**63), -(2**63) - 1, 10**400, -(10**400), 1e22, 1e308,
    float("nan"), float("inf"), float("-inf"), Decimal("0.1"), Decimal("1e400"), Decimal("1e-400"),
    Decimal("NaN"), Decimal("Infinity"), Decimal("9007199254740992.5"), -0.0,
    numpy.float32(0.1), numpy.float32(3.4028234663852886e38), numpy.int8(1), numpy.bool_(True),
    numpy.uint64(2**63), numpy.str_("a"), numpy.datetime64("2026-01-31"),
    "", "a", "ab", "aXb", "x", "É", "é", "ß", "ẞ", "ſ", "S", "😀", "x😀", "2026-01-31", "10.1.2.3",
    "2026-01-31T10:00:00Z", "2026-01-31 11:00+01:00", "2026-01-31T00:00:00.000000001", "2026-02-30",
    "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffff", "it's", "a%b", "fe80::1", "\n", "a\n",
    date(2026, 1, 31), date(1, 1, 1), datetime(2026, 1, 31, 10, tzinfo=UTC),
    datetime(2026, 1, 31, 10), datetime(2026, 1, 31, 11, tzinfo=timezone(timedelta(hours=1))),
    timedelta(1), b"a",
]  # fmt: skip
scalars = st.sampled_from(SCALARS)
lists = st.one_of(st.lists(scalars, max_size=4), st.lists(scalars, max_size=2).map(tuple))
# Elements have the attributes that the rules inside `any` and `every` name.
objects = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("a", "b", "größe", "x"), st.one_of(scalars, lists)),
        "c": st.fixed_dictionaries({}, optional={"d": st.one_of(scalars, lists)}),
    },
)
values = st.one_of(scalars, scalars, scalars, lists, objects, st.lists(objects, max_size=2))
flat = dict.fromkeys((*NAMES, "unknown"), values)
nested = dict.fromkeys(("a", "b", "größe"), values) | {
    "c": st.one_of(
        values,
        st.fixed_dictionaries({}, optional={"d": values}),
        st.lists(st.one_of(scalars, st.fixed_dictionaries({}, optional={"d": values})), max_size=3),
    )
}
events = st.one_of(
    st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, scalars)),
    st.fixed_dictionaries({}, optional=flat),
    st.fixed_dictionaries({}, optional=nested),
)
