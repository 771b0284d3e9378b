"""Random rules over calls, variables and plain predicates, and operators that answer them."""

import random

from matchwood import RuleError, parse
from matchwood.language.joins import joined


def _rows(event, image, salt):
    if not isinstance(image, int):
        return None
    some = random.Random(image * 31 + salt)
    return [(some.randrange(6),) for _ in range(some.randrange(3))]


def fickle(event, value, low):
    """Undefined for some, broken for others."""
    if value == 3:
        raise ValueError("three")
    return None if value == 4 else value > low


def edge(event, value):
    some = random.Random(value)
    return [(some.randrange(4), some.randrange(4)) for _ in range(some.randrange(4))]


FUNCTIONS = {
    "mob": lambda event, image: _rows(event, image, 1),
    "boats": lambda event, image: _rows(event, image, 2),
    "fickle": fickle,
    "edge": edge,
}


def rule(some, depth=3):
    """A rule whose variables stand where they may."""
    while True:
        text = _rule(some, depth)
        try:
            joined(parse(text))
        except RuleError:
            continue
        return text


def _rule(some, depth):
    if depth == 0 or some.random() < 0.3:
        return _leaf(some)
    kind = some.choice(["and"] * 4 + ["or"] * 3 + ["not", "xor", "xnor", "is", "is", "at_least"])
    if kind == "not":
        return f"not ({_rule(some, depth - 1)})"
    if kind == "is":
        truth = some.choice(["true", "false", "unknown"])
        return f"(({_rule(some, depth - 1)}) is {some.choice(['', 'not '])}{truth})"
    operands = [_rule(some, depth - 1) for _ in range(some.randrange(2, 4))]
    if kind == "at_least":
        return f"at_least({some.randint(1, len(operands))}, {', '.join(operands)})"
    return "(" + f" {kind} ".join(operands) + ")"


def _leaf(some):
    image = some.choice("ij")
    match some.randrange(9):
        case 0:
            return f"a = {some.randrange(3)}"
        case 1:
            return f"b > {some.randrange(4)}"
        case 2:
            return some.choice(["a is null", "a < b", "s like '%x%'"])
        case 3 | 4:
            return f"fickle({image}, {some.randrange(6)})"
        case 5:
            name = some.choice("xyz")
            op = some.choice(["<", ">", "=", "!="])
            operator = some.choice(["mob", "boats"])
            return f"({operator}({image}, ?{name}) and ?{name} {op} {some.randrange(6)})"
        case 6:
            return f"(mob(i, ?n) and boats({image}, ?m) and ?n {some.choice('<>')} 2 * ?m - 1)"
        case 7:
            return f"(edge({image}, ?p, ?q) and edge(j, ?q, ?r) and ?p != ?r)"
        case _:
            return f"edge({image}, ?v, ?{some.choice('vw')})"


def event(some):
    found = {"i": some.randrange(6), "j": some.randrange(6), "a": some.randrange(3)}
    found |= {"b": some.choice([0, 1, 2, 3, 4, [1, 5]]), "s": some.choice(["x", "y", "axb"])}
    return {name: value for name, value in found.items() if some.random() < 0.9}
