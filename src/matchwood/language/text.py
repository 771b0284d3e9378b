"""Rule text to tree.

One pass with regular expressions: `_OPERAND` reads a whole simple predicate, which is interned
by its text (the predicates of a large set repeat), and `_CONNECTIVE` what stands between two;
`_TOKEN` reads one token where those do not fit. `and`, `or`, `xor`, `not` and parentheses are kept on a stack of our own, so depth
costs nothing, and every quantifier that could backtrack is possessive, so time is linear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from matchwood.language.arithmetic import BINDING, Attribute, Side, Sum, Variable
from matchwood.language.errors import RuleError
from matchwood.language.tree import (
    FLIPPED,
    MAX_LEVELS,
    And,
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
    Or,
    VariableComparison,
    Xnor,
    Xor,
)
from matchwood.language.values import Literal, Time, family_of, holds, is_text, read_number, read_time

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TEXT = 1 << 20  # bytes of UTF-8
_MAX_INTERNED = 1 << 18

KEYWORDS = frozenset(
    "and or xor xnor not between in like ilike rlike is null true false".split()
)

_SPACE = r"(?:\s|--[^\n]*+)*+"
_NAME = r"[^\W\d]\w*+"
_PATH = rf"{_NAME}(?:\s*+\.\s*+{_NAME})*+"
_NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_STRING = r"'(?:[^']|'')*+'"
_SIMPLE = rf"(?:-?+{_NUMBER}|{_STRING})"  # a literal of a simple predicate
_COMPARE = r"(?:<=|>=|<>|!=|==|=|<|>)"

_SUM_AHEAD = rf"{_SPACE}[\s(+-]*+[?0-9.]"
_OPERAND = re.compile(
    rf"{_SPACE}(?:({_PATH}\s*+(?:{_COMPARE}\s*+{_SIMPLE}"
    rf"|(?:(?:not|NOT)\s++)?+(?:in|IN)\s*+\(\s*+{_SIMPLE}(?:\s*+,\s*+{_SIMPLE})*+\s*+\)"
    rf"|(?:(?:not|NOT)\s++)?+(?:between\s++{_SIMPLE}\s++and|BETWEEN\s++{_SIMPLE}\s++AND)\s++{_SIMPLE}))"
    r"(?=\s*+(?:\)|$|(?:and|or|xor|xnor|AND|OR)\b))"
    rf"|(\((?!{_SUM_AHEAD})))"
)
_CONNECTIVE = re.compile(rf"{_SPACE}(\w++|\)|\Z|)")
_TOKEN = re.compile(
    rf"{_SPACE}(?:(?P<name>{_PATH})|(?P<number>{_NUMBER})|(?P<string>{_STRING})"
    rf"|(?P<quoted>`(?:[^`]|``)*+`)|(?P<variable>\?{_NAME})"
    rf"|(?P<symbol>{_COMPARE}|[(),+\-*/])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)

_interned: dict[str, Node] = {}


def parse(rule: object) -> Node:
    """The tree of a rule: from its text, its JSON form (a dict, or text that starts with `{`).

    >>> parse("18 <= age and (country <> 'US' or vip)")
    parse("age >= 18 and (country != 'US' or vip)")
    >>> parse({"attr": "age", "op": ">=", "value": 18})
    parse('age >= 18')
    """
    if isinstance(rule, str):
        if not rule.lstrip().startswith("{"):
            return _Parser(rule).rule()
    elif isinstance(rule, Node):
        return rule
    elif hasattr(rule, "as_rule"):
        return rule.as_rule()  # type: ignore[no-any-return]
    from matchwood.language.json_form import from_json

    return from_json(rule)


def check_size(text: str) -> None:
    """Refuse text over the limit, or that is not valid Unicode."""
    if len(text) > MAX_TEXT or (len(text) > MAX_TEXT // 4 and len(text.encode(errors="replace")) > MAX_TEXT):
        raise RuleError(f"a rule has at most {MAX_TEXT:,} bytes of text", text="", position=0)
    if not is_text(text):
        at = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
        raise RuleError(
            "the rule is not valid Unicode: it holds half of a surrogate pair",
            text=text,
            position=at,
        )


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Chain:
    """An open parenthesis: the operands read so far, by how tightly they bind."""

    __slots__ = ("ands", "nots", "ors", "parity", "parity_kind", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.ors: list[Node] = []
        self.parity: list[Node] = []
        self.parity_kind: type[Xor | Xnor] | None = None
        self.ands: list[Node] = []
        self.nots = 0

    def close_and(self) -> Node:
        ands = self.ands
        self.ands = []
        return ands[0] if len(ands) == 1 else And(ands)

    def close_parity(self) -> Node:
        last = self.close_and()
        kind = self.parity_kind
        if kind is None:
            return last
        operands = [*self.parity, last]
        self.parity, self.parity_kind = [], None
        return kind(operands)

    def add_parity(self, kind: type[Xor | Xnor]) -> None:
        if self.parity_kind is None or self.parity_kind is kind:
            self.parity.append(self.close_and())
        else:
            self.parity = [self.close_parity()]
        self.parity_kind = kind

    def close(self) -> Node:
        last = self.close_parity()
        return Or([*self.ors, last]) if self.ors else last


class _Parser:
    def __init__(self, text: str) -> None:
        check_size(text)
        self.text = text
        self.position = 0
        self.groups: set[int] = set()  # positions of `(` that are known not to open a sum

    def rule(self) -> Node:
        try:
            return self._rule()
        except RuleError as error:
            raise error.at(self.text, min(self.position, len(self.text))) from None

    def _rule(self) -> Node:
        text, operand, interned = self.text, _OPERAND.match, _interned.get
        chain = _Chain(0)
        outer: list[_Chain] = []
        levels = 0
        while True:
            match = operand(text, self.position)
            simple = match[1] if match is not None else None
            node = interned(simple) if simple is not None else None
            if match is not None and node is not None:
                self.position = match.end()
            else:
                opened = "" if simple is not None else self.opens(match)
                if opened:
                    levels += 1
                    if levels > MAX_LEVELS:
                        self.position -= len(opened)
                        raise RuleError(
                            f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's"
                        )
                    if opened == "(":
                        outer.append(chain)
                        chain = _Chain(self.position - 1)
                    else:
                        chain.nots += 1
                    continue
                node = self.primary()
                if simple is not None and match is not None and match.end() == self.position:
                    if len(_interned) >= _MAX_INTERNED:
                        _interned.clear()
                    _interned[simple] = node
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
                    chain.add_parity(Xor if word == "xor" else Xnor)
                    break
                node = chain.close()
                if not word:
                    return node
                chain = outer.pop()
                levels -= 1

    def connective(self, chain: _Chain, inside: bool) -> str:
        """Take what follows an operand: a connective in lower case, `)`, or '' at the end."""
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
        """Take a `not`, or a `(` that opens a group; '' where neither is next."""
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

    # Tokens

    def peek(self) -> _Token:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None and match.lastgroup is not None
        kind = match.lastgroup
        return _Token(kind, match[kind], match.start(kind), match.end(kind))

    def take(self) -> _Token:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None and match.lastgroup is not None
        kind = match.lastgroup
        token = _Token(kind, match[kind], match.start(kind), match.end(kind))
        self.position = token.end
        return token

    def next_is(self, *words: str) -> bool:
        """Take the next token if it is one of these keywords or symbols."""
        token = self.peek()
        if token.kind in ("name", "symbol") and token.text.lower() in words:
            self.position = token.end
            return True
        return False

    def expect(self, *words: str) -> _Token:
        token = self.take()
        if token.kind not in ("name", "symbol") or token.text.lower() not in words:
            self.fail(" or ".join(f"'{word}'" for word in words), token)
        return token

    def fail(self, expected: str, token: _Token) -> NoReturn:
        found = self.describe(token)
        raise RuleError(
            f"expected {expected}, found {found}",
            text=self.text,
            position=token.start,
            found=found,
            expected=expected,
        )

    def refuse(self, reason: str, position: int) -> NoReturn:
        raise RuleError(reason, text=self.text, position=position)

    def place(self, position: int) -> str:
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return f"at column {column}" if line == 1 else f"at line {line}, column {column}"

    def describe(self, token: _Token) -> str:
        if token.kind == "end":
            return "the end of the rule"
        if token.kind == "other":
            if token.text == '"':
                self.refuse(
                    'double quotes are not used: write a string in single quotes (\'text\') '
                    "and a name in backquotes (`name`)",
                    token.start,
                )
            if token.text in "'`":
                what = "string" if token.text == "'" else "name"
                self.refuse(f"this {what} is not closed: expected {token.text} at its end", token.start)
            return f"the character {token.text!r}"
        shown = token.text if len(token.text) <= 40 else token.text[:39] + "…"
        if token.kind == "name" and token.text.lower() in KEYWORDS:
            return f"the keyword '{shown}'"
        return f"'{shown}'" if token.kind == "symbol" else f"{token.kind} {shown}"

    # Predicates

    def primary(self) -> Node:
        token = self.peek()
        word = token.text.lower()
        if token.kind == "quoted":
            self.position = token.end
            return self.after_attribute(token.text[1:-1].replace("``", "`"), token)
        if token.kind == "name" and word not in KEYWORDS and not self.time_ahead(token):
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

    def after_attribute(self, name: str, at: _Token) -> Node:
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
            high, place = self.literal()
            return self.checked(place, Between, name, low, high, negated)
        if word == "in":
            return self.in_list(name, negated)
        pattern = self.take()
        if pattern.kind != "string":
            self.fail(f"a pattern in single quotes after '{word}'", pattern)
        return self.checked(pattern.start, Like, name, word, _unquote(pattern.text), negated)

    def in_list(self, name: str, negated: bool) -> Node:
        self.expect("(")
        values: list[Literal] = []
        while True:
            value, place = self.literal()
            if values and family_of(value) is not family_of(values[0]):
                self.checked(place, In, name, (values[0], value))
            values.append(value)
            if self.expect(",", ")").text == ")":
                return In(name, values, negated)

    def checked(self, position: int, kind: Any, *parts: object) -> Node:
        """A node whose constructor may refuse what stands at `position`."""
        try:
            return kind(*parts)  # type: ignore[no-any-return]
        except RuleError as error:
            raise error.at(self.text, position) from None

    def compared(self, left: Side, at: _Token) -> Node:
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

    def operand(self) -> Side:
        """An attribute, a literal, or a sum."""
        token = self.peek()
        if token.kind == "quoted":
            self.position = token.end
            return Attribute(token.text[1:-1].replace("``", "`"))
        word = token.text.lower()
        if token.kind == "name" and not self.time_ahead(token) and word not in ("true", "false"):
            if word in KEYWORDS:
                if word == "null":
                    self.refuse("null stands only after 'is': write 'is null'", token.start)
                self.fail("an attribute or a literal", token)
            self.position = token.end
            return Attribute("".join(token.text.split()))
        if token.kind in ("name", "string"):
            return self.literal()[0]
        if token.kind in ("number", "variable") or token.text in ("(", "-", "+"):
            result = self.sum()
            if result is not None:
                return result
        self.fail("an attribute or a literal", self.take())

    def time_ahead(self, token: _Token) -> bool:
        if token.text.lower() not in ("date", "timestamp"):
            return False
        after = _TOKEN.match(self.text, token.end)
        return after is not None and after.lastgroup == "string"

    def literal(self) -> tuple[Literal, int]:
        """A literal and its place."""
        token = self.take()
        word = token.text.lower()
        start = token.start
        if token.kind == "string":
            return _unquote(token.text), start
        if token.kind == "name" and word in ("true", "false"):
            return word == "true", start
        if token.kind == "name" and word in ("date", "timestamp"):
            quoted = self.take()
            if quoted.kind == "string":
                return self.time(word, quoted), start
        if token.kind == "symbol" and word in ("-", "+"):
            number = self.take()
            if number.kind == "number":
                return self.number(number) * (-1 if word == "-" else 1), start
        if token.kind == "number":
            return self.number(token), start
        if word == "null":
            self.refuse("null stands only after 'is': write 'is null'", start)
        self.fail("a literal", token)

    def number(self, token: _Token) -> Any:
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

    def time(self, word: str, token: _Token) -> Time:
        text = _unquote(token.text)
        time = read_time(text)
        if time is None or (word == "date" and len(text) > 10):
            form = "2026-01-31" if word == "date" else "2026-01-31T10:00:00Z"
            self.refuse(
                f"expected a {word} like '{form}' in the years 1 to 9999, found '{text[:40]}'",
                token.start,
            )
        return time

    def call(self, name: str, at: _Token) -> Node:
        if "." in name:
            self.refuse(f"the name of an operator has no dot, found {name!r}", at.start)
        self.expect("(")
        arguments: list[Side] = []
        if not self.next_is(")"):
            while True:
                place = self.peek().start
                argument = self.operand()
                if isinstance(argument, Sum):
                    self.refuse("an argument is an attribute, a literal or a variable", place)
                arguments.append(argument)
                if self.expect(",", ")").text == ")":
                    break
        return self.checked(at.start, Call, name, arguments)

    def sum(self) -> Side | None:
        """A number, a variable, or numbers and variables with + - * / and parentheses.

        None where a `(` turns out to hold something else than a sum: the position is then
        anywhere, and the open parentheses are noted as groups.
        """
        values: list[Any] = []
        pending: list[tuple[str, int]] = []

        def apply(binding: int) -> None:
            while pending and pending[-1][0] != "(" and BINDING[pending[-1][0]] >= binding:
                op, _ = pending.pop()
                right, left = values.pop(), values.pop()
                values.append(_postfix(left, op, right))

        while True:
            token = self.take()
            if token.kind == "symbol" and token.text == "(":
                pending.append(("(", token.start))
                if len(pending) > 2 * MAX_LEVELS:
                    self.refuse(f"a sum has at most {MAX_LEVELS} levels of parentheses", token.start)
                continue
            sign = 1
            if token.kind == "symbol" and token.text in ("-", "+"):
                sign = -1 if token.text == "-" else 1
                token = self.take()
            if token.kind == "number":
                values.append([sign * self.number(token)])
            elif token.kind == "variable" and sign == 1:
                values.append([Variable(token.text[1:])])
            else:
                return self.no_sum(pending, "a number or a variable", token)
            while True:
                token = self.peek()
                opened = any(op == "(" for op, _ in pending)
                if token.kind == "symbol" and token.text in BINDING:
                    self.position = token.end
                    apply(BINDING[token.text])
                    pending.append((token.text, token.start))
                    break
                if not opened:
                    apply(0)
                    return _finished(values[0])
                if token.text != ")" or token.kind != "symbol":
                    return self.no_sum(pending, "+, -, *, / or ')'", token)
                self.position = token.end
                apply(0)
                pending.pop()

    def no_sum(self, pending: Sequence[tuple[str, int]], expected: str, token: _Token) -> None:
        groups = [place for op, place in pending if op == "("]
        if not groups:
            self.fail(expected, token)
        self.groups.update(groups)


_CONNECTIVES = frozenset(("and", "or", "xor", "xnor", ")"))
_COMPARISON_SYMBOLS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
_AFTER_ATTRIBUTE = frozenset(("is", "not", "between", "in", "like", "ilike", "rlike"))


def _postfix(left: list[Any], op: str, right: list[Any]) -> list[Any]:
    left.extend(right)
    left.append(op)
    return left


def _finished(postfix: list[Any]) -> Side:
    return postfix[0] if len(postfix) == 1 else Sum(tuple(postfix))  # type: ignore[no-any-return]


def _unquote(text: str) -> str:
    return text[1:-1].replace("''", "'")
