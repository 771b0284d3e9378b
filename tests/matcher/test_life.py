"""Rules are added, changed and removed, parts merge, matchers are copied: answers stay right."""

import copy
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from matcher.expected import STRATEGIES, assert_right, batches, expected, singles
from matcher.random_rules import OPERATORS, events, examples, rules
from matchwood import Matcher, RuleError, attr, parse

IDS = st.integers(-5, 40)


class Life(RuleBasedStateMachine):
    """A matcher beside a dict of its rules."""

    def __init__(self):
        super().__init__()
        self.matcher = Matcher(operators=OPERATORS)
        self.rules = {}
        self.seen = [{}]

    @initialize(some=st.lists(events, min_size=1, max_size=4))
    def choose_events(self, some):
        self.seen = some

    @rule(rule_id=IDS, tree=rules)
    def put(self, rule_id, tree):
        self.matcher[rule_id] = tree
        self.rules[rule_id] = tree

    @rule(rule_id=IDS, tree=rules)
    def put_text(self, rule_id, tree):
        self.matcher.add(rule_id, str(tree), tags={"t"}, priority=rule_id)
        self.rules[rule_id] = tree

    @rule(rule_id=IDS)
    def remove(self, rule_id):
        if rule_id in self.rules:
            del self.matcher[rule_id]
            del self.rules[rule_id]
        else:
            with pytest.raises(KeyError):
                del self.matcher[rule_id]

    @rule(many=st.lists(st.tuples(IDS, rules), max_size=30))
    def put_many(self, many):
        assert self.matcher.update(many) == []
        self.rules.update(many)

    @rule(first=st.integers(0, 900), count=st.integers(1, 300), tree=rules)
    def put_a_block(self, first, count, tree):
        """Enough rules that parts are merged."""
        block = {1000 + first + i: f"({tree}) and a != {i % 7}" for i in range(count)}
        self.matcher.update(block)
        self.rules.update((rule_id, parse(text)) for rule_id, text in block.items())

    @rule(keep=st.integers(2, 5))
    def remove_most(self, keep):
        for rule_id in list(self.rules):
            if rule_id % keep:
                del self.matcher[rule_id]
                del self.rules[rule_id]

    @rule(rule_id=IDS, text=st.sampled_from(["a =", "", "a = 1 and", "unknown(a)", "isa(a, 'x')"]))
    def refuse(self, rule_id, text):
        with pytest.raises(RuleError):
            self.matcher[rule_id] = text
        with pytest.raises(RuleError):
            self.matcher.update({rule_id: "a = 1", rule_id + 1: text})
        [(refused, _)] = self.matcher.update({rule_id: text}, errors="collect")
        assert refused == rule_id

    @rule()
    def compact(self):
        self.matcher.compact()
        assert len(self.matcher.store.snapshot.parts) <= 1

    @rule()
    def join(self):
        self.matcher.join()

    @rule()
    def clear(self):
        self.matcher.clear()
        self.rules.clear()

    @rule(how=st.sampled_from([copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]))
    def take_a_copy(self, how):
        old = self.matcher
        self.matcher = how(old)
        old.clear()  # a copy does not depend on its original

    @rule()
    def save_and_load(self):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rules.mw"
            self.matcher.save(path)
            self.matcher = Matcher.load(path, operators=OPERATORS)
            assert set(self.matcher) == set(self.rules)

    @invariant()
    def says_what_its_rules_say(self):
        assert len(self.matcher) == len(self.rules)
        assert set(self.matcher) == set(self.rules)
        right = expected(self.rules, self.seen, OPERATORS)
        assert singles(self.matcher, self.seen) == right
        for strategy in STRATEGIES:
            assert batches(self.matcher, self.seen, strategy) == right

    @invariant()
    def keeps_its_rules(self):
        for rule_id in list(self.rules)[:3]:
            assert self.matcher[rule_id] == self.rules[rule_id]


class LongLife(Life):
    """The same, for longer."""


TestLongLife = pytest.mark.slow(LongLife.TestCase)
TestLongLife.settings = examples(0.06, stateful_step_count=40)
TestLife = Life.TestCase
TestLife.settings = examples(0.08, stateful_step_count=20)


EVENTS = [{"a": value} for value in range(5)] + [{}, {"a": [1, 3]}]


def settle(matcher):
    while matcher.store._merging is not None:
        matcher.join()


def test_many_single_updates_make_few_parts():
    matcher, known = Matcher(), {}
    for number in range(1500):
        known[number % 700] = f"a = {number % 5} or b = {number}"
        matcher[number % 700] = known[number % 700]
    settle(matcher)
    assert len(matcher.store.snapshot.parts) <= 5
    assert len(matcher.store.snapshot.pending) <= 16
    assert_right(matcher, known, EVENTS)


def test_updates_while_a_merge_is_under_way(monkeypatch):
    """Rules that are removed or changed while parts are merged must not come back."""
    matcher = Matcher({number: f"a = {number % 5}" for number in range(3000)})
    known = {number: f"a = {number % 5}" for number in range(3000)}
    for block in range(1, 8):
        more = {block * 10_000 + n: f"a = {n % 4} and a != {block}" for n in range(600)}
        matcher.update(more)
        known |= more
        for rule_id in list(more)[:50] + list(range(block * 100, block * 100 + 50)):
            del matcher[rule_id]
            del known[rule_id]
        matcher[block] = known[block] = f"a > {block % 4}"
    settle(matcher)
    assert_right(matcher, known, EVENTS)
    matcher.compact()
    assert_right(matcher, known, EVENTS)


def test_a_copy_where_a_small_part_was_replaced_by_a_larger():
    first = {number: f"a = {number}" for number in range(100)}
    matcher = Matcher(first)
    later = {number: f"a = {number % 3}" for number in range(50, 2000)}
    matcher.update(later)
    known = first | later
    for copied in (copy.copy(matcher), pickle.loads(pickle.dumps(matcher))):
        assert set(copied) == set(known)
        assert_right(copied, known, EVENTS)
        del copied[70]
        assert 70 in matcher


def test_the_last_of_equal_ids_counts():
    matcher = Matcher([("x", "a = 1"), ("y", "a = 2"), ("x", "a = 3")])
    assert matcher.match({"a": 1}) == []
    assert matcher.match({"a": 3}) == ["x"]
    assert matcher.update([("y", "a ="), ("y", "a = 5")]) == []
    assert matcher.match({"a": 5}) == ["y"]


def test_rules_however_they_are_given():
    given = {
        "text": "a = 1",
        "json": {"attr": "a", "op": "=", "value": 1},
        "json text": '{"attr": "a", "op": "=", "value": 1}',
        "tree": parse("a = 1"),
        "python": attr("a").eq(1),
        "constant": True,
    }
    matcher = Matcher(given)
    assert sorted(matcher.match({"a": 1})) == sorted(given)
    for rule_id, form in given.items():
        matcher[rule_id] = form
    matcher.compact()
    assert sorted(matcher.match({"a": 1})) == sorted(given)
    assert {str(matcher[i]) for i in given} == {"a = 1", "true"}


def test_rules_in_tables():
    rows = [
        {"id": "x", "rule": "a = 1", "tags": ["eu", "us"], "priority": 2},
        {"id": "y", "rule": "a >= 1", "tags": None, "priority": None},
    ]
    table = pa.Table.from_pylist(rows)
    for form in (table, table.to_pandas(), pa.RecordBatch.from_pylist(rows)):
        matcher = Matcher(form)
        assert sorted(matcher.match({"a": 1})) == ["x", "y"]
        assert matcher.match({"a": 1}, tags={"eu"}) == ["x"]
        assert matcher.match({"a": 1}, limit=1) == ["x"]
    with pytest.raises(ValueError, match="'rule'"):
        Matcher(table.drop_columns("rule"))
    with pytest.raises(RuleError):
        Matcher(pa.table({"id": ["x"], "rule": pa.array([None], pa.string())}))


def test_a_rule_in_json_is_kept_as_it_was():
    """Changing a dict after it was given as a rule does not change the rule."""
    form = {"attr": "a", "op": "=", "value": 1}
    matcher = Matcher({1: form})
    form["value"] = 2
    matcher.compact()
    assert str(matcher[1]) == "a = 1"


def test_a_rule_too_large_to_be_read_again_is_refused():
    """Merges parse the texts of rules: a rule that does not parse again would be lost."""
    form = {"attr": "a", "op": "=", "value": "x" * (1 << 20)}
    matcher = Matcher()
    with pytest.raises(RuleError, match="bytes"):
        matcher["long"] = form
    with pytest.raises(RuleError, match="bytes"):
        matcher.update({"long": form})
    assert len(matcher) == 0


def test_bad_rules_change_nothing():
    matcher = Matcher({1: "a = 1", 2: "a = 2"})
    bad = {1: "a = 3", 3: "a = 4", 2: "a = and"}
    with pytest.raises(RuleError) as error:
        matcher.update(bad)
    assert error.value.column == 5
    assert {rule_id: str(matcher[rule_id]) for rule_id in matcher} == {1: "a = 1", 2: "a = 2"}
    with pytest.raises(RuleError):
        matcher[1] = "unknown(a)"
    assert str(matcher[1]) == "a = 1"
    refused = matcher.update({**bad, 5: "?x > 1", 6: "f(a)", 7: None}, errors="collect")
    assert {rule_id for rule_id, _ in refused} == {2, 5, 6, 7}
    assert all(isinstance(error, RuleError) for _, error in refused)
    assert {rule_id: str(matcher[rule_id]) for rule_id in matcher} == {
        1: "a = 3", 2: "a = 2", 3: "a = 4",
    }  # fmt: skip
    with pytest.raises(ValueError, match="collect"):
        matcher.update({}, errors="ignore")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({1: "a = 1", "x": "a = 1"}, TypeError),
        ({"x": "a = 1", 1: "a = 1"}, TypeError),
        ({True: "a = 1"}, TypeError),
        ({1.5: "a = 1"}, TypeError),
        ({None: "a = 1"}, TypeError),
        ({b"x": "a = 1"}, TypeError),
        ({2**63: "a = 1"}, ValueError),
        ({-(2**63) - 1: "a = 1"}, ValueError),
        ({"\ud800": "a = 1"}, ValueError),
        ([("x", "a = 1", "more")], TypeError),
        ([5], TypeError),
    ],
)
def test_ids_that_are_refused(given, error):
    with pytest.raises(error):
        Matcher(given)
    matcher = Matcher()
    if isinstance(given, dict) and len(given) == 1:
        with pytest.raises(error):
            matcher.add(*next(iter(given.items())))
    assert len(matcher) == 0


def test_ids_come_back_in_their_type():
    for ids in ([2**63 - 1, -(2**63), 0], ["", "ä", "x" * 1000]):
        matcher = Matcher(dict.fromkeys(ids, "a = 1"))
        for _ in range(2):
            assert sorted(matcher.match({"a": 1})) == sorted(ids)
            found = matcher.match_batch([{"a": 1}])["rule_id"].to_pylist()
            assert sorted(found) == sorted(ids)
            assert {type(rule_id) for rule_id in matcher.match({"a": 1})} == {type(ids[0])}
            matcher[ids[0]] = "a = 1"  # now one of them is pending
        with pytest.raises(TypeError):
            matcher["x" if isinstance(ids[0], int) else 1] = "a = 1"


def test_a_mapping():
    matcher = Matcher({"x": "a = 1"})
    assert "x" in matcher
    assert "y" not in matcher
    assert matcher == Matcher({"x": "a=1"})
    assert str(matcher.pop("x")) == "a = 1"
    assert matcher.get("x") is None
    matcher.setdefault("y", "b = 1")
    assert list(matcher) == ["y"]
    assert matcher.popitem()[0] == "y"
    with pytest.raises(KeyError):
        matcher["y"]
    assert Matcher(Matcher({"x": "a = 1"})).match({"a": 1}) == ["x"]


def test_progress_is_told():
    told = []
    Matcher({n: f"a = {n} -- told" for n in range(20)}, progress=lambda *at: told.append(at))
    assert all(0 <= done <= total == 20 for done, total in told)


def test_saved_and_loaded(tmp_path):
    known = {f"r{n}": f"a = {n % 5} or name like '%{n}%' and a < b" for n in range(500)}
    matcher = Matcher(known)
    for name in ("r1", "r2"):
        del matcher[name]
        del known[name]
    matcher["r3"] = known["r3"] = "a > 2"
    matcher.add("tagged", "a >= 0", tags={"eu"}, priority=5)
    known["tagged"] = "a >= 0"
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw")
    more = [*EVENTS, {"name": "x17", "a": 1, "b": 2}]
    assert set(loaded) == set(known)
    assert_right(loaded, known, more)
    assert loaded.match({"a": 4}, tags="eu") == ["tagged"]
    assert loaded.match({"a": 4}, limit=1) == ["tagged"]
    loaded["r5"] = known["r5"] = "a is null"
    del loaded["r6"], known["r6"]
    assert_right(loaded, known, more)
    loaded.update({f"n{n}": "a = 1" for n in range(100)})
    known |= {f"n{n}": "a = 1" for n in range(100)}
    loaded.compact()
    loaded.save(tmp_path / "again.mw")
    assert_right(Matcher.load(tmp_path / "again.mw"), known, more)
    assert_right(pickle.loads(pickle.dumps(loaded)), known, more)


def test_many_rules_are_removed_at_once() -> None:
    m = Matcher({n: f"x >= {n}" for n in range(100)})
    m[100] = "x >= 0"  # pending
    assert m.remove([3, 5, 100, 5, 1_000]) == 3
    assert sorted(m.match({"x": 10})) == [0, 1, 2, 4, 6, 7, 8, 9, 10]
    assert len(m) == 98
    assert m.remove([]) == 0
    assert m.remove(n for n in range(8, 12)) == 4


@pytest.mark.parametrize("one", ["adults", b"adults", 7, None, True])
def test_one_id_is_not_taken_for_many(one: object) -> None:
    """A string is a sequence of strings, which may well be ids."""
    m = Matcher(dict.fromkeys("adults", "x = 1") | {"adults": "x = 1"})
    with pytest.raises(TypeError, match="remove takes several ids") as caught:
        m.remove(one)  # type: ignore[arg-type]
    assert f"`del m[{one!r}]` or `m.remove([{one!r}])`" in str(caught.value)
    assert len(m) == 7
