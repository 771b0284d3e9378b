"""Rule text to tree.

Rules of simple predicates take the fast path of `fast_path`, which leaves the others to the parser
here. The parser also reads simple predicates whole, and everything else token by token. It keeps
`and`, `or`, `xor`, `not` and parentheses on a stack of its own, so nesting does not use Python's
stack. Every quantifier that could backtrack is possessive, so the time is linear.
"""

from __future__ import annotations

import re
from typing import Any

from matchwood.language.errors import RuleError
from matchwood.language.names import reserved
from matchwood.language.text.fast_path import PREDICATE, Chain, simple_predicate, simple_rule
from matchwood.language.text.operands import Operands
from matchwood.language.text.tokens import SPACE, Token, unquote
from matchwood.language.tree import (
    FLIPPED,
    MAX_LEVELS,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Node,
    Not,
    VariableComparison,
)
from matchwood.language.tree.arithmetic import Attribute, Side, Sum, Variable
from matchwood.language.values import Literal, family_of, holds, is_text

# Bytes of UTF-8 in the text of a rule.
MAX_TEXT = 1 << 20

_SUM_AHEAD = rf"{SPACE}[\s(+-]*+[?0-9.]"
_OPERAND = re.compile(rf"{SPACE}(?:({PREDICATE})|(\((?!{_SUM_AHEAD})))")
_CONNECTIVE = re.compile(rf"{SPACE}(\w++|\)|\Z|)")

_CONNECTIVES = frozenset(("and", "or", "xor", "xnor", ")"))
_COMPARISON_SYMBOLS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
_AFTER_ATTRIBUTE = frozenset(("is", "not", "between", "in", "like", "ilike", "rlike"))


def parse_text(text: str) -> Node:
    """The tree of the text of a rule.

    >>> parse_text("18 <= age and (country <> 'US' or vip)")
    parse("age >= 18 and (country != 'US' or vip)")
    """
    check_size(text)
    tree = simple_rule(text)
    return _Parser(text).rule() if tree is None else tree


def parse_canonical(text: str) -> Node:
    """The tree of `str(tree)`, which may be longer than a rule that a user writes."""
    return _Parser(text).rule()


def check_size(text: str) -> None:
    """Raise a RuleError for text that is over the limit, or not valid Unicode."""
    if len(text) > MAX_TEXT or (
        len(text) > MAX_TEXT // 4 and len(text.encode(errors="replace")) > MAX_TEXT
    ):
        raise RuleError(f"a rule has at most {MAX_TEXT:,} bytes of text", text="", position=0)
    if not is_text(text):
        at = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
        raise RuleError(
            "the rule is not valid Unicode: it holds half of a surrogate pair",
            text=text,
            position=at,
        )


class _Parser(Operands):
    def rule(self) -> Node:
        try:
            return self._rule()
        except RuleError as error:
            raise error.at(self.text, min(self.position, len(self.text))) from None

    def _rule(self) -> Node:
        chain = Chain(0)
        outer: list[Chain] = []
        levels = 0
        while True:
            match = _OPERAND.match(self.text, self.position)
            simple = match[1] if match is not None else None
            node = simple_predicate(simple) if simple is not None else None
            if match is not None and node is not None:
                self.position = match.end()
            else:
                opened = self.opens(match if simple is None else None)
                if opened:
                    levels += 1
                    if levels > MAX_LEVELS:
                        self.position -= len(opened)
                        raise RuleError(
                            f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's"
                        )
                    if opened == "(":
                        outer.append(chain)
                        chain = Chain(self.position - 1)
                    else:
                        chain.nots += 1
                    continue
                node = self.primary()
            while True:
                if chain.nots:
                    levels -= chain.nots
                    for _ in range(chain.nots):
                        node = Not(node)
                    chain.nots = 0
                chain.ands.append(node)
                word = self.connective(chain, bool(outer))
                if word == "and":
                    break
                if word == "or":
                    chain.ors.append(chain.close_parity())
                    break
                if word == "xor" or word == "xnor":
                    chain.parity.append(chain.close_and())
                    chain.xnors += word == "xnor"
                    break
                node = chain.close()
                if not word:
                    return node
                chain = outer.pop()
                levels -= 1

    def connective(self, chain: Chain, inside: bool) -> str:
        """Consume what follows an operand: a connective in lower case, `)`, or '' at the end."""
        match = _CONNECTIVE.match(self.text, self.position)
        assert match is not None
        word = match[1]
        if word not in _CONNECTIVES:
            word = word.lower()
            if word not in _CONNECTIVES or not word:
                if not word and match.end() == len(self.text) and not inside:
                    return ""
                token = self.peek()
                if token.kind == "end":
                    self.fail(f"')' for the '(' {self.place(chain.start)}", token)
                expected = "'and', 'or', 'xor', 'xnor'"
                self.fail(f"{expected} or ')'" if inside else f"{expected} or the end", token)
        elif word == ")" and not inside:
            self.fail("'and', 'or', 'xor', 'xnor' or the end", self.peek())
        self.position = match.end()
        return word

    def opens(self, match: re.Match[str] | None) -> str:
        """Consume a `not`, or a `(` that opens a group; '' if neither is next."""
        if match is not None:
            self.position = match.end()
            return "("
        token = self.peek()
        if token.kind == "name" and token.text.lower() == "not":
            self.position = token.end
            return "not"
        if token.text != "(" or token.kind != "symbol":
            return ""
        if token.start not in self.groups:
            before = self.position
            is_sum = self.sum() is not None
            self.position = before
            if is_sum:
                return ""
        self.position = token.end
        return "("

    # Predicates

    def primary(self) -> Node:
        token = self.peek()
        word = token.text.lower()
        if token.kind == "quoted":
            self.position = token.end
            return self.after_attribute(unquote(token.text), token)
        if token.kind == "name" and not reserved(word) and not self.time_ahead(token):
            self.position = token.end
            name = "".join(token.text.split()) if not token.text.isidentifier() else token.text
            after = self.peek()
            if after.kind == "symbol" and after.text == "(":
                return self.call(name, token)
            return self.after_attribute(name, token)
        left = self.operand()
        after = self.peek()
        if after.kind != "symbol" or after.text not in _COMPARISON_SYMBOLS:
            if isinstance(left, bool):
                return Constant(left)
            if isinstance(left, Variable | Sum):
                self.fail("a comparison after a variable", after)
            self.fail("a comparison after a literal", after)
        return self.compared(left, token)

    def after_attribute(self, name: str, at: Token) -> Node:
        token = self.peek()
        word = token.text.lower()
        if token.kind == "symbol" and token.text in _COMPARISON_SYMBOLS:
            return self.compared(Attribute(name), at)
        if token.kind != "name" or word not in _AFTER_ATTRIBUTE:
            return Comparison(name, "=", True)
        self.position = token.end
        if word == "is":
            negated = self.next_is("not")
            self.expect("null")
            return IsNull(name, negated)
        negated = word == "not"
        if negated:
            word = self.expect("between", "in", "like", "ilike", "rlike").text.lower()
        if word == "between":
            low, _ = self.literal()
            self.expect("and")
            high, position = self.literal()
            return self.checked(position, Between, name, low, high, negated)
        if word == "in":
            return self.in_list(name, negated)
        pattern = self.take()
        if pattern.kind != "string":
            self.fail(f"a pattern in single quotes after '{word}'", pattern)
        return self.checked(pattern.start, Like, name, word, unquote(pattern.text), negated)

    def in_list(self, name: str, negated: bool) -> Node:
        self.expect("(")
        values: list[Literal] = []
        while True:
            value, position = self.literal()
            if values and family_of(value) is not family_of(values[0]):
                self.checked(position, In, name, (values[0], value))
            values.append(value)
            if self.expect(",", ")").text == ")":
                return In(name, values, negated)

    def checked(self, position: int, kind: Any, *parts: object) -> Node:
        """A node; if its constructor refuses what is at `position`, the error says so."""
        try:
            return kind(*parts)  # type: ignore[no-any-return]
        except RuleError as error:
            raise error.at(self.text, position) from None

    def compared(self, left: Side, at: Token) -> Node:
        op = {"==": "=", "<>": "!="}.get(symbol := self.take().text, symbol)
        start = self.peek().start
        right = self.operand()
        if isinstance(left, Variable | Sum) or isinstance(right, Variable | Sum):
            return self.checked(at.start, VariableComparison, left, op, right)
        if isinstance(left, Attribute):
            if isinstance(right, Attribute):
                return AttributeComparison(left.name, op, right.name)
            return Comparison(left.name, op, right)
        if isinstance(right, Attribute):
            return Comparison(right.name, FLIPPED[op], left)
        if family_of(left) is not family_of(right):
            self.refuse(
                f"a {family_of(left)} is compared with a {family_of(right)}: "
                "literals of two families are never comparable",
                start,
            )
        return Constant(holds(left, op, right))

    def call(self, name: str, at: Token) -> Node:
        if "." in name:
            self.refuse(f"the name of an operator has no dot, found {name!r}", at.start)
        self.expect("(")
        arguments: list[Side] = []
        if not self.next_is(")"):
            while True:
                position = self.peek().start
                argument = self.operand()
                if isinstance(argument, Sum):
                    self.refuse("an argument is an attribute, a literal or a variable", position)
                arguments.append(argument)
                if self.expect(",", ")").text == ")":
                    break
        return self.checked(at.start, Call, name, arguments)
