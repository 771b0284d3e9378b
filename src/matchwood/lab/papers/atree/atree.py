"""A-Tree: one tree with many roots, in which rules share the parts they have in common.

Ji and Jacobsen, *A-Tree: A Dynamic Data Structure for Efficiently Indexing Arbitrary Boolean
Expressions*, SIGMOD 2021. A predicate is an l-node, an expression an i-node, a rule an r-node, and
equal expressions are one node (§4.1). `tree_kernels` has the nodes, `insert_kernels` Algorithms 1
to 4, `delete_kernels` Algorithm 5, `match_kernels` Algorithm 6, each with the paper's steps.

What the paper leaves open, or what had to differ:

- Expressions with equal IDs need not be equal: their contents are compared as well.
- In §5.2.2 only access children have links to their parents. Levels and deletions need the other
  links too, so they are kept, after those that matching reads.
- An `and` of an undefined and a false operand is false, which an undefined access child cannot
  tell: propagation on demand needs zero suppression.
- Without sharing, each expression has a node of its own; predicates are still shared, since their
  lookup finds each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import TRUE, XNOR, XOR, operands_of, operator_of, pack_operator
from matchwood.lab.papers.atree import tree_kernels as layout
from matchwood.lab.papers.atree.delete_kernels import rehash, remove_rule
from matchwood.lab.papers.atree.insert_kernels import InsertScratch, insert_all
from matchwood.lab.papers.atree.match_kernels import on_demand, propagate
from matchwood.lab.papers.shared.forms import Forms, forms
from matchwood.lab.papers.shared.plain import plain
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Rules, Work
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy

# The last event before signatures start again: they have 32 bits, and two values per event.
_LAST_EVENT = (1 << 30) - 1


class ATree(Algorithm):
    """Rules as a tree with many roots, with a switch for each of the paper's ideas.

    >>> tree = ATree({1: "(a = 1 or b = 1) and c = 1", 2: "(b = 1 or a = 1) and d = 1"})
    >>> tree.match({"b": 1, "d": 1}), tree.nodes
    ([2], 7)
    >>> tree.add(3, "a = 1 or b = 1"), tree.nodes
    (None, 7)
    """

    name = "A-Tree"
    paper = "Ji, Jacobsen 2021, §4 and §5"

    def __init__(
        self,
        rules: Rules = (),
        *,
        sharing: bool = True,
        reorganize: bool | None = None,
        self_adjust: bool | None = None,
        zero_suppression: bool = True,
        on_demand: bool | None = None,
        access: Literal["random", "estimated"] = "random",
        binary: bool = False,
    ) -> None:
        """A switch that is not given is on wherever the others allow it."""
        n_ary = sharing and not binary
        reorganize = n_ary if reorganize is None else reorganize
        self_adjust = n_ary if self_adjust is None else self_adjust
        on_demand = zero_suppression if on_demand is None else on_demand
        if (reorganize or self_adjust) and not n_ary:
            raise ValueError(
                "reorganize and self_adjust reuse shared nodes of a n-ary tree: "
                "leave them out, or sharing=False and binary=True"
            )
        if on_demand and not zero_suppression:
            raise ValueError("on_demand needs zero_suppression: false results must not be needed")
        if access not in ("random", "estimated"):
            raise ValueError(f"access is {access!r}, expected 'random' or 'estimated'")
        self._zero_suppression, self._on_demand, self._binary = zero_suppression, on_demand, binary
        self._state = np.zeros(layout.STATE, np.int64)
        self._state[layout.FREE_HEAD], self._state[layout.HIGHEST] = -1, 1
        self._state[layout.SHARING : layout.STATE] = (
            sharing, reorganize, self_adjust, on_demand, access == "estimated",
        )  # fmt: skip
        super().__init__(rules)

    def build(self, rules: dict[Id, Rule]) -> None:
        """Insert the rules one after the other."""
        self._rule_numbers = RuleNumbers(rules)
        self._predicates = PredicateLookup()
        empty = np.empty(0, np.int32)
        self._rows = np.empty((0, layout.FIELDS), np.int32)
        self._ids, self._chance = np.empty(0, np.uint64), np.empty(0, np.float32)
        self._brief = np.empty(0, np.uint64)
        self._leaf_of, self._literal_chance = empty, np.empty(0, np.float32)
        self._table, self._levels = np.full(16, -1, np.int32), np.zeros(16, np.int64)
        self._root, self._after, self._before = empty, empty, empty
        self._pool, self._scratch = np.empty(1024, np.int32), new_scratch(64)
        self._queue, self._signature = empty, empty
        self._trues, self._falses, self._event = empty, empty, 0
        self._always: set[int] = set()
        program, start = self._predicates.gather(list(rules.values()))
        self._insert(program, start, np.arange(len(rules), dtype=np.int32))
        self._pool = layout.regrow(self._rows, self._pool, self._state, 0, True)
        top = self._state[layout.TOP]
        self._rows, self._ids = self._rows[:top].copy(), self._ids[:top].copy()
        self._brief, self._chance = self._brief[:top].copy(), self._chance[:top].copy()

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Algorithm 4."""
        program = self._predicates.program(rule)
        number = self._rule_numbers.add(rule_id)
        start = np.array([0, len(program)], np.int64)
        self._insert(program, start, np.array([number], np.int32))

    def remove(self, rule_id: Id) -> None:
        """Algorithm 5."""
        number = self._rule_numbers.remove(rule_id)
        self._always.discard(number)
        if self._root[number] >= 0:
            self._pool = remove_rule(self._tree(), self._pool, number)
            self._root[number] = -1

    def _insert(self, program: Int32Array, start: Int64Array, numbers: Int32Array) -> None:
        expressions = self._expressions(program, start)
        first = expressions.words[expressions.start[:-1]]
        self._root = roomy(self._root, self._rule_numbers.room, -1)
        self._after = roomy(self._after, self._rule_numbers.room, -1)
        self._before = roomy(self._before, self._rule_numbers.room, -1)
        constant = (first < 0) & (operands_of(first) == 0)
        if constant.any():
            self._always.update(numbers[first == pack_operator(TRUE, 0)].tolist())
            keep = np.repeat(~constant, np.diff(expressions.start))
            lengths = np.diff(expressions.start)[~constant]
            ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
            expressions, numbers = Forms(expressions.words[keep], ends), numbers[~constant]
        self._leaf_of = roomy(self._leaf_of, 2 * self._predicates.atoms, -1)
        if self._state[layout.ESTIMATED] and len(self._literal_chance) < len(self._leaf_of):
            self._literal_chance = roomy(self._predicates.chances(), len(self._leaf_of), 1)
        done = 0
        while done < len(numbers):
            self._grow(int(expressions.start[done + 1] - expressions.start[done]))
            done, self._pool = insert_all(
                self._tree(), self._pool, *expressions, numbers, done, self._scratch
            )

    def _expressions(self, program: Int32Array, start: Int64Array) -> Forms:
        """Rules in the form that the tree has: without `not`, `xor` and `xnor`, or as written."""
        if self._zero_suppression:
            expressions = forms(program, start, self._predicates.atoms)
        else:
            expressions = plain(program, start)
        return _in_twos(expressions) if self._binary else expressions

    def _grow(self, words: int) -> None:
        """Room for the nodes of a rule of so many words."""
        state = self._state
        needed = int(state[layout.TOP]) + words
        self._rows = roomy(self._rows, needed)
        self._ids = roomy(self._ids, len(self._rows))
        self._brief = roomy(self._brief, len(self._rows))
        if state[layout.ESTIMATED]:
            self._chance = roomy(self._chance, len(self._rows))
        self._levels = roomy(self._levels, int(state[layout.HIGHEST]) + 2 * words + 4)
        widest = max(int(state[layout.WIDEST]), words)
        if widest + 8 > len(self._scratch.end):
            self._scratch = new_scratch(2 * widest)
        if state[layout.LIVE] + words > len(self._table):
            size = 1 << int(state[layout.LIVE] + words).bit_length()
            self._table = np.full(size, -1, np.int32)
            rehash(self._tree())

    def _tree(self) -> layout.ATreeArrays:
        return layout.ATreeArrays(
            self._rows, self._ids, self._brief, self._chance, self._table, self._leaf_of,
            self._literal_chance, self._levels, self._root, self._after, self._before, self._state,
        )  # fmt: skip

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Algorithm 6."""
        true = self._predicates.true_of(event)
        self._leaf_of = roomy(self._leaf_of, 2 * self._predicates.atoms, -1)
        size = len(self._rows)
        self._queue = roomy(self._queue, size)
        queues = np.empty((2, len(self._levels)), np.int64)
        out = np.empty(self._rule_numbers.room, np.int32)
        tree = (
            self._rows, self._pool, self._leaf_of, self._levels, self._after, self._state, true,
        )  # fmt: skip
        if self._on_demand:
            if self._event == _LAST_EVENT:
                self._signature, self._event = self._signature[:0], 0
            self._event += 1
            self._signature = roomy(self._signature, size)
            count, visited, candidates = on_demand(
                *tree, self._signature, self._event, self._queue, *queues, out
            )
        else:
            self._trues, self._falses = roomy(self._trues, size), roomy(self._falses, size)
            count, visited, candidates = propagate(
                *tree, self._zero_suppression, self._trues, self._falses, self._queue, *queues, out
            )
        self.work = Work(len(true), visited, candidates + len(self._always))
        always = np.fromiter(self._always, np.int32, len(self._always))
        return self._rule_numbers.named(np.concatenate((out[:count], always)))

    @property
    def nodes(self) -> int:
        """The number of nodes, predicates included."""
        return int(self._state[layout.LIVE])

    @property
    def bytes(self) -> int:
        """Bytes of nodes, lists, the expression-to-node table, match state, and predicates."""
        top = int(self._state[layout.TOP])
        by_node = self._rows.itemsize * layout.FIELDS + 2 * self._ids.itemsize
        by_node += 8 if self._on_demand else 12  # queue and signature, or queue and counts
        by_node += 4 if self._state[layout.ESTIMATED] else 0
        return (
            by_node * top + 4 * int(self._state[layout.POOL_TOP]) + self._table.nbytes
            + self._leaf_of.nbytes + 12 * self._rule_numbers.room + self._predicates.bytes
        )  # fmt: skip


def _in_twos(expressions: Forms) -> Forms:
    """Operators of two operands each: op3 a b c becomes op2 op2 a b c (Figure 5, left).

    The first operator of an `xnor` stays `xnor`, the others are `xor`.
    """
    words = expressions.words
    op, count = operator_of(words), np.where(words < 0, operands_of(words), 0)
    times = np.maximum(count - 1, 1)
    two = np.where(count > 2, pack_operator(np.where(op == XNOR, XOR, op), 2), words)
    out = np.repeat(two, times).astype(np.int32)
    position = np.concatenate(([0], np.cumsum(times)))
    first = position[:-1][(count > 2) & (op == XNOR)]
    out[first] = pack_operator(XNOR, 2)
    return Forms(out, position[expressions.start].astype(np.int64))


def new_scratch(words: int) -> InsertScratch:
    """Scratch for rules of up to so many words, in a tree whose nodes are no wider."""
    ints = [np.empty(words + 8, np.int32) for _ in range(10)]
    ids, wanted = np.empty(words + 8, np.uint64), np.empty(words + 8, np.uint8)
    return InsertScratch(ids, ints[0], ints[1], wanted, *ints[2:])
