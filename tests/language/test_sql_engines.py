"""The same answers as DuckDB and SQLite, for random rules over random events.

Every rule is written twice, as rule text and as SQL, which differ only where the engine has no
such operator or literal; `and`, `or`, `not` and parentheses are the same text in both, so that
precedence is compared as well. Compared are the three truth values of `SELECT (rule)` and the
rows of `WHERE rule`. `pytest --pairs 1000000` compares more.

Left out, because SQL says otherwise or nothing:

- values of the wrong family: columns have types; lists, objects, `in_network`, `isa`;
- `xor` and `xnor` are written as `<>` and `=` of booleans;
- numbers: DuckDB makes doubles of integers that are compared with doubles, so those are compared
  among themselves; SQLite has integers of 64 bits and no decimals. Literals beside doubles have
  15 digits at most: of those a double's shortest decimal and the double itself order alike;
- NaN: null here, the greatest number in DuckDB; SQLite stores it as null, and is compared;
- times: to the microsecond in DuckDB; SQLite has none, so they are texts that order alike;
- `ilike`: DuckDB lowers instead of folding, so only letters where that is one; none in SQLite;
- `rlike`: DuckDB has RE2 as `regexp_matches`; SQLite has none;
- `like any` and `like all`, `at_least`: SQL here has no such operators, so they are written as `or`
  and `and`, and as a sum of booleans;
- `in` of several families: SQLite has columns of several types; DuckDB casts;
- sums over attributes: only of small integers, since the engines round or overflow; a division is
  by attributes that are never 0;
- tests of truth: SQLite has no `unknown`, which is written as `is null`;
- `lower`: only letters with one lower-case letter, and in SQLite only those of ASCII;
- `any` and `every`: DuckDB has lists, also of structs, SQLite has not;
- `in list`: SQL is given the values;
- NUL in strings, where SQLite's text ends.
"""

import math
import random
import sqlite3
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import ClassVar

import duckdb
import pytest

from language.sql_values import (
    ASCII,
    BEYOND_64_BITS,
    CASED,
    DECIMALS,
    DOUBLE_LITERALS,
    DOUBLES,
    EXPRESSIONS,
    INTEGERS,
    LISTS,
    OBJECTS,
    SMALL,
    STRINGS,
    TIMES,
)
from matchwood import parse
from matchwood.language import evaluate
from matchwood.language.named_lists import NamedList

RULES, EVENTS = 100, 50  # in a batch
# What `in list` looks up, and SQL in parentheses.
NAMED = {"words": STRINGS[::3], "numbers": SMALL[::2]}
LOOKED_UP = {name: NamedList(values) for name, values in NAMED.items()}


class Writer:
    """Writes random leaves of rules as (rule text, SQL); `columns` are name → (type, values)."""

    columns: ClassVar
    integers = INTEGERS

    def __init__(self, rng):
        self.rng = rng

    # Values of events

    def event(self):
        event = {}
        for name, (_, values) in self.columns.items():
            value = self.rng.choice(values)
            if self.rng.random() < 0.25:
                value = None
            if value is not None or self.rng.random() < 0.5:  # null and missing are the same
                event[name] = value
        return event

    # Literals, as (rule text, SQL)

    def integer(self):
        number = self.rng.choice(self.integers)
        return (str(number),) * 2

    def double(self):
        return (self.rng.choice(DOUBLE_LITERALS),) * 2

    def decimal(self):
        return (self.rng.choice(DECIMALS),) * 2

    def string(self):
        return (quoted(self.rng.choice(STRINGS)),) * 2

    def boolean(self):
        return (self.rng.choice(["true", "false", "TRUE"]),) * 2

    def time(self):
        value = self.rng.choice(TIMES)
        if value.time() == datetime.min.time() and self.rng.random() < 0.5:
            return f"date '{value.date()}'", self.sql_time(value)
        zone = timedelta(hours=self.rng.choice([0, 0, 1, -5]))
        if not datetime(1, 1, 2) < value < datetime(9999, 12, 30):
            zone = timedelta()
        text = (value + zone).isoformat(sep=self.rng.choice("T "))
        hours = zone // timedelta(hours=1)
        suffix = f"{hours:+03}:00" if hours else self.rng.choice(["", "Z"])
        return f"timestamp '{text}{suffix}'", self.sql_time(value)

    def pattern(self):
        pieces = ["%", "_", "a", "b", "A", "é", "ß", "😀", "\\%", "\\_", "\\\\", "'", " "]
        return "".join(self.rng.choices(pieces, k=self.rng.randrange(5)))

    def cased_pattern(self):
        return "".join(self.rng.choices(["%", "_", "a", "B", "é", "Ö", "\\%"], k=2))

    def element_rule(self):
        """A list, a rule about its elements, and the same of `e` in SQL."""
        number, op = self.rng.randint(-2, 6), self.rng.choice(["=", "<", ">=", "!="])
        if self.rng.random() < 0.5:
            return "x1", f"it {op} {number}", f"e {op} {number}"
        word, no = self.rng.choice(["and", "or"]), self.rng.choice(["", "not "])
        inside = f"{{0}}p {op} {number} {word} {no}{{0}}q = '{self.rng.choice('ab')}'"
        return "y1", inside.format(""), inside.format("e.")

    # Predicates

    def leaf(self):
        return self.rng.choice(self.leaves())()

    def leaves(self):
        return [
            *[self.comparison] * 4,
            self.between,
            self.is_in,
            self.like,
            self.is_null,
            self.attributes,
            self.bare,
            self.constant,
            self.calls,
            self.like_many,
            self.lower,
            self.sum,
            self.at_least,
        ]

    def like_many(self):
        name = self.rng.choice(["s1", "s2"])
        return self.many(f"{name} like", self.pattern, name + " like {} escape '\\'")

    def many(self, start, pattern, single):
        """`any` or `all` of some patterns, which SQL says one by one."""
        which = self.rng.choice(["any", "all"])
        patterns = [quoted(pattern()) for _ in range(self.rng.randint(1, 3))]
        sql = (" or " if which == "any" else " and ").join(map(single.format, patterns))
        return f"{start} {which} ({', '.join(patterns)})", f"({sql})"

    def in_list(self):
        """A list with a name, whose values SQL is given each time."""
        name, columns = self.rng.choice([("words", ["s1", "s2"]), ("numbers", ["n1", "n2"])])
        write = self.sql_text if name == "words" else str
        start = f"{self.rng.choice(columns)} {self.negation()}in"
        return f"{start} list '{name}'", f"{start} ({', '.join(map(write, NAMED[name]))})"

    def sql_text(self, text):
        return quoted(text)

    def lower(self):
        op, no = self.rng.choice(["=", "!=", "<", ">="]), self.negation()
        right = self.rng.choice(["lower(l2)", "l2", quoted("ab"), quoted("AB")])
        rule = self.rng.choice(
            [
                f"lower(l1) {op} {right}",
                f"lower(l1) {op} {right}",
                f"lower(l1) {no}in ('ab', 'B', 'é')",
                f"lower(l1) {no}between 'a' and 'b'",
                f"lower(l1) {no}like '%{self.rng.choice(['a', 'B', 'b_'])}%'",
                f"lower(l1) is {no}null",
            ]
        )
        return rule, rule

    def sum(self):
        op = self.rng.choice(["=", "!=", "<", "<=", ">", ">="])
        rule = self.rng.choice(
            [
                f"n1 {op} 3 * n2",
                f"n1 + n2 {op} n1 * n2 - 2",
                f"n1 - (n2 + 1) {op} 0",
                f"2 * n1 {op} n2 + n1",
            ]
        )
        return rule, rule

    def at_least(self):
        """So many conditions that are never undefined, which SQL can add up."""
        count = self.rng.randint(1, 3)
        tests = [self.test() for _ in range(3)]
        rule = f"at_least({count}, {', '.join(rule for rule, _ in tests)})"
        total = " + ".join(f"case when {sql} then 1 else 0 end" for _, sql in tests)
        return rule, f"({total} >= {count})"

    def test(self):
        """A test of truth of a rule in parentheses."""
        rule, sql = self.rule(0)
        word = self.rng.choice(["true", "false", "unknown"])
        no = self.rng.choice(["", "not "])
        wanted = "null" if word == "unknown" else word
        return f"({rule}) is {no}{word}", f"(({sql}) is {no}{wanted})"

    def operands(self):
        """Attributes and the literals to compare them with."""
        raise NotImplementedError

    def pick(self):
        names, literal = self.rng.choice(self.operands())
        return self.rng.choice(names), literal

    def negation(self):
        return self.rng.choice(["", "", "not ", "NOT "])

    def comparison(self):
        name, literal = self.pick()
        op = self.rng.choice(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
        rule, sql = literal()
        if self.rng.random() < 0.3:
            return f"{rule} {op} {name}", f"{sql} {op} {name}"
        return f"{name} {op} {rule}", f"{name} {op} {sql}"

    def between(self):
        name, literal = self.pick()
        (low, sql_low), (high, sql_high) = literal(), literal()  # often reversed
        start = f"{name} {self.negation()}between"
        return f"{start} {low} and {high}", f"{start} {sql_low} and {sql_high}"

    def is_in(self):
        name, literal = self.pick()
        rules, sqls = zip(*(literal() for _ in range(self.rng.randint(1, 4))), strict=True)
        start = f"{name} {self.negation()}in"
        return f"{start} ({', '.join(rules)})", f"{start} ({', '.join(sqls)})"

    def like(self):
        rule = f"{self.rng.choice(['s1', 's2'])} {self.negation()}like {quoted(self.pattern())}"
        return rule, f"{rule} escape '\\'"

    def is_null(self):
        rule = f"{self.rng.choice(list(self.columns))} is {self.negation()}null"
        return rule, rule

    def attributes(self):
        names, _ = self.rng.choice([pair for pair in self.operands() if len(pair[0]) > 1])
        op = self.rng.choice(["=", "!=", "<", "<=", ">", ">="])
        rule = f"{self.rng.choice(names)} {op} {self.rng.choice(names)}"
        return rule, rule

    def bare(self):
        return (self.rng.choice(["b1", "b2"]),) * 2

    def constant(self):
        return (self.rng.choice(["true", "false", "1 < 2", "'a' > 'b'", "0.5 = .50"]),) * 2

    # Combinations

    def rule(self, depth=3):
        """Operands joined by `and` and `or`, some in parentheses, some negated."""
        rule, sql = self.operand(depth)
        for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
            word = self.rng.choice(["and", "or", "AND"])
            more, more_sql = self.operand(depth)
            rule, sql = f"{rule} {word} {more}", f"{sql} {word} {more_sql}"
        return rule, sql

    def operand(self, depth):
        nots = self.rng.choice(["", "", "", "not ", "not not "])
        if depth and self.rng.random() < 0.1:
            rule, sql = self.test()
            return nots + rule, nots + sql
        if depth and self.rng.random() < 0.3:
            rule, sql = self.parity(depth) if self.rng.random() < 0.3 else self.rule(depth - 1)
            return f"{nots}({rule})", f"{nots}({sql})"
        rule, sql = self.leaf()
        return nots + rule, nots + sql

    def parity(self, depth):
        """`xor` and `xnor` from left to right, which SQL writes as <> and = of booleans."""
        rule, sql = self.leaf()
        for _ in range(self.rng.randint(1, 4)):
            more, more_sql = self.rule(depth - 1)
            word = self.rng.choice(["xor", "xnor"])
            rule = f"{rule} {word} ({more})"
            sql = f"({sql}) {'<>' if word == 'xor' else '='} ({more_sql})"
        return rule, sql


class DuckWriter(Writer):
    integers = INTEGERS + BEYOND_64_BITS
    columns: ClassVar = {
        "i1": ("hugeint", integers),
        "i2": ("hugeint", integers),
        "d1": ("double", DOUBLES),
        "d2": ("double", DOUBLES),
        "m1": ("decimal(18, 3)", [Decimal(number) for number in DECIMALS]),
        "m2": ("decimal(18, 3)", [Decimal(number) for number in DECIMALS]),
        "s1": ("varchar", STRINGS),
        "s2": ("varchar", STRINGS),
        "c1": ("varchar", CASED),
        "b1": ("boolean", [True, False]),
        "b2": ("boolean", [True, False]),
        "t1": ("timestamp", TIMES),
        "t2": ("timestamp", TIMES),
        "e1": ("date", [time.date() for time in TIMES]),
        "l1": ("varchar", CASED),
        "l2": ("varchar", CASED),
        "n1": ("integer", SMALL),
        "n2": ("integer", SMALL),
        "x1": ("integer[]", LISTS),
        "y1": ("struct(p integer, q varchar)[]", OBJECTS),
        "j1": ("timestamp", [time.isoformat() for time in TIMES]),  # a string, as from JSON
    }

    def sql_time(self, value):
        return f"timestamp '{value.isoformat(sep=' ')}'"

    def operands(self):
        return [
            (["i1", "i2"], self.integer),
            (["d1", "d2"], self.double),
            (["m1", "m2"], self.decimal),
            (["s1", "s2"], self.string),
            (["b1", "b2"], self.boolean),
            (["t1", "t2", "e1"], self.time),
            (["j1"], self.time),
        ]

    def leaves(self):
        return [
            *super().leaves(),
            *(self.ilike, self.ilike_many, self.rlike, self.rlike_many),
            *(self.elements, self.in_list),
        ]

    def ilike_many(self):
        return self.many("c1 ilike", self.cased_pattern, "c1 ilike {} escape '\\'")

    def rlike_many(self):
        return self.many("s1 rlike", lambda: self.rng.choice(EXPRESSIONS), "regexp_matches(s1, {})")

    def elements(self):
        """`any` and `every`: what a list of truths has, true of an element or of none."""
        name, inside, within = self.element_rule()
        truths = f"[{within} for e in {name}]"
        rule, sql = self.rng.choice(
            [
                ("any", f"list_bool_or({truths})"),
                ("every", f"list_bool_and({truths})"),
            ]
        )
        unknown = f"list_count({truths}) < len({name})"
        decided, otherwise = ("true", "false") if rule == "any" else ("false", "true")
        case = (
            f"case when {name} is null then null when {sql} = {decided} then {decided} "
            f"when {unknown} then null else {otherwise} end"
        )
        return f"{rule}({name}, {inside})", f"({case})"

    def ilike(self):
        rule = f"c1 {self.negation()}ilike {quoted(self.cased_pattern())}"
        return rule, f"{rule} escape '\\'"

    def rlike(self):
        name, no = self.rng.choice(["s1", "s2"]), self.negation()
        pattern = quoted(self.rng.choice(EXPRESSIONS))
        return f"{name} {no}rlike {pattern}", f"{no}regexp_matches({name}, {pattern})"

    def calls(self):
        name, sql_name = self.rng.choice(
            [("startswith", "starts_with"), ("endswith", "suffix"), ("contains", "contains")]
        )
        arguments = f"({self.rng.choice(['s1', 's2'])}, {self.string()[0]})"
        return name + arguments, sql_name + arguments


class LiteWriter(Writer):
    columns: ClassVar = {
        "i1": ("integer", INTEGERS),
        "i2": ("integer", INTEGERS),
        "d1": ("real", [*DOUBLES, math.nan]),
        "d2": ("real", [*DOUBLES, math.nan]),
        "s1": ("text", STRINGS),
        "s2": ("text", STRINGS),
        "b1": ("boolean", [True, False]),
        "b2": ("boolean", [True, False]),
        "t1": ("text", TIMES),
        "t2": ("text", TIMES),
        "l1": ("text", ASCII),
        "l2": ("text", ASCII),
        "v1": ("", [*SMALL, *STRINGS]),  # without a type, it holds each value as it is
        "n1": ("integer", SMALL),
        "n2": ("integer", SMALL),
    }

    def sql_time(self, value):
        return f"'{lite_value(value)}'"

    def operands(self):
        return [
            (["i1", "i2"], self.integer),
            (["i1", "d1"], self.double),
            (["d1", "d2", "i1"], self.double),
            (["s1", "s2"], self.string),
            (["b1", "b2"], self.boolean),
            (["t1", "t2"], self.time),
        ]

    def leaves(self):
        return [*super().leaves(), self.in_list, self.in_families]

    def in_families(self):
        """Numbers and strings, each of which SQLite finds different from the others."""
        values = [self.rng.choice(SMALL), quoted(self.rng.choice(STRINGS)), self.rng.choice(SMALL)]
        rule = f"v1 {self.negation()}in ({', '.join(map(str, values))})"
        return rule, rule

    def calls(self):
        """Written with `like`: SQLite has no such functions."""
        name, part = self.rng.choice(["s1", "s2"]), self.rng.choice(STRINGS)
        escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        word, pattern = self.rng.choice(
            [
                ("startswith", f"{escaped}%"),
                ("endswith", f"%{escaped}"),
                ("contains", f"%{escaped}%"),
            ]
        )
        return f"{word}({name}, {quoted(part)})", f"{name} like {quoted(pattern)} escape '\\'"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def lite_value(value):
    return value.isoformat(sep=" ", timespec="microseconds") if isinstance(value, date) else value


@pytest.fixture
def duck():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture
def lite():
    connection = sqlite3.connect(":memory:")
    connection.execute("pragma case_sensitive_like = on")
    yield connection
    connection.close()


@pytest.mark.slow
def test_duckdb(duck, pytestconfig):
    compare(duck, DuckWriter, lambda value: value, pytestconfig.getoption("pairs"))


def test_sqlite(lite, pytestconfig):
    compare(lite, LiteWriter, lite_value, pytestconfig.getoption("pairs"))


def compare(connection, kind, to_sql, pairs):
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in kind.columns.items())
    connection.execute(f"create table events (id integer, {columns})")
    marks = ", ".join("?" for _ in range(len(kind.columns) + 1))
    for seed in range(-(-pairs // (RULES * EVENTS))):
        writer = kind(random.Random(seed))
        events = [writer.event() for _ in range(EVENTS)]
        rules = [writer.rule() for _ in range(RULES)]
        connection.execute("delete from events")
        connection.executemany(
            f"insert into events values ({marks})",
            [
                (place, *(to_sql(event.get(name)) for name in kind.columns))
                for place, event in enumerate(events)
            ],
        )
        compare_batch(connection, rules, events)


def compare_batch(connection, rules, events):
    selected = ", ".join(f"({sql})" for _, sql in rules)
    answers = connection.execute(f"select {selected} from events order by id").fetchall()
    for place, (rule, sql) in enumerate(rules):
        tree = parse(rule)
        truths = [evaluate(tree, event, lists=LOOKED_UP) for event in events]
        theirs = [None if row[place] is None else bool(row[place]) for row in answers]
        wrong = [
            (event, ours, its)
            for event, ours, its in zip(events, truths, theirs, strict=True)
            if ours is not its
        ]
        assert not wrong, f"{rule}\n{sql}\n(event, ours, theirs): {wrong[0]}"
        rows = connection.execute(f"select id from events where {sql} order by id").fetchall()
        assert [id_ for (id_,) in rows] == [i for i, truth in enumerate(truths) if truth]
