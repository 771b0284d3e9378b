"""Rules as flat postfix programs over atoms: what the compiled builder reads.

An atom is a distinct positive predicate. A word of a program is a literal, 2 * atom + negated, or
below zero an operator with its number of operands (see `operator_word`).
"""

from __future__ import annotations

from array import array

from matchwood.index.atoms import Atoms
from matchwood.language.tree import And, Constant, Node, Not, Or, Xnor, Xor

NOT, AND, OR, XOR, XNOR, TRUE, FALSE = range(7)


def operator_word(operator: int, operands: int) -> int:
    return -(operands * 8 + operator) - 1


_OPERATOR: dict[type[Node], int] = {And: AND, Or: OR, Xor: XOR, Xnor: XNOR}


class Programs:
    """Gathers the programs of rules, one after the other."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.words = array("i")
        self.ends = array("q", [0])
        self._literals: dict[int, tuple[int, Node]] = {}  # by identity: the parser interns

    def add(self, tree: Node) -> None:
        words = self.words
        known = self._literals
        todo: list[tuple[Node, bool]] = [(tree, False)]
        while todo:
            node, ready = todo.pop()
            operands = node.operands
            if not operands:
                found = known.get(id(node))
                if found is None:
                    words.append(self._leaf(node))
                else:
                    words.append(found[0])
            elif ready:
                kind = type(node)
                operator = NOT if kind is Not else _OPERATOR[kind]
                words.append(-(len(operands) * 8 + operator) - 1)
            else:
                todo.append((node, True))
                for operand in reversed(operands):
                    todo.append((operand, False))
        self.ends.append(len(words))

    def _leaf(self, node: Node) -> int:
        if isinstance(node, Constant):
            return operator_word(TRUE if node.value else FALSE, 0)
        word = self.atoms.literal(node)
        self._literals[id(node)] = word, node  # the node is kept, so its id stays its own
        return word
