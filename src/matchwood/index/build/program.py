"""The programs of rules that are given as trees: flat postfix words over atoms.

An atom is a distinct positive predicate; `kernels.programs` draws the words of a program.
"""

from __future__ import annotations

from array import array

from matchwood.index.build.atoms import AtomTable
from matchwood.kernels.programs import AND, FALSE, NOT, OR, TRUE, XNOR, XOR, pack_operator
from matchwood.language.tree import And, Constant, Node, Not, Or, Xnor, Xor

_OPERATOR: dict[type[Node], int] = {And: AND, Or: OR, Xor: XOR, Xnor: XNOR}

# Nodes whose operands the index combines; it takes any other node as a whole, as one literal.
_INDEXED = frozenset((*_OPERATOR, Not))


def constant_word(node: Constant) -> int:
    """The word of `true` or `false`, which are operators without operands."""
    return int(pack_operator(TRUE if node.value else FALSE, 0))


class Programs:
    """Collects the programs of rules, one after another."""

    def __init__(self, atoms: AtomTable) -> None:
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
            operands = node.operands if type(node) in _INDEXED else ()
            if not operands:
                literal = known.get(id(node))
                if literal is None:
                    words.append(self._leaf(node))
                else:
                    words.append(literal[0])
            elif ready:
                kind = type(node)
                operator = NOT if kind is Not else _OPERATOR[kind]
                words.append(pack_operator(operator, len(operands)))
            else:
                todo.append((node, True))
                for operand in reversed(operands):
                    todo.append((operand, False))
        self.ends.append(len(words))

    def _leaf(self, node: Node) -> int:
        if isinstance(node, Constant):
            return constant_word(node)
        word = self.atoms.literal(node)
        self._literals[id(node)] = word, node  # the node is kept, so its id stays its own
        return word
