"""Random rules over a pool of predicates, and a matrix of which are true of which events.

The truth of each predicate of each event is what `evaluate` says; `and`, `or`, `not`, `xor` and
`xnor` are then applied to whole columns of events. That is thousands of times as fast as
`evaluate` of every rule, and the tests compare a part of it with `evaluate` all the same.
"""

import random
from datetime import date, datetime

import numpy as np

from matcher.random_rules import (
    EXPRESSIONS,
    LISTS,
    NETWORKS,
    NUMBERS,
    OPERATORS,
    PATTERNS,
    SCALARS,
    STRINGS,
    TIMES,
)
from matchwood import Schema
from matchwood.language import evaluate, parse
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedList
from matchwood.language.tree import And, IsNull, Not, Or, Xnor, Xor
from matchwood.match.batch.sweep.sweep_kernels import MOST_OPERANDS
from matchwood.match.event.bound_kernels import MOST_INTERVALS

# The parent of each kind of `text0`, for `isa`.
KINDS = {"ab": "a", "x": "a", "aXb": "ab", "2026-01-31": "x"}
SCHEMA = Schema.from_dict(
    {"hierarchies": {"kinds": KINDS}, "attributes": {"text0": {"hierarchy": "kinds"}}}
)

NAMED = {name: NamedList(values) for name, values in LISTS.items()}

# Values of the longest `in`, more than the intervals of a predicate that bounds are drawn from.
LONGEST_LIST = 3 * MOST_INTERVALS

# Operands of the widest rules, and the share of the events that have an attribute which is rare.
WIDEST = MOST_OPERANDS + 44
RARELY = 0.04

FALSE, UNDEFINED, TRUE = 0, 1, 2
TRUTH = {False: FALSE, None: UNDEFINED, True: TRUE}
FEW, MANY, MIXED, STRINGY, ABSENT = "few", "many", "mixed", "text", "absent"


class Source:
    """A seeded source of predicates, rules and events.

    `few` attributes have a handful of constants and `many` have thousands; `mixed` ones have
    constants of every family, `text` ones patterns, and events never have `absent` ones. Most
    events have most of the others, and few events have those that are `rare`, so that at most 64
    events of a batch have them.
    """

    def __init__(self, seed, lazy=False):
        self.random = random.Random(seed)
        self.lazy = lazy
        kinds = ((FEW, 4), (MANY, 3), (MIXED, 3), (STRINGY, 2), (ABSENT, 2))
        self.attributes = [f"{kind}{i}" for kind, count in kinds for i in range(count)]
        self.rare = {f"{kind}{count - 1}" for kind, count in kinds}
        self.random.shuffle(self.attributes)  # so that any of them may be the first of an index

    def pick(self, some):
        return some[self.random.randrange(len(some))]

    # Predicates

    def predicates(self, count):
        texts = {f"{name} is {how}" for name in self.attributes for how in ("null", "not null")}
        texts = set(self.random.sample(sorted(texts), min(len(texts), count // 2)))
        while len(texts) < count:
            texts.add(self.predicate())
        return sorted(texts)

    def predicate(self):
        name = self.pick(self.attributes)
        if self.lazy and self.random.random() < 0.15:
            return self._lazy(name)
        if self.random.random() < 0.1:
            return self._derived(name)
        plain = self._plain(name)
        if self.random.random() < 0.1:
            truth = self.pick(("true", "false", "unknown"))
            return f"({plain}) is {self.pick(('', 'not '))}{truth}"
        return plain

    def _derived(self, name):
        """What is about an attribute in lower case, or all values."""
        family = self._literals(MIXED)
        subject = self.pick((f"lower({name})", f"lower({name})", "*"))
        maybe_not = self.pick(("", "not "))
        return self.pick(
            (
                f"{subject} {self.pick(('=', '!=', '<', '>='))} {family()}",
                f"{subject} {maybe_not}in ({family()})",
                f"{maybe_not}{subject} ilike '{self.pick(PATTERNS)}'",
                f"{subject} {maybe_not}rlike '{self.pick(EXPRESSIONS)}'",
                f"contains({subject}, {family()})",
                f"startswith({subject}, '{self.pick(STRINGS)}')",
                f"(lower({name}) like '{self.pick(PATTERNS)}') is {maybe_not}false",
            )
        )

    def _plain(self, name):
        kind = name.rstrip("0123456789")
        if kind == STRINGY or (kind == MIXED and self.random.random() < 0.2):
            return self._pattern(name)
        family = self._literals(kind)
        shape = self.random.randrange(10)
        maybe_not = self.pick(("", "not "))
        if shape < 5:
            return f"{name} {self.pick(('=', '!=', '<', '<=', '>', '>='))} {family()}"
        if shape < 7:
            return f"{name} {maybe_not}between {family()} and {family()}"
        if shape < 9:
            most = LONGEST_LIST if kind == MANY and self.random.random() < 0.2 else 6
            values = [family() for _ in range(self.random.randrange(1, most))]
            return f"{name} {maybe_not}in ({', '.join(values)})"
        return name

    def _lazy(self, name):
        """What an index cannot decide: two attributes, the schema, and operators."""
        other = self.pick(self.attributes)
        # The hierarchy of `text0` is an order of its own, in which attributes are not compared.
        ordered = "=" if "text0" in (name, other) else "<="
        return self.pick(
            (
                f"{name} {ordered} {other}",
                f"{name} = {other}",
                f"contains({name}, {other})",
                f"isa({self.pick(('text0', 'lower(text0)'))}, '{self.pick(sorted(KINDS))}')",
                f"odd({name})",
                f"maybe({name})",
                f"close({name}, {other}, 1)",
                self._whole(name, ordered, other),
                self._whole(name, ordered, other),
            )
        )

    def _whole(self, name, ordered, other):
        """What an index takes as one literal and evaluates as a whole."""
        number, text = self.random.randrange(12), self.pick(STRINGS)
        truth = self.pick(("true", "false", "unknown"))
        maybe_not = self.pick(("", "not "))
        return self.pick(
            (
                f"({name} > {number} or {other} = '{text}') is {maybe_not}{truth}",
                f"at_least(2, {name} > {number}, {other} is null, {name} < 3)",
                f"({name} {ordered} {other}) is {maybe_not}{truth}",
                f"(odd({name}) or maybe({other}) and {name} > {number}) is {maybe_not}{truth}",
                f"at_least({1 + number}, {self._many(name, other)})",
                f"any({name}, it > {number} or it = '{text}')",
                f"every({name}, it <= {number})",
                f"any({name}, x = {number} or every(y, it != '{text}')) and * > {number}",
                f"lower({name}) = lower({other})",
                f"({name} {ordered} lower({other})) is {maybe_not}{truth}",
                f"contains(lower({name}), {other})",
                f"{name} {maybe_not}in ({number}, '{text}', true)",
                f"{name} > 2 * {other} - 1",
                f"{name} {maybe_not}in list 'some'",
                f"{name} ilike {self.pick(('any', 'all'))} ('{self.pick(PATTERNS)}', 'a%')",
            )
        )

    def _many(self, name, other):
        """More rules than a threshold of them is written out with."""
        return ", ".join(f"{self.pick((name, other))} > {number}" for number in range(13))

    def _literals(self, kind):
        if kind == MANY:
            return lambda: str(self.random.randrange(5000))
        if kind == MIXED:
            constants = self.pick(
                (NUMBERS, [f"'{text}'" for text in STRINGS], TIMES, ["true", "false"])
            )
            return lambda: self.pick(constants)
        return lambda: str(self.random.randrange(12))

    def _pattern(self, name):
        shape = self.random.randrange(7)
        maybe_not = self.pick(("", "not "))
        if shape == 6:
            tested = f"{name} {self.pick(('like', 'ilike'))} '{self.pick(PATTERNS)}'"
            if self.random.random() < 0.3:
                tested = f"{name} in ('{self.pick(STRINGS)}', '{self.pick(STRINGS)}')"
            return f"({tested}) is {maybe_not}true"
        if shape < 2:
            return f"{name} {maybe_not}{self.pick(('like', 'ilike'))} '{self.pick(PATTERNS)}'"
        if shape == 2:
            return f"{name} {maybe_not}rlike '{self.pick(EXPRESSIONS)}'"
        if shape == 3:
            return f"{maybe_not}in_network({name}, '{self.pick(NETWORKS)}')"
        call = self.pick(("startswith", "endswith", "contains"))
        return f"{maybe_not}{call}({name}, '{self.pick(STRINGS)}')"

    # Rules: a number of a predicate, or (kind of node, operands)

    def shapes(self, predicates, count):
        """Rules over all predicates, some over tests of null alone, some over one attribute."""
        every = range(len(predicates))
        null = [number for number in every if isinstance(predicates[number], IsNull)] or every
        texts = list(map(str, predicates))
        over = {
            name: [number for number in every if name in texts[number]] for name in self.attributes
        }
        for _ in range(count):
            dice = self.random.random()
            chosen = every
            if dice < 0.1:
                chosen = null
            elif dice < 0.2:
                chosen = over[self.pick(self.attributes)] or every
            if self.random.random() < 0.002:  # more operands than a step of a sweep takes
                operands = [self.pick(every) for _ in range(WIDEST)]
                yield self.pick((And, Or)), operands
            else:
                yield self._shape(chosen, self.random.randrange(4))

    def _shape(self, chosen, depth):
        dice = self.random.random()
        if depth == 0 or dice < 0.15:
            return self.pick(chosen)
        if dice < 0.25:
            return Not, [self._shape(chosen, depth - 1)]
        kind = And if dice < 0.7 else Or if dice < 0.9 else self.pick((Xor, Xnor))
        operands = 2 if self.random.random() < 0.6 else self.random.randrange(3, 6)
        return kind, [self._shape(chosen, depth - 1) for _ in range(operands)]

    # Events

    def event(self):
        event = {}
        for name in self.attributes:
            kind = name.rstrip("0123456789")
            if kind != ABSENT and self.random.random() < (RARELY if name in self.rare else 0.75):
                event[name] = self._value(kind)
        return event

    def _value(self, kind):
        dice = self.random.random()
        if dice < 0.06:
            return [self._scalar(kind) for _ in range(self.random.randrange(5))]
        if dice < 0.1:
            return self.pick((None, float("nan"), {"inside": 1}, b"bytes"))
        if dice < 0.16:
            objects = [self._object() for _ in range(self.random.randrange(1, 4))]
            return self.pick((objects, objects[0]))
        return self._scalar(kind)

    def _object(self):
        """With the attributes that rules about elements name."""
        texts = [self.pick(STRINGS) for _ in range(self.random.randrange(4))]
        made = {"x": self.random.randrange(12), "y": self.pick((texts, self.pick(STRINGS)))}
        return {name: value for name, value in made.items() if self.random.random() < 0.8}

    def _scalar(self, kind):
        if kind == MIXED or self.random.random() < 0.05:
            return self.pick(SCALARS)
        if kind == STRINGY:
            return self.pick(SCALARS[-40:]) if self.random.random() < 0.7 else "ab" * 3
        if kind == MANY:
            return self.random.randrange(-10, 5010) + self.pick((0, 0, 0.5))
        return self.pick((*range(-1, 13), True, "x", date(2026, 1, 31), datetime(2026, 1, 31, 10)))


def tree_of(shape, predicates):
    if isinstance(shape, int):
        return predicates[shape]
    kind, operands = shape
    trees = [tree_of(operand, predicates) for operand in operands]
    return kind(trees[0]) if kind is Not else kind(trees)


def truth_of_predicates(predicates, events):
    """What `evaluate` says, as columns of events.

    It is asked once for all events that have the same values in a predicate's attributes.
    """
    columns = np.empty((len(predicates), len(events)), np.int8)
    seen = [Event(event) for event in events]
    # A value's `repr` says its type, too.
    values = [{name: repr(value) for name, value in event.items()} for event in events]
    names = sorted({name for event in events for name in event})
    for number, predicate in enumerate(predicates):
        text = str(predicate)
        used = [name for name in names if name in text or "*" in text]  # * may be any of them
        known = {}
        for place, event in enumerate(seen):
            key = tuple([values[place].get(name) for name in used])
            if key not in known:
                known[key] = TRUTH[truth(predicate, event)]
            columns[number, place] = known[key]
    return columns


def truth(rule, event):
    return evaluate(rule, event, operators=OPERATORS, schema=SCHEMA, lists=NAMED)


def truth_of(shape, columns):
    if isinstance(shape, int):
        return columns[shape]
    kind, operands = shape
    truths = [truth_of(operand, columns) for operand in operands]
    if kind is Not:
        return TRUE - truths[0]
    if kind is And:
        return np.minimum.reduce(truths)
    if kind is Or:
        return np.maximum.reduce(truths)
    result = truths[0]
    for truth in truths[1:]:
        same = result == truth
        known = TRUE * (same if kind is Xnor else ~same)
        result = np.where((result == UNDEFINED) | (truth == UNDEFINED), UNDEFINED, known)
    return result


class Matrix:
    """Rules by number, events, and which of the rules are true of each event."""

    def __init__(self, seed, rules, predicates, events, lazy=False):
        source = Source(seed, lazy)
        pool = [parse(text) for text in source.predicates(predicates)]
        shapes = list(source.shapes(pool, rules))
        self.trees = [tree_of(shape, pool) for shape in shapes]
        self.rules = dict(enumerate(map(str, self.trees)))
        self.built: bytes | None = None  # a matcher of these rules, once there is one
        self.events = [*(source.event() for _ in range(events - 1)), {}]
        columns = truth_of_predicates(pool, self.events)
        self.right = np.empty((events, rules), np.bool_)
        for number, shape in enumerate(shapes):
            self.right[:, number] = truth_of(shape, columns) == TRUE

    def check_sample(self, count, seed):
        """Compare some of the matrix with `evaluate` of whole rules."""
        chosen = random.Random(seed)
        for _ in range(count):
            event, rule = chosen.randrange(len(self.events)), chosen.randrange(len(self.trees))
            true = truth(self.trees[rule], self.events[event]) is True
            assert true == self.right[event, rule], (self.trees[rule], self.events[event])

    def differences(self, found, alive):
        """A description of the first wrong pairs; '' if all are right."""
        wrong = np.argwhere(found != (self.right & alive))
        return "\n".join(
            f"{'found' if found[event, rule] else 'missed'}: {self.rules[rule]}"
            f" of {self.events[event]}"
            for event, rule in wrong[:3]
        )
