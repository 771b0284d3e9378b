"""Hypothesis strategies: trees of every kind of node, text, JSON and events of every sort."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy
import pandas
from hypothesis import strategies as st

from matchwood.language.names import KEYWORDS
from matchwood.language.tree import (
    COMPARISONS,
    EVERYTHING,
    IT,
    And,
    AtLeast,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    Elements,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Not,
    Or,
    SumComparison,
    TruthTest,
    VariableComparison,
    Xnor,
    Xor,
)
from matchwood.language.tree.arithmetic import Attribute, Sum, Variable
from matchwood.language.tree.nodes import TRUTHS
from matchwood.language.tree.subjects import lowered
from matchwood.language.values import Time, read_time

UNICODE = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)

FIRST = read_time("0001-01-01")
LAST = read_time("9999-12-31T23:59:59.999999999")

# Literals, by family

numbers = st.one_of(
    st.integers(-10, 10),
    st.integers(-(10**60), 10**60),
    st.sampled_from([2**53, 2**53 + 1, 2**63, 2**63 + 1, -(2**63), 10**400, 10**400 - 1]),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-100, max_value=100),
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(
        lambda digits, exponent: Decimal((0, digits, exponent)),
        st.lists(st.integers(0, 9), min_size=1, max_size=50).map(tuple),
        st.integers(-400, 300),
    ),
)
strings = st.one_of(st.sampled_from(["", "x", "it's", "a%b", "2026-01-31", "-- no"]), UNICODE)
times = st.one_of(
    st.builds(Time, st.integers(FIRST.ns, LAST.ns)),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, UTC])),
    st.sampled_from([FIRST, LAST]),
)
FAMILIES = [numbers, strings, st.booleans(), times]
literals = st.one_of(FAMILIES)

# Names

plain_names = st.sampled_from(["a", "b", "c", "a.b", "größe", "date", "timestamp", "a.not"])
names = st.one_of(
    plain_names, plain_names, st.sampled_from(sorted(KEYWORDS)), st.just("a b"), UNICODE
)
identifiers = st.sampled_from(["x", "y", "people_1", "naïve"])

# Predicates

patterns = st.lists(
    st.sampled_from(["%", "_", "a", "É", "\\%", "\\_", "\\\\", "'", "ß"]), max_size=6
).map("".join)
expressions = st.sampled_from(["", "a", "^a+$", "(?i)É|b", "[[:alpha:]]", "\\d{2}", "'"])


def of_one_family(make):
    return st.sampled_from(FAMILIES).flatmap(make)


like = st.builds(Like, names, st.sampled_from(["like", "ilike"]), patterns, st.booleans())
derived = st.one_of(names.map(lowered), st.just(EVERYTHING))
subjects = st.one_of(names, names, derived)
mixed_in = st.builds(In, subjects, st.lists(literals, min_size=1, max_size=5), st.booleans())
like_many = st.builds(
    LikeMany,
    subjects,
    st.sampled_from(["like", "ilike"]),
    st.sampled_from(["any", "all"]),
    st.lists(patterns, min_size=1, max_size=3),
)
of_subjects = st.one_of(
    st.builds(Comparison, subjects, st.sampled_from(COMPARISONS), literals),
    st.builds(Like, subjects, st.just("like"), patterns, st.booleans()),
    st.builds(
        AttributeComparison, names.map(lowered), st.sampled_from(COMPARISONS), names.map(lowered)
    ),
    st.builds(
        lambda subject, part: Call("contains", (Attribute(subject), part)), derived, literals
    ),
    mixed_in,
    like_many,
)
predicates = st.one_of(
    st.builds(Comparison, names, st.sampled_from(COMPARISONS), literals),
    of_one_family(lambda family: st.builds(Between, names, family, family, st.booleans())),
    of_one_family(
        lambda family: st.builds(In, names, st.lists(family, min_size=1, max_size=4), st.booleans())
    ),
    like,
    st.builds(Like, names, st.just("rlike"), expressions, st.booleans()),
    st.builds(IsNull, names, st.booleans()),
    st.builds(AttributeComparison, names, st.sampled_from(COMPARISONS), names),
    st.builds(Constant, st.booleans()),
)

# Calls, variables and sums

attributes = st.builds(Attribute, names)
variables = st.builds(Variable, identifiers)
calls = st.one_of(
    st.builds(
        Call,
        st.sampled_from(["within", "f", "naïve"]),
        st.lists(st.one_of(attributes, variables, literals), max_size=4),
    ),
    st.builds(
        lambda name, *arguments: Call(name, arguments),
        st.sampled_from(["startswith", "endswith", "contains", "isa"]),
        attributes,
        strings,
    ),
    st.builds(
        lambda attribute, part: Call("contains", (attribute, part)),
        attributes,
        st.one_of(literals, attributes),
    ),
    st.builds(
        lambda attribute, network: Call("in_network", (attribute, network)),
        attributes,
        st.sampled_from(["10.0.0.0/8", "::/0", "1.2.3.4"]),
    ),
)
terms = st.recursive(
    st.one_of(variables.map(lambda v: (v,)), st.integers(-9, 9).map(lambda n: (n,))),
    lambda inner: st.builds(
        lambda left, right, op: (*left, *right, op), inner, inner, st.sampled_from("+-*/")
    ),
    max_leaves=6,
)
sums = terms.map(lambda postfix: Sum(postfix) if len(postfix) > 1 else postfix[0])
with_variable = st.builds(
    lambda postfix, variable: Sum((*postfix, variable, "+")), terms, variables
)
variable_comparisons = st.builds(
    VariableComparison,
    st.one_of(variables, with_variable),
    st.sampled_from(COMPARISONS),
    st.one_of(sums, attributes, literals),
)


def trees_over(leaves, max_leaves=12):
    """Every operator over the leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(TruthTest, inner, st.sampled_from(TRUTHS), st.booleans()),
            st.builds(
                lambda count, rules: AtLeast(1 + count % len(rules), rules),
                st.integers(0, 3),
                st.lists(inner, min_size=1, max_size=4),
            ),
            st.builds(
                lambda kind, operands: kind(operands),
                st.sampled_from([And, Or, Xor, Xnor]),
                st.lists(inner, min_size=2, max_size=4),
            ),
        ),
        max_leaves=max_leaves,
    )


# One definition each for trees that need bindings and trees that `evaluate` can answer.
summands = st.recursive(
    st.one_of(names.map(lambda n: (Attribute(n),)), st.integers(-9, 9).map(lambda n: (n,))),
    lambda inner: st.builds(
        lambda left, right, op: (*left, *right, op), inner, inner, st.sampled_from("+-*/")
    ),
    max_leaves=4,
)
sum_comparisons = st.builds(
    SumComparison,
    st.builds(lambda postfix, name: Sum((*postfix, Attribute(name), "*")), summands, names),
    st.sampled_from(COMPARISONS),
    st.one_of(summands.map(lambda p: Sum(p) if len(p) > 1 else p[0]), numbers, attributes),
)
of_element = st.one_of(
    st.builds(Comparison, st.just(IT), st.sampled_from(COMPARISONS), literals),
    st.builds(IsNull, st.just(IT), st.booleans()),
    st.builds(Comparison, st.just(lowered(IT)), st.just("="), strings),
)


@st.composite
def inner_rules(draw):
    """A rule about an element; a function, because Hypothesis refuses long descriptions."""
    leaves = st.one_of(predicates, of_subjects, of_element, sum_comparisons)
    rule = draw(leaves)
    for _ in range(draw(st.integers(0, 2))):
        rule = draw(st.sampled_from([And, Or, Xor]))((rule, draw(leaves)))
        if draw(st.booleans()):
            rule = Elements(draw(st.sampled_from(Elements.KINDS)), draw(names), rule)
    return rule


elements = st.builds(Elements, st.sampled_from(Elements.KINDS), names, inner_rules())
answered = st.one_of(predicates, predicates, of_subjects, sum_comparisons, elements)
in_list = st.builds(InList, subjects, strings, st.booleans())


@st.composite
def answered_leaves(draw):
    """What `evaluate` can answer; a function, because Hypothesis refuses its long description."""
    return draw(answered)


@st.composite
def all_leaves(draw):
    return draw(st.one_of(answered, answered, in_list, calls, variable_comparisons))


trees = trees_over(all_leaves())
evaluable = trees_over(answered_leaves())

# Text that is nearly, or not at all, a rule

TOKENS = [
    *sorted(KEYWORDS),
    *("(", ")", ",", "=", "==", "!=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", ".", "?"),
    *("--", "\n", " ", "  ", "\t", "'", "''", "`", '"', "\\", ";", "#", "{", "}", "[", "]", ":"),
    *("a", "b.c", "a .", "date", "timestamp", "'x'", "'2026-01-31'", "'%\\'", "`a b`", "?x", "²"),
    *("1", "1.5", ".5", "1e3", "1e", "0x1", "9" * 401, "1e401", "١", "f(", "startswith(", "\x00"),
    *("contains(a, 1)", "in_network(a, '1')", "isa(", "\ud800", "\u2028", "\xa0", "é", "😀"),
]
token_soup = st.lists(st.sampled_from(TOKENS), max_size=25).map("".join)
spaced_soup = st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)
any_text = st.text(max_size=40)


@st.composite
def mutated(draw, texts):
    """A valid text with a piece removed, repeated or put in."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 5)))
        piece = draw(st.one_of(st.just(""), st.just(text[start:end] * 2), st.sampled_from(TOKENS)))
        text = text[:start] + piece + text[end:]
    return text


# JSON, and what is none

json_keys = st.one_of(
    st.sampled_from(["and", "or", "not", "xor", "xnor", "attr", "op", "value", "values", "low"]),
    st.sampled_from(["high", "other", "call", "args", "var", "left", "right", "date", "+", "*"]),
    st.sampled_from(["timestamp", "number"]),
    st.text(max_size=3),
)
json_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["a", "=", "in", "between", "is null", "not like", "%", "2026-01-31", "1e5"]),
)
python_scalars = st.one_of(
    json_scalars,
    st.binary(max_size=3),
    st.decimals(),
    st.dates(),
    st.datetimes(timezones=st.timezones()),
    st.timedeltas(),
    st.complex_numbers(),
    st.sampled_from([10**4000, -(10**4000), object(), int, {1}, range(3), numpy.float32(1)]),
)


def nested(scalars, keys):
    return st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(keys, inner, max_size=4),
            st.fixed_dictionaries({"attr": inner, "op": inner}, optional={"value": inner}),
            st.builds(lambda word, inner: {word: inner}, st.sampled_from(["and", "or"]), inner),
        ),
        max_leaves=15,
    )


json_values = nested(json_scalars, json_keys)
python_values = nested(
    python_scalars, st.one_of(json_keys, st.integers(), st.none(), st.booleans(), st.binary())
)

# Events

EDGES = [
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
    datetime.max.replace(tzinfo=ZoneInfo("America/New_York")),
    datetime.min.replace(tzinfo=ZoneInfo("Asia/Tokyo")),
    date.min,
    date.max,
    time(1),
    timedelta(1),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e999999"),
    Decimal("-1e-999999"),
    float("nan"),
    float("-inf"),
    10**4000,
    numpy.float32("nan"),
    numpy.float64(0.1),
    numpy.int8(-5),
    numpy.uint64(2**64 - 1),
    numpy.bool_(True),
    numpy.str_("x"),
    numpy.bytes_(b"x"),
    numpy.datetime64("NaT"),
    numpy.datetime64("2026-01-31"),
    numpy.datetime64("20000-01-01"),
    numpy.datetime64(10**15, "Y"),
    numpy.timedelta64(1, "s"),
    numpy.array([1, 2]),
    numpy.array(5),
    pandas.NaT,
    pandas.NA,
    pandas.Timestamp.min,
    pandas.Timestamp("2026-01-31T10:00:00.123456789Z"),
    pandas.Timestamp(numpy.datetime64("20000-01-01", "s")),
    pandas.Timedelta(1),
    b"bytes",
    1j,
    object(),
    "\ud800",
]
event_scalars = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    st.floats(),
    strings,
    st.text(max_size=4),
    times,
    st.decimals(),
    st.datetimes(timezones=st.timezones()),
    st.sampled_from(EDGES),
)
event_keys = st.one_of(
    plain_names, st.sampled_from(["", ".", "a.", "a..b", "b.a"]), st.text(max_size=3)
)
event_values = st.recursive(
    event_scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(event_keys, inner, max_size=3),
    ),
    max_leaves=6,
)
events = st.dictionaries(plain_names, event_values, max_size=6)
odd_events = st.dictionaries(
    st.one_of(event_keys, st.integers(), st.none(), st.binary(max_size=2)), event_values, max_size=4
)
