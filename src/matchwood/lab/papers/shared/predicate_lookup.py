"""Predicates, shared by all algorithms: the engine's codes, and a lookup of what is true.

A *literal* is packed as `kernels.programs` describes; an atom keeps its number. The literals that
are true of an event are found by stabbing. Atoms that codes do not decide are evaluated, and
so are those that arrived since codes were last made: codes are made anew once they are an eighth of
all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.index_form import evaluated_whole, index_form
from matchwood.index.build.program import Programs
from matchwood.index.build.rule_programs import gather
from matchwood.index.build.segment import atom_rows
from matchwood.index.build.stabbing import stabbing_trees
from matchwood.index.build.statistics import PRESENT, probabilities
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of, is_negated, pack_literal
from matchwood.kernels.records import MISSING
from matchwood.lab.papers.shared import predicate_lookup_kernels as kernels
from matchwood.lab.papers.shared.protocol import Rule
from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.tree import EVERYTHING, Constant, Node, Not, TruthTest
from matchwood.match.event.encode import Encoding, coders, encode
from matchwood.match.event.everywhere import EverythingCodes

# Atoms that are evaluated one by one before codes are made anew.
_FEW = 64


class PredicateLookup:
    """The distinct predicates of the rules of one algorithm, and which are true of an event."""

    def __init__(self) -> None:
        self._atoms = AtomTable()
        self._programs = Programs(self._atoms)
        self._nodes: dict[int, Node] = {}  # of atoms that came one by one
        self._sealed = 0
        self._seal()

    @property
    def atoms(self) -> int:
        """The number of atoms; literals are below twice that."""
        return len(self._atoms)

    @property
    def bytes(self) -> int:
        """Bytes of the lookup."""
        return sum(array.nbytes for array in (*self._stabs, self._rows, *self._intervals))

    def gather(self, rules: Sequence[Rule]) -> tuple[Int32Array, Int64Array]:
        """Postfix programs of many rules: rule i is words[start[i]:start[i + 1]].

        `kernels.programs` describes the words. A malformed rule raises an error.
        """
        gathered = gather(rules, self._atoms)
        if gathered.refused:
            raise gathered.refused[0][1]
        self._seal()
        order = np.argsort(gathered.accepted)
        if (order == np.arange(len(order))).all():
            return gathered.program, gathered.start
        pieces = [gathered.program[gathered.start[i] : gathered.start[i + 1]] for i in order]
        lengths = [len(piece) for piece in pieces]
        return np.concatenate(pieces), np.r_[0, np.cumsum(lengths)].astype(np.int64)

    def program(self, rule: Rule) -> Int32Array:
        """The postfix program of one rule that arrives later."""
        before, at = len(self._atoms), len(self._programs.words)
        tree = index_form(parse(rule))
        self._programs.add(tree)
        words = np.array(self._programs.words[at:], np.int32)
        del self._programs.words[at:], self._programs.ends[1:]
        self._note(tree, before)
        if len(self._atoms) - self._sealed > max(_FEW, self._sealed // 8):
            self._seal()
        return words

    def chances(self) -> NDArray[np.float32]:
        """How likely each literal is to be true, where nothing is known of events."""
        chance = np.full(2 * len(self._atoms), PRESENT, np.float32)
        known = probabilities(self._arrays, self._atoms.slots, None)
        sealed = np.arange(len(self._stable))
        for negated in (0, 1):
            chance[pack_literal(self._stable, negated)] = known[pack_literal(sealed, negated)]
        return chance

    def _note(self, tree: Node, before: int) -> None:
        """Keep the predicates behind new atoms, in positive form."""
        todo = [tree]
        while todo:
            node = todo.pop()
            if node.operands and not isinstance(node, TruthTest) and not evaluated_whole(node):
                todo.extend(node.operands)
            elif not isinstance(node, Constant):
                literal = self._atoms.literal(node)
                if atom_of(literal) >= before:
                    positive = Not(node) if is_negated(literal) else node
                    self._nodes.setdefault(atom_of(literal), positive)

    def _seal(self) -> None:
        """Codes for all atoms that are known."""
        self._sealed = len(self._atoms)
        self._nodes.clear()
        arrays, number, self._opaque = self._atoms.seal()
        self._stable = np.argsort(number).astype(np.int32)  # sealed number → number for good
        sealed = np.arange(2 * self._sealed, dtype=np.int32)
        literals = pack_literal(self._stable[atom_of(sealed)], is_negated(sealed)).astype(np.int32)
        codes = np.array([slot.codes for slot in self._atoms.slots], np.int32)
        stabs = stabbing_trees(literals, arrays, codes)
        self._stabs = kernels.LiteralTrees(*(np.ascontiguousarray(array) for array in stabs[:6]))
        self._coders = coders(self._atoms.slots)
        self._rows, self._intervals = atom_rows(arrays), (arrays.low, arrays.high)
        self._arrays = arrays
        self._opaque_atoms = self._stable[np.flatnonzero(arrays.opaque >= 0)]
        some = np.diff(arrays.start) > 0
        absent = arrays.family_low == MISSING
        absent[some] |= arrays.low[arrays.start[:-1][some]] == MISSING
        null = np.flatnonzero(absent & (arrays.opaque < 0))
        self._null_slots = np.unique(arrays.slot[null]).astype(np.int32)
        self._encoding = Encoding(self._coders, set())
        if EVERYTHING in self._coders:
            everything = EverythingCodes(self._coders[EVERYTHING], None)
            self._encoding = self._encoding._replace(everything=everything)
        self._out = np.empty(2 * self._sealed + 1, np.int32)

    def true_of(self, event: Mapping[str, object]) -> Int32Array:
        """The literals that are true of an event, each once; the next call overwrites the array."""
        encoded, seen = encode(event, self._encoding)
        slots, codes = encoded.slots, encoded.codes
        rest: list[int] = []
        if any(code < 0 for code in codes):
            for slot, code in zip(slots, codes, strict=True):
                if code < 0:
                    begin, end = encoded.list_start[-code - 1], encoded.list_start[-code]
                    rest.extend(self._of_list(slot, encoded.list_codes[begin:end]))
        if len(self._null_slots):
            absent = np.setdiff1d(self._null_slots, slots).tolist()
            slots, codes = [*slots, *absent], [*codes, *(0 for _ in absent)]
        count = kernels.stab_codes(
            self._stabs,
            np.array(slots, np.int32),
            np.array(codes, np.int32),
            kernels.TrueLiterals(self._out),
        )
        true = self._out[:count]
        if len(self._opaque_atoms) or self._nodes:
            seen = seen or Event(event)
            for atom, node in zip(self._opaque_atoms.tolist(), self._opaque, strict=True):
                rest.extend(_truth(atom, node, seen))
            for atom, node in self._nodes.items():
                rest.extend(_truth(atom, node, seen))
        return np.concatenate((true, np.array(rest, np.int32))) if rest else true

    def _of_list(self, slot: int, codes: list[int]) -> list[int]:
        """The true literals of a list: an atom if a value satisfies it, otherwise its negation."""
        low, high = np.searchsorted(self._arrays.slot, (slot, slot + 1))
        true_literals: list[int] = []
        for atom in range(low, high):
            if self._arrays.opaque[atom] >= 0:
                continue
            begin, end = self._arrays.start[atom], self._arrays.start[atom + 1]
            first, last = self._arrays.family_low[atom], self._arrays.family_high[atom]
            hit = any(
                max(first, self._arrays.low[i]) <= code <= min(last, self._arrays.high[i])
                for i in range(begin, end)
                for code in codes
            )
            true_literals.append(pack_literal(int(self._stable[atom]), not hit))
        return true_literals


def _truth(atom: int, node: Node, seen: Event) -> list[int]:
    truth = evaluate(node, seen)
    return [] if truth is None else [pack_literal(atom, not truth)]
