"""Predicates, shared by all algorithms: the engine's codes, and a lookup of what is true.

A *literal* is 2 * atom + negated, as in `index.program`; an atom keeps its number for good. The
literals that are true of an event are found by stabbing. What codes do not decide is evaluated,
as are the atoms that arrived since codes were last made: codes are made anew once those are an
eighth of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import lean
from matchwood.index.atoms import Atoms
from matchwood.index.build import gather
from matchwood.index.program import Programs
from matchwood.index.segment import atom_rows
from matchwood.index.stabbing import stabbing_trees
from matchwood.index.statistics import PRESENT, probabilities
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.language.tree import Constant, Node, Not
from matchwood.match.encode import coders, encode
from matchwood.papers.protocol import Rule

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
_FEW = 64  # atoms that are evaluated one by one before codes are made anew


class Predicates:
    """The distinct predicates of the rules of one algorithm, and which are true of an event."""

    def __init__(self) -> None:
        self._atoms = Atoms()
        self._programs = Programs(self._atoms)
        self._nodes: dict[int, Node] = {}  # of atoms that came one by one
        self._sealed = 0
        self._seal()

    @property
    def atoms(self) -> int:
        """How many there are; literals are below twice that."""
        return len(self._atoms)

    @property
    def bytes(self) -> int:
        """Of the lookup."""
        return sum(array.nbytes for array in (*self._stabs, self._rows, *self._intervals))

    def gather(self, rules: Sequence[Rule]) -> tuple[Ints, Longs]:
        """Postfix programs of many rules: rule i is words[start[i]:start[i + 1]].

        Words are as `index.program` describes them. A rule that is not well formed raises.
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

    def program(self, rule: Rule) -> Ints:
        """The postfix program of one rule that arrives later."""
        before, at = len(self._atoms), len(self._programs.words)
        tree = parse(rule)
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
        for negated in (0, 1):
            chance[2 * self._stable + negated] = known[negated::2]
        return chance

    def _note(self, tree: Node, before: int) -> None:
        """Keep the predicates behind new atoms, in positive form."""
        todo = [tree]
        while todo:
            node = todo.pop()
            todo.extend(node.operands)
            if not node.operands and not isinstance(node, Constant):
                literal = self._atoms.literal(node)
                if literal >> 1 >= before:
                    self._nodes.setdefault(literal >> 1, Not(node) if literal & 1 else node)

    def _seal(self) -> None:
        """Codes for all atoms that are known."""
        self._sealed = len(self._atoms)
        self._nodes.clear()
        arrays, number, self._opaque = self._atoms.seal()
        self._stable = np.argsort(number).astype(np.int32)  # sealed number → number for good
        literals = np.arange(2 * self._sealed, dtype=np.int32)
        given = (2 * self._stable[literals >> 1] + (literals & 1)).astype(np.int32)
        codes = np.array([slot.codes for slot in self._atoms.slots], np.int32)
        stabs = stabbing_trees(given, arrays, codes)
        self._stabs = tuple(np.ascontiguousarray(array) for array in stabs[:5])
        self._coders = coders(self._atoms.slots)
        self._rows, self._intervals = atom_rows(arrays), (arrays.low, arrays.high)
        self._arrays = arrays
        self._opaque_atoms = self._stable[np.flatnonzero(arrays.opaque >= 0)]
        null = np.flatnonzero((arrays.family_low == 0) & (arrays.opaque < 0))
        self._null_slots = np.unique(arrays.slot[null]).astype(np.int32)
        self._out = np.empty(2 * self._sealed + 1, np.int32)

    def true_of(self, event: Mapping[str, object]) -> Ints:
        """The literals that are true of an event, each once; the array is used again."""
        encoded, seen = encode(event, self._coders, set())
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
        found = stab(*self._stabs, np.array(slots, np.int32), np.array(codes, np.int32), self._out)
        true = self._out[:found]
        if len(self._opaque_atoms) or self._nodes:
            seen = seen or Event(event)
            for atom, node in zip(self._opaque_atoms.tolist(), self._opaque, strict=True):
                rest.extend(_truth(atom, node, seen))
            for atom, node in self._nodes.items():
                rest.extend(_truth(atom, node, seen))
        return np.concatenate((true, np.array(rest, np.int32))) if rest else true

    def _of_list(self, slot: int, codes: list[int]) -> list[int]:
        """A list: true where one of its values is, and of the rest the negation."""
        low, high = np.searchsorted(self._arrays.slot, (slot, slot + 1))
        found = []
        for atom in range(low, high):
            if self._arrays.opaque[atom] >= 0:
                continue
            begin, end = self._arrays.start[atom], self._arrays.start[atom + 1]
            hit = any(
                self._arrays.low[i] <= code <= self._arrays.high[i]
                for i in range(begin, end)
                for code in codes
            )
            found.append(2 * int(self._stable[atom]) + (not hit))
        return found


def _truth(atom: int, node: Node, seen: Event) -> list[int]:
    truth = evaluate(node, seen)
    return [] if truth is None else [2 * atom + (not truth)]


@lean
def stab(tree_at, tree_size, start, bound, entries, slots, codes, out):
    """The literals that are true of single codes: out[:returned]. See `index.stabbing`."""
    top = 0
    for i in range(len(slots)):
        code = codes[i]
        if code < 0:
            continue  # a list
        at = tree_at[slots[i]]
        place = tree_size[slots[i]] + code
        for j in range(start[at + place], start[at + place + 1]):
            out[top] = entries[j]
            top += 1
        while place > 1:
            right = place & 1
            place >>= 1
            low = start[at + place]
            half = (start[at + place + 1] - low) >> 1
            if right:
                low += half
            for j in range(low, low + half):
                if (bound[j] < code) if right else (bound[j] > code):
                    break
                out[top] = entries[j]
                top += 1
    return top
