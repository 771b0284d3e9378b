"""The canonical texts of many rules; each distinct predicate is parsed and printed once."""

from __future__ import annotations

from matchwood.index.build.text_kernels import LEFT
from matchwood.index.build.texts import split, utf8_of
from matchwood.kernels.programs import AND, NOT, OR, XNOR, XOR
from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.text.printing import predicate_text
from matchwood.language.tree import And, Not, Or, Xnor, Xor

_WORD = {AND: " and ", OR: " or ", XOR: " xor ", XNOR: " xnor "}
_BINDING = {AND: And.binding, OR: Or.binding, XOR: Xor.binding, XNOR: Xnor.binding}
# How tightly a predicate binds: more than any operator.
_PREDICATE = 5

# A text, and how tightly its outermost operator binds.
BoundText = tuple[str, int]


def canonical_texts(rules: list[str]) -> list[str]:
    """`str(parse(rule))` of each rule; all of them must be valid."""
    data, offsets = utf8_of(rules)
    words, ends, texts = split(data, offsets)
    raw = data.tobytes()
    predicates = [_predicate(raw[low:high].decode()) for low, high, _ in texts.tolist()]
    canonical = []
    program, bounds = words.tolist(), ends.tolist()
    for number, rule in enumerate(rules):
        text = _text(program[bounds[number] : bounds[number + 1]], predicates)
        canonical.append(str(parse(rule)) if text is None else text)
    return canonical


def _predicate(text: str) -> BoundText | None:
    try:
        node = parse(text)
    except RuleError:
        return None
    return None if node.operands else (predicate_text(node), _PREDICATE)


def _text(program: list[int], predicates: list[BoundText | None]) -> str | None:
    """What `to_text` prints of the tree; None if the rule is left to the parser."""
    stack: list[BoundText] = []
    parity = 0  # the parser rearranges a chain that has both xor and xnor
    for word in program:
        if word >= 0:
            predicate = predicates[word]
            if predicate is None:
                return None
            stack.append(predicate)
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
        texts = [text if inner > binding else f"({text})" for text, inner in stack[-operands:]]
        del stack[-operands:]
        stack.append((_WORD[operator].join(texts), binding))
    return stack[0][0]
