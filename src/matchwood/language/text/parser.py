"""Rule text to tree.

Rules of simple predicates take the fast path of `fast_path`, which leaves the others to the parser
here. The parser also reads simple predicates whole, and everything else token by token. It keeps
`and`, `or`, `xor`, `not` and parentheses on a stack of its own, so nesting does not use Python's
stack. Every quantifier that could backtrack is possessive, so the time is linear.
"""

from __future__ import annotations

import re

from matchwood.language.errors import RuleError
from matchwood.language.text.fast_path import PREDICATE, Chain, simple_predicate, simple_rule
from matchwood.language.text.predicates import Predicates
from matchwood.language.text.tokens import PATH, SPACE
from matchwood.language.tree import (
    MAX_LEVELS,
    AtLeast,
    Elements,
    Node,
    Not,
    TruthTest,
)
from matchwood.language.tree.nodes import TRUTHS
from matchwood.language.values import is_text

# Bytes of UTF-8 in the text of a rule.
MAX_TEXT = 1 << 20

# What follows a `(` that may open a sum rather than a group: a number, a variable, or an attribute
# with an arithmetic operator or a closing parenthesis after it.
_SUM_AHEAD = rf"(?:{SPACE}[(+-])*+{SPACE}(?:[?0-9.`]|{PATH}{SPACE}[-+*/)])"
_OPERAND = re.compile(rf"{SPACE}(?:({PREDICATE})|(\((?!{_SUM_AHEAD})))")
_CONNECTIVE = re.compile(rf"{SPACE}(\w++|\)|\Z|)")

_TEST = re.compile(rf"{SPACE}is\b", re.IGNORECASE)

_CONNECTIVES = frozenset(("and", "or", "xor", "xnor", ")"))


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


class _Parser(Predicates):
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
            if node is not None and self.inside and "it" in node.attributes:
                node = None  # inside elements, `it` is no attribute
            if match is not None and node is not None:
                self.position = match.end()
            else:
                start = self.position
                opened = self.opens(match if simple is None else None)
                if opened is not None:
                    levels += 1
                    if levels > MAX_LEVELS:
                        self.position = start
                        self.position = self.peek().start
                        raise RuleError(
                            f"a rule has at most {MAX_LEVELS} levels of parentheses and 'not's"
                        )
                    if isinstance(opened, Chain):
                        outer.append(chain)
                        chain = opened
                    else:
                        chain.nots += 1
                    continue
                node = self.tested(self.primary())
            while True:
                if chain.nots:
                    levels -= chain.nots
                    for _ in range(chain.nots):
                        node = Not(node)
                    chain.nots = 0
                chain.ands.append(node)
                word = self.connective(chain, bool(outer))
                if word == ",":
                    chain.rules.append(chain.close())
                    break
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
                node = self.tested(self.closed(chain, node), True)
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
                if token.text == "," and token.kind == "symbol" and chain.opener == "at_least":
                    self.position = token.end
                    return ","
                if token.kind == "end":
                    self.fail(f"')' for the '(' {self.place(chain.start)}", token)
                expected = "'and', 'or', 'xor', 'xnor'"
                self.fail(f"{expected} or ')'" if inside else f"{expected} or the end", token)
        elif word == ")" and not inside:
            self.fail("'and', 'or', 'xor', 'xnor' or the end", self.peek())
        self.position = match.end()
        return word

    def opens(self, match: re.Match[str] | None) -> Chain | str | None:
        """Consume a `not`, or what opens parentheses around rules; None if neither is next."""
        if match is not None:
            self.position = match.end()
            return Chain(self.position - 1)
        token = self.peek()
        if token.kind == "name":
            word = token.text.lower()
            if word == "not":
                self.position = token.end
                return "not"
            special = word in ("any", "every", "at_least")
            return self.opened_call(word) if special and self.opens_call(token) else None
        if token.text != "(" or token.kind != "symbol":
            return None
        if token.start not in self.groups:
            before = self.position
            is_sum = self.sum(tried=True) is not None and self.comparison_next()
            self.position = before
            if is_sum:
                return None
        self.position = token.end
        return Chain(token.start)

    def opened_call(self, word: str) -> Chain:
        """Consume the beginning of `any`, `every` or `at_least`, up to its first rule."""
        chain = Chain(self.take().start)
        chain.opener = word
        self.expect("(")
        if word == "at_least":
            number = self.take()
            if number.kind != "number" or not number.text.isdecimal():
                self.fail("an integer, the number of rules that are to be true,", number)
            chain.count = int(self.number(number))
        else:
            chain.attribute = self.attribute()
            self.inside += 1
        self.expect(",")
        return chain

    def closed(self, chain: Chain, node: Node) -> Node:
        """The node of parentheses that were closed: of a group, the node in it."""
        if chain.opener == "at_least":
            return self.checked(chain.start, AtLeast, chain.count, [*chain.rules, node])
        if chain.opener:
            self.inside -= 1
            return self.checked(chain.start, Elements, chain.opener, chain.attribute, node)
        return node

    def tested(self, node: Node, closed: bool = False) -> Node:
        """The node with the test of truth that follows it, if one does."""
        if _TEST.match(self.text, self.position) is None:
            return node
        if not closed and not node.tested_bare:
            self.fail("'and', 'or', 'xor', 'xnor' or the end", self.peek())
        self.take()
        negated = self.next_is("not")
        word = self.expect(*TRUTHS).text.lower()
        return TruthTest(node, word, negated)
