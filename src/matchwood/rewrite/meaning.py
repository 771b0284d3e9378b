"""Whether rules mean the same: true of the same events, whatever the events.

Once negation is pushed down, a rule is a monotone function of its literals (an atom, or the
negation of one), so its minimal disjunctive form is unique. `meaning` is a key made of it. That
form can be exponentially large: over a budget the key is the text of the normal form, and rules
that are equal only by distribution are then not found equal.

`fingerprint` is the cheap first look. It evaluates the rule on 224 made-up assignments of truth
to its atoms at once, one bit per assignment. Rules of one meaning have one fingerprint; whether
two rules with one fingerprint have one meaning is for `meaning` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from matchwood.language.text.printing import to_text
from matchwood.language.tree import And, AtLeast, Constant, Node, Not, Or, TruthTest, Xnor, fold
from matchwood.rewrite.normal_form import normalise
from matchwood.rewrite.predicate_atoms import PredicateAtoms, atoms_of

# Terms that a minimal disjunctive form may have.
MAX_TERMS = 256

# Distinct atoms that a minimal disjunctive form may have.
MAX_LITERALS = 1_000

# Comparisons of two terms before the search for a minimal form gives up.
MAX_WORK = 100_000

# The assignments for which a node is true, and those for which it is false: one bit each.
Bits = tuple[int, int]

# Assignments per round. The nine random numbers of an atom then fit into one digest.
_WIDTH = 56

# The assignments of one round, as bits.
_ROUND = (1 << _WIDTH) - 1

# The assignments of all four rounds, as bits.
_ALL = (1 << 4 * _WIDTH) - 1

# Assignments for which a rule must be true, and must not be, to tell it from others.
_ENOUGH = 8

# How assignments are made up: with atoms mostly defined, mostly undefined, or true and false at
# the same time.
_PLAIN, _SPARSE, _LOOSE = range(3)


# Fingerprints


def fingerprint(tree: Node) -> int:
    """A number that rules of one meaning share.

    >>> from matchwood.language import parse
    >>> one, two = parse("a and (b or c)"), parse("not (not c and not b) and a")
    >>> fingerprint(one) == fingerprint(two) != fingerprint(parse("a and b or c"))
    True
    """
    true = fold(tree, _bits)[0]
    if _ENOUGH <= true.bit_count() <= 4 * _WIDTH - _ENOUGH:
        return true
    if true.bit_count() > _ENOUGH:
        # True of nearly all assignments: atoms that are mostly undefined tell more.
        return -1 - fold(tree, _sparse_bits)[0]
    # True of hardly any assignment. If an atom may be true and false together, more assignments
    # satisfy the rule, which tells such rules apart; only equalities that rest on parts like
    # `x and not x` are then overlooked.
    return -1 - fold(tree, _loose_bits)[0]


def _bits(node: Node, operands: Sequence[Bits]) -> Bits:
    return joined_bits(node, operands) if operands else _leaf_bits(node, _PLAIN)


def _sparse_bits(node: Node, operands: Sequence[Bits]) -> Bits:
    return joined_bits(node, operands) if operands else _leaf_bits(node, _SPARSE)


def _loose_bits(node: Node, operands: Sequence[Bits]) -> Bits:
    return joined_bits(node, operands) if operands else _leaf_bits(node, _LOOSE)


def joined_bits(node: Node, operands: Sequence[Bits], everything: int = _ALL) -> Bits:
    """Where a node is true and where it is false, one bit per assignment, from its operands.

    `everything` has the bits of all assignments.
    """
    if isinstance(node, Not):
        true, false = operands[0]
        return false, true
    true, false = operands[0]
    if isinstance(node, TruthTest):
        unknown = everything & ~(true | false)
        asked = {"true": true, "false": false, "unknown": unknown}[node.truth]
        asked = asked ^ everything if node.negated else asked
        return asked, asked ^ everything
    if isinstance(node, AtLeast):
        false_ones = len(operands) - node.count + 1
        return (
            _at_least(node.count, [t for t, _ in operands], everything),
            _at_least(false_ones, [f for _, f in operands], everything),
        )
    if isinstance(node, And):
        for t, f in operands[1:]:
            true &= t
            false |= f
    elif isinstance(node, Or):
        for t, f in operands[1:]:
            true |= t
            false &= f
    else:
        for t, f in operands[1:]:
            true, false = true & f | false & t, true & t | false & f
            if isinstance(node, Xnor):
                true, false = false, true
    return true, false


def _at_least(count: int, bits: Sequence[int], everything: int) -> int:
    """The assignments that are in so many of several sets of them."""
    digits: list[int] = []  # the number of sets of each assignment, as one row per binary digit
    for carried in bits:
        for place, digit in enumerate(digits):
            digits[place], carried = digit ^ carried, digit & carried
        if carried:
            digits.append(carried)
    if count >= 1 << len(digits):
        return 0
    enough = everything
    for place, digit in enumerate(digits):  # from the lowest digit: `enough` compares those below
        enough = enough & digit if count >> place & 1 else enough | digit
    return enough


@lru_cache(maxsize=1 << 18)
def _leaf_bits(node: Node, kind: int) -> Bits:
    if isinstance(node, Constant):
        return (_ALL, 0) if node.value else (0, _ALL)
    atoms = atoms_of(node)
    true, false = 0, _ALL
    for text in atoms.texts:
        t, f = _atom_bits(text, _LOOSE if atoms.binds else kind)
        true |= t
        false &= f
    return (false, true) if atoms.negated else (true, false)


def _atom_bits(text: str, kind: int) -> Bits:
    """Assignments that are made up from the text of an atom, in four rounds.

    The atom is true most of the time in the first round, seldom in the second, and half of the
    time in the others: long chains of `and` are then true somewhere, and long chains of `or`
    false. In the last round it is undefined half of the time.
    """
    random = int.from_bytes(blake2b(text.encode()).digest())
    most = random | random >> _WIDTH | random >> 2 * _WIDTH
    little = random >> 3 * _WIDTH & random >> 4 * _WIDTH & random >> 5 * _WIDTH
    true = (
        (most & _ROUND)
        | (little & _ROUND) << _WIDTH
        | (random >> 6 * _WIDTH & _ROUND) << 2 * _WIDTH
        | (random >> 7 * _WIDTH & _ROUND) << 3 * _WIDTH
    )
    unsure = random >> 8 * _WIDTH & _ROUND
    false = true ^ _ALL
    if kind == _SPARSE:
        seldom = random & random >> 4 * _WIDTH & _ALL
        return true & seldom, false & seldom
    if kind == _LOOSE:
        return most & _ALL | true, (random >> 4 * _WIDTH | random >> 5 * _WIDTH | false) & _ALL
    defined = ~(unsure << 3 * _WIDTH)
    return true & defined, false & defined


# Minimal disjunctive forms


class _OverBudget(Exception):
    pass


def meaning(tree: Node) -> bytes:
    """A key that two rules share when they are true of the same events.

    >>> from matchwood.language import parse
    >>> meaning(parse("a and (b or c)")) == meaning(parse("c and a or b and a"))
    True
    >>> meaning(parse("18 <= age")) == meaning(parse("not age < 18"))  # lists tell them apart
    False
    """
    normal = normalise(tree)  # rules with one normal form are then over the budget together
    try:
        text = repr(_Terms().of(normal))
    except _OverBudget:
        text = to_text(normal)
    return blake2b(text.encode(), digest_size=16).digest()


class _Terms:
    """Minimal disjunctive forms: a term is a set of literals, as the bits of a number."""

    def __init__(self) -> None:
        self.literals: dict[str, int] = {}  # the bit of an atom; its negation has the next one
        self.exclusive = 0  # the bits of atoms that are never true and false at once
        self.work = 0

    def of(self, tree: Node) -> list[list[str]]:
        terms = self._terms(tree)
        names = {}
        for text, bit in self.literals.items():
            names[bit], names[bit + 1] = text, f"not {text}"
        return sorted(
            sorted(names[bit] for bit in range(term.bit_length()) if term >> bit & 1)
            for term in terms
        )

    def _terms(self, tree: Node) -> list[int]:
        """The terms of the tree; each node is visited once per polarity that is needed."""
        done: dict[tuple[int, bool], list[int]] = {}
        todo: list[tuple[Node, bool, bool]] = [(tree, True, False)]
        while todo:
            node, positive, ready = todo.pop()
            if (id(node), positive) in done:
                continue
            if not node.operands:
                done[id(node), positive] = self._leaf(node, positive)
                continue
            if isinstance(node, And | Or):
                needed = [(operand, positive) for operand in node.operands]
            elif isinstance(node, TruthTest | AtLeast):
                raise _OverBudget
            elif isinstance(node, Not):
                needed = [(node.operands[0], not positive)]
            else:
                needed = [(o, sign) for o in node.operands for sign in (True, False)]
            if ready:
                parts = [done[id(operand), sign] for operand, sign in needed]
                done[id(node), positive] = self._join(node, positive, parts)
            else:
                todo.append((node, positive, True))
                todo.extend((operand, sign, False) for operand, sign in needed)
        return done[id(tree), True]

    def _leaf(self, node: Node, positive: bool) -> list[int]:
        if isinstance(node, Constant):
            return [0] if node.value is positive else []
        atoms = atoms_of(node)
        if len(atoms.texts) > MAX_TERMS:
            raise _OverBudget
        bits = [self._bit(text, atoms) for text in atoms.texts]
        if atoms.negated is positive:
            return [sum(2 << bit for bit in bits)]
        return [1 << bit for bit in bits]

    def _bit(self, text: str, atoms: PredicateAtoms) -> int:
        bit = self.literals.setdefault(text, 2 * len(self.literals))
        if bit > 2 * MAX_LITERALS:
            raise _OverBudget
        if not atoms.binds:
            self.exclusive |= 1 << bit
        return bit

    def _join(self, node: Node, positive: bool, parts: list[list[int]]) -> list[int]:
        if isinstance(node, Not):
            return parts[0]
        if isinstance(node, And | Or):
            if isinstance(node, Or) is positive:
                return self._minimal(term for part in parts for term in part)
            product = [0]
            for part in sorted(parts, key=len):
                product = self._product(product, part)
            return product
        true, false = parts[0], parts[1]
        for index in range(2, len(parts), 2):
            t, f = parts[index], parts[index + 1]
            odd = self._minimal([*self._product(true, f), *self._product(false, t)])
            even = self._minimal([*self._product(true, t), *self._product(false, f)])
            true, false = (even, odd) if isinstance(node, Xnor) else (odd, even)
        return true if positive else false

    def _product(self, left: list[int], right: list[int]) -> list[int]:
        self._spend(len(left) * len(right))
        return self._minimal(left_term | right_term for left_term in left for right_term in right)

    def _minimal(self, terms: Iterable[int]) -> list[int]:
        """The terms that no other term implies, without those that are never true."""
        kept: list[int] = []
        for term in sorted(set(terms), key=_size_and_value):
            if term & term >> 1 & self.exclusive:
                continue
            self._spend(len(kept))
            if not any(smaller & term == smaller for smaller in kept):
                kept.append(term)
        if len(kept) > MAX_TERMS:
            raise _OverBudget
        return kept

    def _spend(self, comparisons: int) -> None:
        self.work += comparisons + 1
        if self.work > MAX_WORK:
            raise _OverBudget


def _size_and_value(term: int) -> tuple[int, int]:
    return term.bit_count(), term
