"""A condition as Spark parses it: the operators of its grammar, from the loosest to the tightest.

Negated predicates are `not` of the positive ones, which is what Spark makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from matchwood.check.dialects.sql_tokens import END, SqlToken, tokens_of
from matchwood.imports.imported import Inexpressible
from matchwood.imports.sql.spark_literals import read_number, read_string, refusal

# The deepest nesting of a condition: what Python's stack takes without any doubt.
MAX_DEPTH = 40

COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<=>": "<=>"}
COMPARISONS |= {"<": "<", "<=": "<=", ">": ">", ">=": ">="}

# Words that cannot be the name of a column.
RESERVED = frozenset(
    (
        *("and", "or", "not", "in", "between", "like", "ilike", "rlike", "regexp", "is", "case"),
        *("when", "then", "else", "end", "from", "select", "as", "escape", "distinct", "null"),
    )
)


@dataclass(frozen=True)
class SparkExpression:
    """A part of a condition; what `value` is depends on the kind.

    literal      the value, None for null      column     its parts, as written
    call         the name in lower case        cast       the type
    and, or, not                               compare    the operator
    between, in                                like       (like, ilike or rlike; "", any or all)
    is           true, false or unknown        isnull
    sum          the operator                  lambda     the name of its variable
    case         conditions and results in turn, and the last result
    item         of a map or an array, by an index         field      of an item: its name
    """

    kind: str
    place: int  # index of its first character in the text
    operands: tuple[SparkExpression, ...] = ()
    value: Any = None


def parse_condition(text: str) -> SparkExpression:
    """The condition that a text says; an Inexpressible that names what cannot be read."""
    return _ConditionParser(text).condition()


class _ConditionParser:
    """Reads tokens from left to right; each method reads what it is named after."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [token for token in tokens_of(text) if token.kind != "comment"]
        self.at = 0
        self.depth = 0

    # Tokens

    def peek(self, steps: int = 0) -> SqlToken:
        index = self.at + steps
        return self.tokens[index] if index < len(self.tokens) else END

    def next(self) -> SqlToken:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Step over these words or symbols if they come next."""
        for steps, word in enumerate(words):
            token = self.peek(steps)
            if token.kind in ("string", "double", "quoted") or token.text.lower() != word:
                return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.unexpected(f"expected '{word}'")

    def place(self) -> int:
        token = self.peek()
        return len(self.text) if token is END else token.start

    def unexpected(self, expected: str) -> Inexpressible:
        token = self.peek()
        found = "the end" if token is END else f"{token.text[:60]!r}"
        return refusal(self.text, self.place(), f"{expected}, found {found}")

    # Conditions

    def condition(self) -> SparkExpression:
        found = self.expression()
        if self.peek() is not END:
            raise self.unexpected("expected the end of the condition")
        return found

    def expression(self) -> SparkExpression:
        return self.chain("or", lambda: self.chain("and", self.negation))

    def chain(self, word: str, operand: Callable[[], SparkExpression]) -> SparkExpression:
        place, operands = self.place(), [operand()]
        while self.accept(word):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else SparkExpression(word, place, tuple(operands))

    def negation(self) -> SparkExpression:
        place = self.place()
        if not (self.accept("not") or self.accept("!")):
            return self.predicate()
        self.deeper()
        inner = self.negation()
        self.depth -= 1
        return SparkExpression("not", place, (inner,))

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise refusal(self.text, self.place(), f"the condition nests over {MAX_DEPTH} deep")

    def predicate(self) -> SparkExpression:
        place, subject = self.place(), self.comparison()
        if self.accept("is"):
            negated = self.accept("not")
            found = self.test(place, subject)
        else:
            negated = self.accept("not")
            if not negated and self.peek().word not in (
                *("between", "in", "like", "ilike", "rlike", "regexp"),
            ):
                return subject
            found = self.predicate_of(place, subject)
        if not negated:
            return found
        if found.kind == "like" and found.value[1]:
            # `not like any` asks for one pattern that is unlike, and `not like all` for all of them
            other = {"any": "all", "all": "any"}[found.value[1]]
            found = replace(found, value=(found.value[0], other))
        return SparkExpression("not", place, (found,))

    def test(self, place: int, subject: SparkExpression) -> SparkExpression:
        if self.accept("null"):
            return SparkExpression("isnull", place, (subject,))
        for truth in ("true", "false", "unknown"):
            if self.accept(truth):
                return SparkExpression("is", place, (subject,), truth)
        if self.accept("distinct", "from"):
            same = SparkExpression("compare", place, (subject, self.comparison()), "<=>")
            return SparkExpression("not", place, (same,))
        raise self.unexpected("expected null, true, false, unknown or distinct from")

    def predicate_of(self, place: int, subject: SparkExpression) -> SparkExpression:
        if self.accept("between"):
            low = self.comparison()
            self.expect("and")
            return SparkExpression("between", place, (subject, low, self.comparison()))
        if self.accept("in"):
            self.expect("(")
            return SparkExpression("in", place, (subject, *self.list_of_expressions()))
        for kind in ("like", "ilike", "rlike", "regexp"):
            if self.accept(kind):
                return self.pattern(place, subject, "rlike" if kind == "regexp" else kind)
        raise self.unexpected("expected between, in, like, ilike or rlike")

    def pattern(self, place: int, subject: SparkExpression, kind: str) -> SparkExpression:
        for word in ("any", "some", "all") if kind != "rlike" else ():
            if self.accept(word):
                self.expect("(")
                patterns = self.list_of_expressions()
                quantifier = "all" if word == "all" else "any"
                return SparkExpression("like", place, (subject, *patterns), (kind, quantifier))
        pattern = self.comparison()
        if self.accept("escape"):
            return SparkExpression("like", place, (subject, pattern, self.primary()), (kind, ""))
        return SparkExpression("like", place, (subject, pattern), (kind, ""))

    def list_of_expressions(self) -> list[SparkExpression]:
        """The expressions up to a closing parenthesis; the opening one has been read."""
        if self.peek().word in ("select", "with"):
            raise self.unexpected("a subquery cannot be said: expected values")
        found: list[SparkExpression] = []
        if self.accept(")"):
            return found
        while True:
            found.append(self.inner())
            if self.accept(")"):
                return found
            self.expect(",")

    def inner(self) -> SparkExpression:
        self.deeper()
        found = self.expression()
        self.depth -= 1
        return found

    # Values

    def comparison(self) -> SparkExpression:
        place, left = self.place(), self.sum()
        while (op := self.comparison_operator()) is not None:
            left = SparkExpression("compare", place, (left, self.sum()), op)
        return left

    def comparison_operator(self) -> str | None:
        if self.accept("!", "<"):
            return ">="
        if self.accept("!", ">"):
            return "<="
        token = self.peek()
        if token.kind != "symbol" or token.text not in COMPARISONS:
            return None
        self.at += 1
        return COMPARISONS[token.text]

    def sum(self) -> SparkExpression:
        return self.operation(
            ("+", "-", "||", "&", "|", "^"),
            lambda: self.operation(("*", "/", "%", "div"), self.signed),
        )

    def operation(
        self, operators: tuple[str, ...], operand: Callable[[], SparkExpression]
    ) -> SparkExpression:
        place, left = self.place(), operand()
        while self.peek().kind in ("symbol", "name") and self.peek().text.lower() in operators:
            op = self.next().text.lower()
            left = SparkExpression("sum", place, (left, operand()), op)
        return left

    def signed(self) -> SparkExpression:
        place = self.place()
        for sign in ("-", "+", "~"):
            if self.accept(sign):
                self.deeper()
                operand = self.signed()
                self.depth -= 1
                return SparkExpression(
                    "sum", place, (SparkExpression("literal", place, (), 0), operand), sign
                )
        return self.postfixed()

    def postfixed(self) -> SparkExpression:
        found = self.primary()
        while True:
            if self.accept("["):
                found = SparkExpression("item", found.place, (found, self.inner()))
                self.expect("]")
            elif self.accept("::"):
                found = SparkExpression("cast", found.place, (found,), self.type_name())
            elif self.peek().text == "." and found.kind in ("column", "item"):
                self.at += 1
                found = self.field(found)
            else:
                return found

    def field(self, of: SparkExpression) -> SparkExpression:
        token = self.next()
        if token.kind not in ("name", "quoted"):
            self.at -= 1
            raise self.unexpected("expected the name of a field")
        parts = _parts(token)
        if of.kind == "column":
            return SparkExpression("column", of.place, (), (*of.value, *parts))
        return SparkExpression("field", of.place, (of,), parts)

    def primary(self) -> SparkExpression:
        token, place = self.peek(), self.place()
        if token.kind in ("string", "double"):
            return self.string()
        if token.kind == "number":
            self.at += 1
            return SparkExpression("literal", place, (), read_number(token, self.text))
        if token.kind == "quoted":
            self.at += 1
            return SparkExpression("column", place, (), _parts(token))
        if self.accept("("):
            found = self.parenthesised()
            self.expect(")")
            return found
        if token.kind == "name":
            return self.word()
        raise self.unexpected("expected a value or a condition")

    def parenthesised(self) -> SparkExpression:
        if self.peek().word in ("select", "with"):
            raise self.unexpected("a subquery cannot be said: expected a value")
        return self.inner()

    def string(self) -> SparkExpression:
        """One string, or several side by side, which are one."""
        place, value = self.place(), ""
        while self.peek().kind in ("string", "double"):
            value += read_string(self.next(), self.text)
        return SparkExpression("literal", place, (), value)

    def word(self) -> SparkExpression:
        token, place = self.next(), self.place()
        place = token.start
        if token.word in ("true", "false", "null"):
            value = {"true": True, "false": False, "null": None}[token.word]
            return SparkExpression("literal", place, (), value)
        if self.peek().kind in ("string", "double") and token.word in (
            *("date", "timestamp", "timestamp_ntz", "timestamp_ltz"),
        ):
            return SparkExpression("cast", place, (self.string(),), token.word)
        if token.word in ("cast", "try_cast") and self.accept("("):
            operand = self.inner()
            self.expect("as")
            kind = self.type_name()
            self.expect(")")
            return SparkExpression("cast", place, (operand,), kind)
        if token.word == "case":
            return self.case(place)
        if self.accept("("):
            return SparkExpression("call", place, tuple(self.arguments()), token.word)
        if token.word in RESERVED or token.word == "interval":
            self.at -= 1
            raise self.unexpected("expected a value or a condition")
        return SparkExpression("column", place, (), _parts(token))

    def arguments(self) -> list[SparkExpression]:
        """The arguments of a call, which may be functions of elements: `x -> x > 1`."""
        if self.peek().kind in ("name", "quoted") and self.peek(1).text == "->":
            raise self.unexpected("expected a list before a function of its elements")
        found: list[SparkExpression] = []
        if self.accept(")"):
            return found
        while True:
            token = self.peek()
            if token.kind in ("name", "quoted") and self.peek(1).text == "->":
                self.at += 2
                inner = self.inner()
                found.append(SparkExpression("lambda", token.start, (inner,), _parts(token)[0]))
            else:
                found.append(self.inner())
            if self.accept(")"):
                return found
            self.expect(",")

    def case(self, place: int) -> SparkExpression:
        subject = None if self.peek().word == "when" else self.inner()
        parts: list[SparkExpression] = []
        while self.accept("when"):
            start, condition = self.place(), self.inner()
            if subject is not None:
                condition = SparkExpression("compare", start, (subject, condition), "=")
            self.expect("then")
            parts.extend((condition, self.inner()))
        if not parts:
            raise self.unexpected("expected when")
        last = self.inner() if self.accept("else") else SparkExpression("literal", place, (), None)
        self.expect("end")
        return SparkExpression("case", place, (*parts, last))

    def type_name(self) -> str:
        """The name of a type as it is written, with what stands in brackets after it."""
        token = self.next()
        if token.kind != "name":
            self.at -= 1
            raise self.unexpected("expected a type")
        name, depth = token.word, 0
        while self.peek().text in ("(", "<") or depth:
            if self.peek() is END:
                raise self.unexpected("expected the end of the type")
            piece = self.next().text.lower()
            depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(piece, 0)
            name += piece
        return name


def _parts(token: SqlToken) -> tuple[str, ...]:
    if token.kind == "quoted":
        return (token.text[1:-1].replace("``", "`"),)
    return tuple(part.strip() for part in token.text.split("."))
