"""Predicates and calls, read from text token by token."""

from __future__ import annotations

from typing import Any, NoReturn

from matchwood.language.errors import RuleError
from matchwood.language.names import reserved
from matchwood.language.text.operands import Operands
from matchwood.language.text.printing import attribute_text
from matchwood.language.text.tokens import Token, unquote
from matchwood.language.tree import (
    Between,
    Call,
    Comparison,
    Constant,
    Everything,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Node,
    TruthTest,
    compared,
)
from matchwood.language.tree.arithmetic import Attribute, Side, Sum, Variable
from matchwood.language.tree.nodes import TRUTHS
from matchwood.language.tree.predicates import PATTERNS
from matchwood.language.values import Literal, family_of, holds

_COMPARISON_SYMBOLS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
_AFTER_ATTRIBUTE = frozenset(("is", "not", "between", "in", *PATTERNS))


class Predicates(Operands):
    """Reads what is between the connectives of a rule."""

    def primary(self) -> Node:
        token = self.peek()
        word = token.text.lower()
        if token.kind == "quoted" or (
            token.kind == "name" and not reserved(word) and not self.time_ahead(token)
        ):
            if word != "lower" and self.opens_call(token):
                self.position = token.end
                return self.call("".join(token.text.split()), token)
            left = self.operand()
        else:
            left = self.operand()
        if isinstance(left, Attribute):
            return self.after_attribute(left.name, token)
        if not self.comparison_next():
            if isinstance(left, bool):
                return Constant(left)
            after = self.peek()
            if isinstance(left, Variable | Sum):
                self.fail("a comparison after a sum or a variable", after)
            self.fail("a comparison after a literal", after)
        return self.compared(left, token)

    def comparison_next(self) -> bool:
        """Whether = or another comparison is next."""
        token = self.peek()
        return token.kind == "symbol" and token.text in _COMPARISON_SYMBOLS

    def after_attribute(self, name: str, at: Token) -> Node:
        token = self.peek()
        word = token.text.lower()
        if self.comparison_next():
            return self.compared(Attribute(name), at)
        if token.kind != "name" or word not in _AFTER_ATTRIBUTE:
            if isinstance(name, Everything):
                self.fail("a predicate after '*'", token)
            return Comparison(name, "=", True)
        self.position = token.end
        if word == "is":
            return self.after_is(name, at)
        negated = word == "not"
        if negated:
            word = self.expect("between", "in", *PATTERNS).text.lower()
        if word == "between":
            low, _ = self.literal()
            self.expect("and")
            high, position = self.literal()
            return self.checked(position, Between, name, low, high, negated)
        if word == "in":
            return self.in_list(name, negated)
        return self.patterns(name, word, negated, at)

    def after_is(self, name: str, at: Token) -> Node:
        negated = self.next_is("not")
        word = self.expect("null", *TRUTHS).text.lower()
        if word == "null":
            return self.checked(at.start, IsNull, name, negated)
        if isinstance(name, Everything):
            self.refuse("'*' has no truth: write a predicate, such as * = true", at.start)
        return TruthTest(Comparison(name, "=", True), word, negated)

    def patterns(self, name: str, kind: str, negated: bool, at: Token) -> Node:
        """The pattern, or `any` or `all` of several, after `like`, `ilike` or `rlike`."""
        pattern = self.take()
        which = pattern.text.lower()
        if pattern.kind == "name" and which in ("any", "all"):
            if negated:
                self.refuse_negated(name, kind, pattern)
            self.expect("(")
            patterns = [self.pattern(f"{kind} {which}", self.take())]
            while self.expect(",", ")").text == ",":
                patterns.append(self.pattern(f"{kind} {which}", self.take()))
            return self.checked(pattern.start, LikeMany, name, kind, which, patterns)
        text = self.pattern(kind, pattern)
        return self.checked(pattern.start, Like, name, kind, text, negated)

    def pattern(self, after: str, token: Token) -> str:
        if token.kind != "string":
            self.fail(f"a pattern in single quotes after '{after}'", token)
        return unquote(token.text)

    def refuse_negated(self, name: str, kind: str, token: Token) -> NoReturn:
        """`not like any` is read in two ways by databases, so it has to be written out."""
        subject = attribute_text(name)
        readings = " or ".join(f"not ({subject} {kind} {which} (…))" for which in ("any", "all"))
        self.refuse(
            f"'not {kind} {token.text.lower()}' is read in two ways: write {readings}", token.start
        )

    def in_list(self, name: str, negated: bool) -> Node:
        token = self.peek()
        if token.kind == "name" and token.text.lower() == "list":
            self.position = token.end
            named = self.take()
            if named.kind != "string":
                self.fail("the name of a list in single quotes after 'in list'", named)
            return self.checked(named.start, InList, name, unquote(named.text), negated)
        self.expect("(")
        values: list[Literal] = []
        while True:
            value, _ = self.literal()
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
        if isinstance(right, Attribute) and isinstance(right.name, Everything):
            self.refuse("'*' stands on the left of a comparison", start)
        kinds = (Attribute, Variable, Sum)
        if isinstance(left, kinds) or isinstance(right, kinds):
            return self.checked(at.start, compared, left, op, right)
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
