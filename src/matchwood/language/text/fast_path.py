"""The fast path from text to tree: rules of simple predicates, in one pass.

One regular expression cuts the text into whole predicates, `and`, `or`, `xor`, `xnor`, `not` and
parentheses. Predicates are interned by their text, because many occur again in a large set of
rules. The fast path returns None for everything that is not simple (sums, variables, comments,
quoted names, times, mistakes); `parser` then reads the rule token by token, and explains mistakes.
"""

from __future__ import annotations

import re

from matchwood.language.errors import RuleError
from matchwood.language.names import reserved
from matchwood.language.text.tokens import COMPARE, NUMBER, PATH, STRING, unquote
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.nodes import MAX_LEVELS, And, Constant, Node, Not, Or, parity_chain
from matchwood.language.tree.predicates import Between, Call, Comparison, In, IsNull, Like
from matchwood.language.values import Literal, negative, read_number

# Interned predicates per generation, of which there are two. One takes 400 to 750 bytes.
_MAX_INTERNED = 1 << 16

# Characters of the longest predicate that is interned: longer ones rarely repeat, and would fill
# the memory.
_MAX_INTERNED_TEXT = 200

_LITERAL = rf"(?:-?+{NUMBER}|{STRING})"
_LITERALS = rf"{_LITERAL}(?:\s*+,\s*+{_LITERAL})*+"
_NOT = r"(?:(?:not|NOT)\s++)?+"
_AND = r"(?:and|AND)"
_BETWEEN = r"(?:between|BETWEEN)"
_LIKE = r"(?:like|ilike|rlike|LIKE|ILIKE|RLIKE)"
_NULL = r"(?:is|IS)\s++(?:(?:not|NOT)\s++)?+(?:null|NULL)"

# A whole simple predicate, if what follows it may follow an operand.
PREDICATE = (
    rf"{PATH}(?:\s*+{COMPARE}\s*+{_LITERAL}|\s++{_NOT}(?:(?:in|IN)\s*+\(\s*+{_LITERALS}\s*+\)"
    rf"|{_BETWEEN}\s++{_LITERAL}\s++{_AND}\s++{_LITERAL}|{_LIKE}\s*+{STRING})|\s++{_NULL}"
    rf"|\s*+\(\s*+{PATH}\s*+,\s*+{_LITERAL}\s*+\)|)"
    r"(?!\w)(?=\s*+(?:\)|\Z|(?:and|or|xor|xnor|AND|OR|XOR|XNOR)\b))"
)
_PIECES = re.compile(rf"\s*+({PREDICATE}|[()]|\w++|(?s:.)++)").findall
_PARTS = re.compile(
    rf"({PATH})\s*+(?:({COMPARE})\s*+({_LITERAL})|({_NOT})(?:(?:in|IN)\s*+\(\s*+({_LITERALS})\s*+\)"
    rf"|{_BETWEEN}\s++({_LITERAL})\s++{_AND}\s++({_LITERAL})|({_LIKE})\s*+({STRING}))|({_NULL})"
    rf"|\(\s*+({PATH})\s*+,\s*+({_LITERAL})\s*+\)|)"
).fullmatch
_EACH = re.compile(_LITERAL).findall

_WORDS = {
    **{word: word for word in ("(", ")", "and", "or", "xor", "xnor", "not")},
    **{word.upper(): word for word in ("and", "or", "xor", "xnor", "not")},
}

# The predicates of this generation, by their text.
_interned: dict[str, Node] = {}

# The predicates of the generation before. Those that are used again move to the present one.
_older: dict[str, Node] = {}


class Chain:
    """The operands read so far inside one pair of parentheses, by how tightly they bind.

    `opener` is the word before the parenthesis, if it is any, every or at_least; `attribute`, or
    `count` and the complete `rules`, belong to it.
    """

    __slots__ = (
        "ands", "attribute", "count", "nots", "opener", "ors", "parity", "rules", "start", "xnors",
    )  # fmt: skip
    attribute: str
    count: int

    def __init__(self, start: int) -> None:
        self.start = start
        self.ors: list[Node] = []
        self.parity: list[Node] = []
        self.xnors = 0  # how many connectives between the operands of `parity` are `xnor`
        self.ands: list[Node] = []
        self.nots = 0
        self.opener = ""
        self.rules: list[Node] = []

    def close_and(self) -> Node:
        ands = self.ands
        self.ands = []
        return ands[0] if len(ands) == 1 else And(ands)

    def close_parity(self) -> Node:
        last = self.close_and()
        if not self.parity:
            return last
        operands, xnors = [*self.parity, last], self.xnors
        self.parity, self.xnors = [], 0
        return parity_chain(operands, xnors)

    def close(self) -> Node:
        last = self.close_parity()
        if not self.ors:
            return last
        operands, self.ors = [*self.ors, last], []
        return Or(operands)


def simple_rule(text: str) -> Node | None:
    """The tree of a rule of simple predicates, None if it is not one."""
    try:
        # Without blanks at the end, each match is followed by the next: no search is repeated.
        return _read(_PIECES(text.rstrip()))
    except RuleError:
        return None


def simple_predicate(text: str) -> Node | None:
    """The interned node of a simple predicate, None if it is not one."""
    global _interned, _older
    node = _interned.get(text)
    if node is None:
        node = _older.get(text)
        if node is None:
            node = _made(text)
        if node is not None and len(text) <= _MAX_INTERNED_TEXT:
            if len(_interned) >= _MAX_INTERNED:
                _older, _interned = _interned, {}
            _interned[text] = node
    return node


def forget() -> None:
    """Free the memory of the interned predicates; they are parsed again when they are needed."""
    _interned.clear()
    _older.clear()


def remembered_predicates() -> int:
    """How many predicates are interned at this moment, in both generations together.

    A predicate that has moved from the older generation to the present one counts twice.
    """
    return len(_interned) + len(_older)


def _read(pieces: list[str]) -> Node | None:
    interned, words = _interned.get, _WORDS.get
    chain = Chain(0)
    outer: list[Chain] = []
    levels = 0
    operand = True  # whether an operand comes next
    for piece in pieces:
        word = words(piece)
        if word is None:
            node = interned(piece)
            if node is None:
                node = simple_predicate(piece)
            if node is None or not operand:
                return None
            operand = False
        elif word == "(" or word == "not":
            levels += 1
            if not operand or levels > MAX_LEVELS:
                return None
            if word == "not":
                chain.nots += 1
            else:
                outer.append(chain)
                chain = Chain(0)
            continue
        elif operand:
            return None
        elif word == ")":
            if not outer:
                return None
            node = chain.close()
            chain = outer.pop()
            levels -= 1
        else:
            if word == "or":
                chain.ors.append(chain.close_parity())
            elif word != "and":
                chain.parity.append(chain.close_and())
                chain.xnors += word == "xnor"
            operand = True
            continue
        while chain.nots:
            node = Not(node)
            chain.nots -= 1
            levels -= 1
        chain.ands.append(node)
    return None if operand or outer else chain.close()


def _made(text: str) -> Node | None:
    parts = _PARTS(text)
    if parts is None:
        return None
    path, op, value, no, values, low, high, kind, pattern, null, subject, argument = parts.groups()
    if reserved(path.lower()) or (subject is not None and reserved(subject.lower())):
        return Constant(text.lower() == "true") if text.lower() in ("true", "false") else None
    name = _name(path)
    try:
        if op is not None:
            return Comparison(name, op, _value(value))
        if values is not None:
            return In(name, [_value(constant) for constant in _EACH(values)], bool(no))
        if low is not None:
            return Between(name, _value(low), _value(high), bool(no))
        if kind is not None:
            return Like(name, kind.lower(), unquote(pattern), bool(no))
        if null is not None:
            return IsNull(name, "not" in null.lower())
        if subject is not None:
            return Call(name, (Attribute(_name(subject)), _value(argument)))
        return Comparison(name, "=", True)
    except RuleError:
        return None


def _name(path: str) -> str:
    return path if path.isidentifier() else "".join(path.split())


def _value(text: str) -> Literal:
    if text[0] == "'":
        return unquote(text)
    return negative(read_number(text[1:])) if text[0] == "-" else read_number(text)
