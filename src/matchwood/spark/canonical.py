"""Canonical texts of many rules: each distinct predicate is parsed and printed once."""

from __future__ import annotations

import numpy as np

from matchwood.index.program import AND, NOT, OR, XNOR, XOR
from matchwood.index.texts import LEFT, split
from matchwood.language.errors import RuleError
from matchwood.language.printing import predicate_text
from matchwood.language.text import parse
from matchwood.language.tree import And, Not, Or, Xnor, Xor

_WORD = {AND: " and ", OR: " or ", XOR: " xor ", XNOR: " xnor "}
_BINDING = {AND: And.binding, OR: Or.binding, XOR: Xor.binding, XNOR: Xnor.binding}
_PREDICATE = 5

Held = tuple[str, int]  # a text, and how tightly it holds together


def canonical_texts(rules: list[str]) -> list[str]:
    """`str(parse(rule))` of each rule, all of which can be read."""
    encoded = [rule.encode() for rule in rules]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.r_[0, np.cumsum([len(one) for one in encoded])].astype(np.int64)
    words, ends, spans = split(data, offsets)
    raw = data.tobytes()
    predicates = [_predicate(raw[low:high].decode()) for low, high in spans.tolist()]
    found = []
    program, bounds = words.tolist(), ends.tolist()
    for number, rule in enumerate(rules):
        text = _text(program[bounds[number] : bounds[number + 1]], predicates)
        found.append(str(parse(rule)) if text is None else text)
    return found


def _predicate(text: str) -> Held | None:
    try:
        node = parse(text)
    except RuleError:
        return None
    return None if node.operands else (predicate_text(node), _PREDICATE)


def _text(program: list[int], predicates: list[Held | None]) -> str | None:
    """What `to_text` prints of the tree; None where a rule is left to the parser."""
    stack: list[Held] = []
    parity = 0  # the parser rearranges chains of both xor and xnor
    for word in program:
        if word >= 0:
            held = predicates[word]
            if held is None:
                return None
            stack.append(held)
            continue
        if word == LEFT:
            return None
        operands, operator = divmod(-word - 1, 8)
        if operator == NOT:
            text, binding = stack.pop()
            text = f"not ({text})" if binding < Not.binding else f"not {text}"
            stack.append((text, Not.binding))
            continue
        if operator in (XOR, XNOR):
            if parity not in (0, operator):
                return None
            parity = operator
        binding = _BINDING[operator]
        some = [text if tight > binding else f"({text})" for text, tight in stack[-operands:]]
        del stack[-operands:]
        stack.append((_WORD[operator].join(some), binding))
    return stack[0][0]
