"""Updates by delta indexes: small indexes beside the main one (Fontoura et al. 2010, §2.1).

The indexes of the paper are built once and never changed. A new rule gets an index of its own;
indexes that are together at least half as large as the one before them are merged with it, so that
there are few, and a rule is indexed a logarithmic number of times. A removed rule is only noted,
and left out of answers; once half of all rules are removed, the others are indexed anew. Indexes
are made from programs, which are kept for this; like texts, they do not count as part of the
structure.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from time import thread_time
from typing import NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Rules, Work


class Timings(NamedTuple):
    """Seconds that the steps of the last match took, over all its indexes."""

    lookup: float = 0.0  # of true predicates
    find: float = 0.0  # conjunctions; with `lookup`, the paper's index evaluation
    sort: float = 0.0  # annotations of the conjunctions, by rule and position
    evaluate: float = 0.0  # rules


class _Rules(NamedTuple):
    """Some rules: their numbers among all, and their programs."""

    numbers: Int32Array
    program: Int32Array
    start: Int64Array


class _Part(NamedTuple):
    """An index, and the rules that are in it."""

    rules: _Rules
    built: AnnotationIndex


class Delta(Algorithm):
    """An algorithm whose structure is a main index and a few delta indexes.

    Rules are numbered as they arrive. `walk` chooses how conjunctions are found (see
    `conjunction_index`).
    """

    timings: Timings = Timings()

    def __init__(self, rules: Rules = (), walk: bool = False) -> None:
        self.walk = walk
        super().__init__(rules)

    @abstractmethod
    def index(self, program: Int32Array, start: Int64Array) -> AnnotationIndex:
        """An index of some rules, given as postfix programs over the atoms of `predicates`."""

    def build(self, rules: dict[Id, Rule]) -> None:
        self.predicates = PredicateLookup()
        numbers = np.arange(len(rules), dtype=np.int32)
        self._number: dict[Id, int] = dict(zip(rules, numbers.tolist(), strict=True))
        self._ids = np.empty(len(rules), object)
        self._ids[:] = list(rules)
        self._alive = np.ones(len(rules), bool)
        self._arrived = len(rules)
        self._parts: list[_Part] = []
        if rules:
            program, start = self.predicates.gather(list(rules.values()))
            self._parts.append(self._part([_Rules(numbers, program, start)]))

    def add(self, rule_id: Id, rule: Rule) -> None:
        if rule_id in self._number:
            raise ValueError(f"rule {rule_id!r} exists already: remove it first")
        program = self.predicates.program(rule)
        number = self._room()
        new = _Rules(np.array([number], np.int32), program, np.array([0, len(program)], np.int64))
        together, kept = 1, len(self._parts)
        while kept and 2 * together >= len(self._parts[kept - 1].rules.numbers):
            kept -= 1
            together += len(self._parts[kept].rules.numbers)
        self._alive[number] = True
        merged = self._part([*(part.rules for part in self._parts[kept:]), new])
        self._parts[kept:] = [merged]
        self._ids[number] = rule_id
        self._number[rule_id] = number
        self._arrived += 1

    def remove(self, rule_id: Id) -> None:
        number = self._number.pop(rule_id)
        self._alive[number], self._ids[number] = False, None
        indexed = sum(len(part.rules.numbers) for part in self._parts)
        if 2 * len(self._number) <= indexed:
            left = [part.rules for part in self._parts] if self._number else []
            self._parts = [self._part(left)] if left else []

    def match(self, event: Mapping[str, object]) -> list[Id]:
        begin = thread_time()
        true = self.predicates.true_of(event)
        lookup = thread_time() - begin
        spent = np.zeros(3)
        matched = [np.empty(0, np.int32)]
        visited = candidates = 0
        for rules, index in self._parts:
            times = [thread_time()]
            conjunctions = index.find(true)
            times.append(thread_time())
            annotations = index.sort(conjunctions)
            times.append(thread_time())
            matched.append(rules.numbers[index.evaluate(annotations)])
            times.append(thread_time())
            spent += np.diff(times)
            visited += index.visited
            candidates += index.candidates
        self.timings = Timings(lookup, *spent.tolist())
        self.work = Work(len(true), visited, candidates)
        numbers = np.concatenate(matched)
        ids: list[Id] = self._ids[numbers[self._alive[numbers]]].tolist()
        return ids

    @property
    def indexes(self) -> list[AnnotationIndex]:
        """The main index and the delta indexes, whose steps can be called one by one."""
        return [part.built for part in self._parts]

    @property
    def bytes(self) -> int:
        parts = sum(part.built.bytes + part.rules.numbers.nbytes for part in self._parts)
        return parts + self._alive.nbytes + self.predicates.bytes

    @property
    def buffers(self) -> int:
        return sum(part.built.buffers for part in self._parts)

    def _room(self) -> int:
        """The number of the next rule, with room made for it."""
        if self._arrived == len(self._ids):
            more = max(16, len(self._ids) // 8)
            self._ids = np.concatenate((self._ids, np.empty(more, object)))
            self._alive = np.concatenate((self._alive, np.zeros(more, bool)))
        return self._arrived

    def _part(self, rules: list[_Rules]) -> _Part:
        """One index of all of these rules that are not removed."""
        kept = [self._kept(group) for group in rules]
        lengths = [np.diff(group.start) for group in kept]
        merged = _Rules(
            np.concatenate([group.numbers for group in kept]),
            np.concatenate([group.program for group in kept]),
            np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64),
        )
        return _Part(merged, self.index(merged.program, merged.start))

    def _kept(self, rules: _Rules) -> _Rules:
        alive = self._alive[rules.numbers]
        if alive.all():
            return rules
        lengths = np.diff(rules.start)
        start = np.concatenate(([0], np.cumsum(lengths[alive]))).astype(np.int64)
        return _Rules(rules.numbers[alive], rules.program[np.repeat(alive, lengths)], start)
