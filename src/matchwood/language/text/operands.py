"""Operands of comparisons and calls, read from text: attributes, literals and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matchwood.language.errors import RuleError
from matchwood.language.names import reserved
from matchwood.language.text.tokens import TOKEN, Token, Tokens, unquote
from matchwood.language.tree import MAX_LEVELS
from matchwood.language.tree.arithmetic import BINDING, MAX_TERMS, Attribute, Side, Sum, Variable
from matchwood.language.tree.subjects import EVERYTHING, IT, lowered
from matchwood.language.values import Literal, Time, negative, read_number, read_time

if TYPE_CHECKING:
    from collections.abc import Sequence


class Operands(Tokens):
    """Reads operands; each method consumes the tokens that it reads."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.groups: set[int] = set()  # positions of each `(` that is known not to open a sum
        self.inside = 0  # how many `any` and `every` are open, inside which `it` is the element

    def operand(self) -> Side:
        """An attribute, a literal, or a sum."""
        token = self.peek()
        word = token.text.lower()
        if token.kind == "quoted" or (
            token.kind == "name" and not self.time_ahead(token) and word not in ("true", "false")
        ):
            if token.kind == "name" and reserved(word):
                if word == "null":
                    self.refuse("null can only follow 'is': write 'is null'", token.start)
                self.fail("an attribute or a literal", token)
            name = self.attribute()
            if not self.arithmetic_next():
                return Attribute(name)
            self.position = token.start
            summed = self.sum()
            assert summed is not None  # it starts with an attribute, not with a parenthesis
            return summed
        if token.kind == "symbol" and word == "*":
            self.position = token.end
            return Attribute(EVERYTHING)
        if token.kind in ("name", "string"):
            return self.literal()[0]
        if token.kind in ("number", "variable") or token.text in ("(", "-", "+"):
            result = self.sum()
            if result is not None:
                return result
        self.fail("an attribute or a literal", self.take())

    def attribute(self) -> str:
        """The attribute that comes next: a name, `lower(…)` of one, or `it` inside elements."""
        token = self.take()
        if token.kind == "quoted":
            return unquote(token.text)
        word = token.text.lower()
        if token.kind != "name" or reserved(word):
            self.fail("an attribute", token)
        if word == "lower" and self.next_is("("):
            depth = 1
            while (inner := self.peek()).text.lower() == "lower" and self.opens_call(inner):
                self.position = self.peek_after(inner).end
                depth += 1
            name = self.attribute()
            for _ in range(depth):
                self.expect(")")
            return lowered(name)
        if self.inside and token.text == "it":
            return IT
        return token.text if token.text.isidentifier() else "".join(token.text.split())

    def peek_after(self, token: Token) -> Token:
        """The token after another one, which stays."""
        before, self.position = self.position, token.end
        after = self.peek()
        self.position = before
        return after

    def opens_call(self, token: Token) -> bool:
        """Whether a name stands before an opening parenthesis."""
        after = self.peek_after(token)
        return token.kind == "name" and after.kind == "symbol" and after.text == "("

    def arithmetic_next(self) -> bool:
        """Whether + - * or / is next."""
        token = self.peek()
        return token.kind == "symbol" and token.text in BINDING

    def time_ahead(self, token: Token) -> bool:
        """Whether a token starts a date or timestamp, such as `date '2026-01-31'`."""
        if token.text.lower() not in ("date", "timestamp"):
            return False
        after = TOKEN.match(self.text, token.end)
        return after is not None and after.lastgroup == "string"

    def literal(self) -> tuple[Literal, int]:
        """A literal and its position."""
        token = self.take()
        word = token.text.lower()
        start = token.start
        if token.kind == "string":
            return unquote(token.text), start
        if token.kind == "name" and word in ("true", "false"):
            return word == "true", start
        if token.kind == "name" and word in ("date", "timestamp"):
            quoted = self.take()
            if quoted.kind == "string":
                return self.time(word, quoted), start
        if token.kind == "symbol" and word in ("-", "+"):
            number = self.take()
            if number.kind == "number":
                value = self.number(number)
                return (negative(value) if word == "-" else value), start
        if token.kind == "number":
            return self.number(token), start
        if word == "null":
            self.refuse("null can only follow 'is': write 'is null'", start)
        self.fail("a literal", token)

    def number(self, token: Token) -> Any:
        after = self.text[token.end : token.end + 1]
        if after and (after.isalnum() or after in "_."):
            self.refuse(
                f"expected a number, found {token.text + after!r}: "
                "a name does not start with a digit (use backquotes)",
                token.start,
            )
        try:
            return read_number(token.text)
        except RuleError as error:
            raise error.at(self.text, token.start) from None

    def time(self, word: str, token: Token) -> Time:
        text = unquote(token.text)
        time = read_time(text)
        if time is None or (word == "date" and len(text) > 10):
            form = "2026-01-31" if word == "date" else "2026-01-31T10:00:00Z"
            self.refuse(
                f"expected a {word} like '{form}' in the years 1 to 9999, found '{text[:40]}'",
                token.start,
            )
        return time

    def sum(self, tried: bool = False) -> Side | None:
        """A number, an attribute, a variable, or several with + - * / and parentheses.

        None if a `(` turns out to hold something other than a sum: the position is then
        undefined, and the open parentheses are noted as groups. A sum that is only `tried` may
        have any number of them.
        """
        values: list[Any] = []
        pending: list[tuple[str, int]] = []
        opened = 0
        terms = 1

        def apply(binding: int) -> None:
            while pending and pending[-1][0] != "(" and BINDING[pending[-1][0]] >= binding:
                op, _ = pending.pop()
                right, left = values.pop(), values.pop()
                values.append(_postfix(left, op, right))

        while True:
            token = self.take()
            if token.kind == "symbol" and token.text == "(":
                pending.append(("(", token.start))
                opened += 1
                if opened > MAX_LEVELS and tried:
                    self.note_groups(pending, "fewer parentheses", token)
                    return None
                if opened > MAX_LEVELS:
                    self.refuse(
                        f"a sum has at most {MAX_LEVELS} levels of parentheses", token.start
                    )
                continue
            sign = ""
            if token.kind == "symbol" and token.text in ("-", "+"):
                sign = token.text
                token = self.take()
            if token.kind == "number":
                number = self.number(token)
                values.append([negative(number) if sign == "-" else number])
            elif token.kind == "variable" and not sign:
                values.append([Variable(token.text[1:])])
            elif not sign and self.is_summand(token):
                self.position = token.start
                values.append([Attribute(self.attribute())])
            else:
                self.note_groups(pending, "a number, an attribute or a variable", token)
                return None
            while True:
                token = self.peek()
                if token.kind == "symbol" and token.text in BINDING:
                    terms += 1
                    if terms > MAX_TERMS:
                        self.refuse(f"a sum has at most {MAX_TERMS} terms", token.start)
                    self.position = token.end
                    apply(BINDING[token.text])
                    pending.append((token.text, token.start))
                    break
                if not opened:
                    apply(0)
                    return _finished(values[0])
                if token.text != ")" or token.kind != "symbol":
                    self.note_groups(pending, "+, -, *, / or ')'", token)
                    return None
                self.position = token.end
                apply(0)
                pending.pop()
                opened -= 1

    def is_summand(self, token: Token) -> bool:
        """Whether a token is an attribute that may stand in a sum."""
        if token.kind == "quoted":
            return True
        word = token.text.lower()
        is_name = token.kind == "name" and not reserved(word) and not self.time_ahead(token)
        return is_name and not self.opens_call(token)

    def note_groups(self, pending: Sequence[tuple[str, int]], expected: str, token: Token) -> None:
        """Note the open parentheses as groups; a RuleError if there are none."""
        groups = [position for op, position in pending if op == "("]
        if not groups:
            self.fail(expected, token)
        self.groups.update(groups)


def _postfix(left: list[Any], op: str, right: list[Any]) -> list[Any]:
    left.extend(right)
    left.append(op)
    return left


def _finished(postfix: list[Any]) -> Side:
    return postfix[0] if len(postfix) == 1 else Sum(tuple(postfix))
