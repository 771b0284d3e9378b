"""`in_network` is an interval of addresses: it answers as `evaluate` does, and nothing is lazy."""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matcher.expected import SWEEP, assert_right, batches, expected, pairs
from matchwood import Matcher

NETWORKS = [
    "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "10.1.2.3", "0.0.0.0/0", "255.255.255.255", "::/0",
    "::1", "fe80::/10", "2001:db8::/32", "2001:db8::/33", "::ffff:0:0/96", "128.0.0.0/1",
]  # fmt: skip
VALUES = [
    "10.1.2.3", "10.1.2.4", "10.255.255.255", "11.0.0.0", "9.255.255.255", "0.0.0.0",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "2001:db8::1", "2001:DB8:8000::",
    "::ffff:10.1.2.3", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "010.1.2.3", "10.1.2", "",
    " 10.1.2.3", "2026-01-31", "2026-01-31T00:00:00Z", "x", "1" * 100, 167838211, True, None, 1.5,
]  # fmt: skip
rules = st.one_of(
    st.sampled_from(NETWORKS).map(lambda net: f"in_network(a, '{net}')"),
    st.sampled_from(NETWORKS).map(lambda net: f"not in_network(a, '{net}')"),
    st.sampled_from(NETWORKS).map(lambda net: f"in_network(a, '{net}') and b = 1"),
    st.sampled_from(NETWORKS).map(lambda net: f"in_network(a, '{net}') xor a < '2'"),
    st.sampled_from(
        ["a >= date '2026-01-31'", "a = '10.1.2.3'", "a is null", "not (a < date '2026-02-01')"]
    ),
)
values = st.one_of(st.sampled_from(VALUES), st.lists(st.sampled_from(VALUES), max_size=3))
events = st.fixed_dictionaries({"a": values}, optional={"b": st.just(1)})


@settings(max_examples=100, deadline=None)
@given(st.lists(rules, min_size=1, max_size=8), st.lists(events, max_size=6), st.booleans())
def test_as_evaluate_says(texts, seen, profiled):
    known = dict(enumerate(texts))
    matcher = Matcher(known, statistics=Matcher.profile(seen) if profiled else None)
    assert not any(part.segment.lazy for part in matcher.store.snapshot.parts)
    assert_right(matcher, known, seen)


def every():
    known = {
        f"{net} {negated}": f"{negated}in_network(a, '{net}')"
        for net in NETWORKS
        for negated in ("", "not ")
    }
    return known | {"time": "a > date '2020-01-01'", "string": "a = '::1'"}


@pytest.mark.parametrize("lists", [False, True])
def test_tables(lists):
    texts = [value for value in VALUES if value is None or isinstance(value, str)]
    column = [[text, texts[0]] for text in texts] if lists else texts
    seen = [{"a": value} for value in column]
    matcher = Matcher(every())
    right = expected(every(), seen)
    assert right
    assert batches(matcher, seen, SWEEP) == right
    assert pairs(matcher.match_batch(pa.table({"a": pa.array(column)}))) == right


def test_files(tmp_path):
    seen = [{"a": value} for value in VALUES]
    Matcher(every()).save(tmp_path / "networks.mw")
    assert_right(Matcher.load(tmp_path / "networks.mw"), every(), seen)


ODD = [
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.2.3.4",
    "1.2.3.4 ",
    "1.2.3.4\n",
    "\u0661.2.3.4",
    ".1.2.3",
]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_columns_of_many_addresses(kind):
    """Arrow reads what is spelt as addresses usually are, and Python the rest."""
    rng = random.Random(kind)
    ends = [0, 1, 9, 10, 99, 100, 127, 128, 199, 200, 249, 250, 254, 255]
    spelt = [".".join(str(rng.choice(ends)) for _ in range(4)) for _ in range(300)]
    texts = [*spelt, *ODD, *(value for value in VALUES if isinstance(value, str)), None]
    rng.shuffle(texts)
    networks = rng.sample(spelt, 20) + NETWORKS
    known = {n: f"in_network(a, '{net}')" for n, net in enumerate(networks)}
    known |= {-1: "not in_network(a, '128.0.0.0/1')", -2: "a > date '2026-01-01'"}
    table = pa.table({"a": pa.array(texts, getattr(pa, kind)())})
    assert batches(Matcher(known), table, SWEEP) == expected(known, [{"a": text} for text in texts])
