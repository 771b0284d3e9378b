"""BDD: all rules in one shared, ordered binary decision diagram.

Campailla et al., *Efficient filtering in publish-subscribe systems using binary decision diagrams*,
ICSE 2001, as Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2, take it to arbitrary expressions; the
diagram is Bryant's (1986), with a unique table and a memo of joins.

- A variable is a literal: a predicate and its negation are two. Rules are in the form without
  `not` and `xor`, so they are monotone in these, and an undefined predicate is one of which both
  variables are false.
- Variables are ordered by first appearance in the rules: what stands together in a rule is close
  together, and a variable that comes later goes to the end, so nothing is ever ordered anew.
- A rule is a root. For an event each root is followed down, true to `high` and else to `low`, as
  far as the first node whose result this event already has.

Nodes that no root reaches are swept away when there is no room for more. A diagram that needs
more bytes than its budget raises `OverBudget`, and is then as it was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from matchwood.compiled import compiled, lean
from matchwood.index.program import AND, TRUE
from matchwood.papers.forms import Ints, Longs, forms
from matchwood.papers.predicates import Predicates
from matchwood.papers.protocol import Algorithm, Id, OverBudget, Rule, Rules, Work
from matchwood.papers.roster import Roster, roomy

_VARIABLE, _LOW, _HIGH, _MEMO, _NEXT = range(5)  # of a node
_NEVER, _ALWAYS = 0, 1  # the two nodes that are constants
_GONE = -1  # the root of no rule; the variable of no node
_LAST_VARIABLE = (1 << 31) - 1
_LAST_EVENT = (1 << 30) - 1
_TOP, _FREE, _LIVE = range(3)  # of the state
_NODE_BYTES = 4 * 5 + 8  # its row, and what it has of the table at most
_FIRST = 1024  # nodes that there is room for at first
_JOINS = 1 << 18  # joins that are remembered


class Bdd(Algorithm):
    """Rules as the roots of one decision diagram, within a budget of bytes.

    >>> bdd = Bdd({1: "a = 1 and b = 1", 2: "b = 1 and a = 1", 3: "a = 1 or b = 1"})
    >>> sorted(bdd.match({"a": 1})), bdd.nodes
    ([3], 3)
    """

    name = "BDD"
    paper = "Campailla et al. 2001; Ji, Jacobsen 2021, §2"
    default_budget: ClassVar[int] = 4 << 30

    def __init__(self, rules: Rules = (), *, budget: int | None = None) -> None:
        self._budget = self.default_budget if budget is None else budget
        super().__init__(rules)

    def build(self, rules: dict[Id, Rule]) -> None:
        """Join the rules in turn, as they are given."""
        self._roster = Roster(rules)
        self._predicates = Predicates()
        self._rows = np.empty((0, 5), np.int32)
        self._table = np.empty(0, np.int32)
        self._state = np.array([2, _GONE, 0], np.int64)
        self._joins = np.zeros((_JOINS, 4), np.int32)
        self._variable_of = np.empty(0, np.int32)
        self._variables = 0
        self._root = np.full(len(rules), _GONE, np.int32)
        self._truth, self._event = np.zeros(0, np.uint8), 0
        self._resize(_FIRST)
        program, start = self._predicates.gather(list(rules.values()))
        self._insert(program, start, np.arange(len(rules), dtype=np.int32))
        self._rows = _compact(self._rows, self._state, self._root)
        self._joins[:] = 0
        self._resize(max(_FIRST, len(self._rows)))

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Join one rule more."""
        program = self._predicates.program(rule)
        number = self._roster.add(rule_id)
        self._root = roomy(self._root, number + 1, _GONE)
        start = np.array([0, len(program)], np.int64)
        try:
            self._insert(program, start, np.array([number], np.int32))
        except OverBudget:
            self._roster.remove(rule_id)
            raise

    def remove(self, rule_id: Id) -> None:
        """Forget the root; its nodes go when room is needed."""
        self._root[self._roster.remove(rule_id)] = _GONE

    def _insert(self, program: Ints, start: Longs, numbers: Ints) -> None:
        found = forms(program, start, self._predicates.atoms)
        self._variable_of = roomy(self._variable_of, 2 * self._predicates.atoms, _GONE)
        self._variables = _order(found.words, self._variable_of, self._variables)
        longest = int(np.diff(found.start).max(initial=0)) + 8
        space = np.empty((5, longest), np.int64)
        done, before = 0, -1
        while done < len(numbers):
            done = _join_all(
                self._rows, self._table, self._state, self._joins, self._variable_of,
                *found, numbers, done, self._root, space,
            )  # fmt: skip
            if done < len(numbers):
                self._make_room(done == before)
            before = done

    def _make_room(self, again: bool) -> None:
        """Sweep; if that was in vain, or half of the nodes are in use, take twice as many."""
        _sweep(self._rows, self._table, self._state, self._root)
        self._joins[:] = 0
        size = len(self._rows)
        if again or 2 * self._state[_LIVE] > size:
            if 2 * size * _NODE_BYTES > self._budget:
                raise OverBudget(
                    f"the diagram of {len(self._roster):,} rules has {int(self._state[_LIVE]):,} "
                    f"nodes and needs more than its budget of {self._budget:,} bytes: "
                    "give it fewer or smaller rules, or a larger budget"
                )
            self._resize(2 * size)

    def _resize(self, size: int) -> None:
        rows = np.full((size, 5), _GONE, np.int32)
        rows[: len(self._rows)] = self._rows
        rows[:2, _VARIABLE] = _LAST_VARIABLE
        rows[:2, _LOW] = rows[:2, _HIGH] = [_NEVER, _ALWAYS]
        rows[:, _MEMO] = 0
        self._event = 0
        self._rows, self._table = rows, np.full(1 << size.bit_length(), _GONE, np.int32)
        _rehash(rows, self._table, self._state)

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Follow every root down."""
        true = self._predicates.true_of(event)
        self._variable_of = roomy(self._variable_of, 2 * self._predicates.atoms, _GONE)
        self._truth = roomy(self._truth, self._variables + 1)
        variables = self._variable_of[true]
        variables = variables[variables >= 0]
        self._truth[variables] = 1
        if self._event == _LAST_EVENT:
            self._rows[:, _MEMO], self._event = 0, 0
        self._event += 1
        out = np.empty(len(self._root), np.int32)
        path = np.empty(self._variables + 1, np.int32)
        found, visited = _follow(self._rows, self._root, self._truth, self._event, path, out)
        self._truth[variables] = 0
        self.work = Work(len(true), visited, len(self._roster))
        return self._roster.named(out[:found])

    @property
    def nodes(self) -> int:
        """How many a root reaches, constants aside."""
        _sweep(self._rows, self._table, self._state, self._root)
        self._joins[:] = 0
        return int(self._state[_LIVE])

    @property
    def bytes(self) -> int:
        """Of nodes and tables, roots and predicates."""
        return (
            self._rows.nbytes + self._table.nbytes + self._joins.nbytes + self._variable_of.nbytes
            + 4 * self._roster.room + self._predicates.bytes
        )  # fmt: skip


@compiled
def _order(words, variable_of, count):
    """Number the literals that are new, as they come; how many there are then."""
    for word in words:
        if word >= 0 and variable_of[word] < 0:
            variable_of[word] = count
            count += 1
    return count


@lean
def _place(variable, low, high, size):
    mixed = np.uint64(variable) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ np.uint64(low)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ np.uint64(high)) * np.uint64(0x94D049BB133111EB)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(size - 1))


@lean
def _node(rows, table, state, variable, low, high):
    """The one node with this variable and these branches; -1 where there is no room for it."""
    if low == high:
        return np.int64(low)
    place = _place(variable, low, high, len(table))
    node = np.int64(table[place])
    while node >= 0:
        row = rows[node]
        if row[_VARIABLE] == variable and row[_LOW] == low and row[_HIGH] == high:
            return node
        node = np.int64(row[_NEXT])
    node = state[_FREE]
    if node >= 0:
        state[_FREE] = rows[node, _NEXT]
    elif state[_TOP] < len(rows):
        node = state[_TOP]
        state[_TOP] += 1
    else:
        return np.int64(-1)
    row = rows[node]
    row[_VARIABLE], row[_LOW], row[_HIGH], row[_MEMO] = variable, low, high, 0
    row[_NEXT] = table[place]
    table[place] = node
    return node


@lean
def _settled(op, left, right):
    """What a join is without looking at branches, or -1."""
    absorbing = _NEVER if op == AND else _ALWAYS
    if left == absorbing or right == absorbing:
        return np.int64(absorbing)
    if left == right or right == 1 - absorbing:
        return left
    return right if left == 1 - absorbing else np.int64(-1)


@lean
def _join(rows, table, state, joins, op, left, right, space):
    """apply: `and` or `or` of two nodes, from their branches up; -1 where room ran out."""
    lefts, rights, stage, lows = space[0], space[1], space[2], space[3]
    lefts[0], rights[0], stage[0] = left, right, 0
    depth = 1
    result = np.int64(-1)
    while depth > 0:
        at = depth - 1
        left, right = lefts[at], rights[at]
        variable = min(rows[left, _VARIABLE], rows[right, _VARIABLE])
        memo = joins[_place(op, left, right, len(joins))]
        if stage[at] == 0:
            result = _settled(op, left, right)
            if result < 0 and memo[0] == op and memo[1] == left and memo[2] == right:
                result = np.int64(memo[3])
            if result >= 0:
                depth -= 1
                continue
            branch = _LOW
        elif stage[at] == 1:
            lows[at] = result
            branch = _HIGH
        else:
            result = _node(rows, table, state, variable, lows[at], result)
            if result < 0:
                return result
            memo[0], memo[1], memo[2], memo[3] = op, left, right, result
            depth -= 1
            continue
        stage[at] += 1
        a = rows[left, branch] if rows[left, _VARIABLE] == variable else left
        b = rows[right, branch] if rows[right, _VARIABLE] == variable else right
        lefts[depth], rights[depth], stage[depth] = max(a, b), min(a, b), 0
        depth += 1
    return result


@lean
def _join_all(
    rows, table, state, joins, variable_of, words, start, numbers, first, root, space
):  # fmt: skip
    """The roots of rules from `first` on; the first that there was no room for."""
    operands = space[4]
    for i in range(first, len(numbers)):
        top = 0
        for at in range(start[i + 1] - 1, start[i] - 1, -1):
            word = words[at]
            if word >= 0:
                node = _node(rows, table, state, variable_of[word], _NEVER, _ALWAYS)
            else:
                op, count = np.int64((-word - 1) & 7), (-word - 1) >> 3
                if count == 0:
                    node = np.int64(_ALWAYS if op == TRUE else _NEVER)
                else:
                    # from the operand that was written last, whose variables come last
                    top -= count
                    node = operands[top]
                    for j in range(top + 1, top + count):
                        left, right = max(node, operands[j]), min(node, operands[j])
                        node = _join(rows, table, state, joins, op, left, right, space)
                        if node < 0:
                            return i
            if node < 0:
                return i
            operands[top] = node
            top += 1
        root[numbers[i]] = operands[0]
    return len(numbers)


@compiled
def _sweep(rows, table, state, root):
    """Free the nodes that no root reaches."""
    reached = np.zeros(state[_TOP], np.uint8)
    reached[:2] = 1
    todo = np.empty(state[_TOP] + 2, np.int32)
    live = 0
    for first in root:
        if first < 0 or reached[first]:
            continue
        todo[0] = first
        reached[first] = 1
        top = 1
        while top > 0:
            top -= 1
            node = todo[top]
            live += 1
            for branch in (_LOW, _HIGH):
                child = rows[node, branch]
                if not reached[child]:
                    reached[child] = 1
                    todo[top] = child
                    top += 1
    state[_LIVE] = live
    for node in range(2, state[_TOP]):
        if not reached[node]:
            rows[node, _VARIABLE] = _GONE
    table[:] = _GONE
    _rehash(rows, table, state)


@compiled
def _compact(rows, state, root):
    """The nodes that roots reach, each before the one that follows if its variable is false."""
    number = np.full(state[_TOP], _GONE, np.int32)
    number[0], number[1] = 0, 1
    order = np.empty(state[_TOP] + 2, np.int32)
    todo = np.empty(state[_TOP] + 2, np.int32)
    count = 2
    for first in root:
        if first < 0:
            continue
        todo[0] = first
        top = 1
        while top > 0:
            top -= 1
            node = todo[top]
            while number[node] < 0:
                number[node] = count
                order[count] = node
                count += 1
                if number[rows[node, _HIGH]] < 0:
                    todo[top] = rows[node, _HIGH]
                    top += 1
                node = rows[node, _LOW]
    packed = np.empty((count, 5), np.int32)
    for new in range(2, count):
        old = order[new]
        packed[new, _VARIABLE] = rows[old, _VARIABLE]
        packed[new, _LOW] = number[rows[old, _LOW]]
        packed[new, _HIGH] = number[rows[old, _HIGH]]
    for rule in range(len(root)):
        if root[rule] >= 0:
            root[rule] = number[root[rule]]
    state[_TOP], state[_LIVE] = count, count - 2
    return packed


@lean
def _rehash(rows, table, state):
    """The unique table and the list of free nodes, anew."""
    state[_FREE] = _GONE
    for node in range(state[_TOP] - 1, 1, -1):
        row = rows[node]
        if row[_VARIABLE] < 0:
            row[_NEXT] = state[_FREE]
            state[_FREE] = node
        else:
            place = _place(row[_VARIABLE], row[_LOW], row[_HIGH], len(table))
            row[_NEXT] = table[place]
            table[place] = node


@lean
def _follow(rows, root, truth, event, path, out):
    """Rules that are true: out[:first of what is returned]; also how many nodes were visited."""
    found = 0
    visited = 0
    waiting = 2 * event
    for rule in range(len(root)):
        node = root[rule]
        if node < 0:
            continue
        depth = 0
        while node > _ALWAYS and rows[node, _MEMO] < waiting:
            path[depth] = node
            depth += 1
            node = rows[node, _HIGH] if truth[rows[node, _VARIABLE]] else rows[node, _LOW]
        visited += depth
        result = node if node <= _ALWAYS else rows[node, _MEMO] - waiting
        for i in range(depth):
            rows[path[i], _MEMO] = waiting + result
        if result:
            out[found] = rule
            found += 1
    return found, visited
