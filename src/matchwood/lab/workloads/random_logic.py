"""Random expressions of JSONLogic, and data of all types, spellings of numbers among them."""

import random
from typing import Any

TEXTS = (
    *("", "a", "abc", "5", " 5 ", "05", "5.0", "-3", "-0", "+2", ".5", "5.", "1", "0", "true"),
    *("null", "x5", "18", "17.99", "18.01", "Infinity", " ", "é", "b"),
)
NUMBERS = (0, 1, 5, 5.0, -3, 0.5, 18, 17.99, 2, 100, -0.25, 2**53)
# What matchwood and JavaScript may read in different ways.
UNUSUAL: tuple[Any, ...] = (
    *("5e0", "0x5", "180e-1", "0b1", "18.0000000000000000001", 2**53 + 1, -(2**53) - 1, None, None),
    *(["5"], [18], [5, 18], ["a", None], [["a"]], {}, {"p": 1}, [{"a": 5}], [0], [""]),
)
SINGLE = ("x", "y", "o.a", "o.b")
ANY = (*SINGLE, "tags", "items", "o")


class RandomLogic:
    """Expressions and data; with `unusual`, some of the values in data are `UNUSUAL`."""

    def __init__(self, seed: int, unusual: bool = False) -> None:
        self._chance = random.Random(seed)
        self._unusual = unusual

    def logic(self, depth: int = 3, names: tuple[str, ...] = ANY) -> Any:
        chance = self._chance
        roll = chance.random()
        single = names if names != ANY else SINGLE
        if depth and roll < 0.35:
            op = chance.choice(("and", "or", "and", "or", "!", "!!", "if", "?:"))
            count = {"!": 1, "!!": 1}.get(op) or chance.randint(2, 3)
            return {op: [self.logic(depth - 1, names) for _ in range(count)]}
        if depth and roll < 0.45 and names == ANY:
            # What is compared is a single value, so it is not an object of `items` itself.
            name = chance.choice(("tags", "items", "x"))
            inner = self.logic(depth - 1, ("p", "q") if name == "items" else ("",))
            return {chance.choice(("some", "all", "none")): [{"var": name}, inner]}
        if roll < 0.53:
            return self._in(names)
        if roll < 0.6 and names == ANY:
            listed = chance.sample(("x", "y", "o.a", "tags"), 3)
            return chance.choice(
                ({"missing": listed}, {"missing_some": [chance.randint(0, 4), listed]})
            )
        if roll < 0.7:
            return {"var": chance.choice(names)}
        if roll < 0.72:
            return self.literal()
        return self._comparison(depth, single)

    def _comparison(self, depth: int, names: tuple[str, ...]) -> Any:
        chance = self._chance
        op = chance.choice(("==", "===", "!=", "!==", "<", "<=", ">", ">="))
        operands = [self._operand(names), self.literal()]
        if chance.random() < 0.2 and depth:
            operands[0] = self._value(depth - 1, names)
        if op in ("===", "!==") and chance.random() < 0.3:
            operands[1] = {"var": chance.choice(names)}
        chance.shuffle(operands)
        if op in ("<", "<=") and chance.random() < 0.3:
            operands = [self.literal(), self._operand(names), self.literal()]
        return {op: operands}

    def _operand(self, names: tuple[str, ...]) -> Any:
        name = self._chance.choice(names)
        return {"var": name} if self._chance.random() < 0.7 else {"var": [name, self.literal()]}

    def _value(self, depth: int, names: tuple[str, ...]) -> Any:
        """An expression that is compared: single values, but not only booleans."""
        chance = self._chance
        kind = chance.choice(("if", "and", "or", "logic"))
        if kind == "logic":
            return {"!": [self.logic(depth, names)]}
        parts = [chance.choice((self._operand(names), self.literal())) for _ in range(3)]
        return {kind: parts}

    def _in(self, names: tuple[str, ...]) -> Any:
        chance = self._chance
        if chance.random() < 0.5:
            single = SINGLE if names == ANY else names
            return {"in": [self._operand(single), [self.literal() for _ in range(3)]]}
        needle = chance.choice(("a", "5", "x5", "bc", 5, 1, True, None, 0.5))
        return {"in": [needle, {"var": chance.choice(names)}]}

    def literal(self) -> Any:
        return self._chance.choice((*TEXTS[:-6], *NUMBERS, True, False, None, "18"))

    def data(self) -> dict[str, Any]:
        chance = self._chance
        made: dict[str, Any] = {}
        for name in ("x", "y"):
            if chance.random() < 0.8:
                made[name] = self.single()
        if chance.random() < 0.8:
            made["o"] = {name: self.single() for name in "ab" if chance.random() < 0.7}
            if self._unusual and chance.random() < 0.1:
                made["o"] = [made["o"]]
        if chance.random() < 0.8:
            made["tags"] = chance.choice((self._list(), self._list(), self.single()))
        if chance.random() < 0.8:
            made["items"] = [
                {name: self.single() for name in "pq" if chance.random() < 0.7}
                for _ in range(chance.randint(0, 3))
            ]
        return made

    def _list(self) -> list[Any]:
        return [self.single() for _ in range(self._chance.randint(0, 3))]

    def single(self) -> Any:
        if self._unusual and self._chance.random() < 0.2:
            return self._chance.choice(UNUSUAL)
        return self._chance.choice((*TEXTS, *NUMBERS, True, False))


class TypedLogic:
    """Expressions and data in which each attribute has one type, or is missing.

    With `unusual`, there are nulls, numbers that are rounded, and strings in another order.
    """

    NUMBERS = ("n", "m", "o.k")
    STRINGS = ("s", "t")

    def __init__(self, seed: int, unusual: bool = False) -> None:
        self._chance = random.Random(seed)
        self._unusual = unusual

    def logic(self, depth: int = 3) -> Any:
        chance = self._chance
        if depth and chance.random() < 0.4:
            op = chance.choice(("and", "or", "!", "if"))
            count = 1 if op == "!" else chance.randint(2, 3)
            return {op: [self.logic(depth - 1) for _ in range(count)]}
        roll = chance.random()
        if roll < 0.1:
            return {"var": chance.choice((*self.NUMBERS, *self.STRINGS, "flag", "empty"))}
        if roll < 0.2:
            return {"in": [self._string(), {"var": "tags"}]}
        if roll < 0.25:
            return {chance.choice(("some", "all", "none")): [{"var": "tags"}, self._texts("")]}
        if roll < 0.3:
            return {"missing": chance.sample((*self.NUMBERS, *self.STRINGS, "empty"), 2)}
        return self._numbers() if roll < 0.75 else self._texts()

    def _numbers(self) -> Any:
        chance = self._chance
        op = chance.choice(("==", "===", "!=", "!==", "<", "<=", ">", ">="))
        return {op: [self._number(2), self._number(2)]}

    def _number(self, depth: int) -> Any:
        chance = self._chance
        if depth and chance.random() < 0.35:
            op = chance.choice(("+", "*", "-", "/", "+"))
            if op == "/":
                return {op: [self._number(depth - 1), chance.choice((2, -4, 0.5))]}
            return {op: [self._number(depth - 1), self._number(depth - 1)]}
        if chance.random() < 0.4:
            return chance.choice((0, 1, 2, 5, -3, 0.5))
        return {"var": chance.choice(self.NUMBERS)}

    def _texts(self, name: str | None = None) -> Any:
        chance = self._chance
        left = self._string() if name is None else {"var": name}
        if chance.random() < 0.3:
            return {"in": [left, chance.sample(("a", "b", "abc", "x"), 2)]}
        right = chance.choice(("a", "b", "abc")) if name is not None else self._string()
        return {chance.choice(("==", "===", "!=", "!==", "<", ">=")): [left, right]}

    def _string(self) -> Any:
        chance = self._chance
        return chance.choice(
            ({"var": chance.choice(self.STRINGS)}, chance.choice(("a", "b", "abc")))
        )

    def data(self) -> dict[str, Any]:
        chance = self._chance
        numbers = {name: chance.choice((0, 1, 2, 5, -3, 0.5)) for name in "nmk"}
        made: dict[str, Any] = {
            "n": numbers["n"],
            "m": numbers["m"],
            "s": chance.choice(("a", "b", "abc", "x")),
            "empty": chance.choice(("", "a")),
            "t": chance.choice(("a", "b", "bc")),
            "flag": chance.random() < 0.5,
            "tags": [chance.choice(("", "a", "b", "abc")) for _ in range(chance.randint(0, 3))],
            "o": {"k": numbers["k"]},
        }
        if self._unusual:
            self._replace_some(made)
        return {name: value for name, value in made.items() if chance.random() < 0.8}

    def _replace_some(self, made: dict[str, Any]) -> None:
        chance = self._chance
        numbers, strings = (0.1, 0.2, 0.3, 2**53, 2**53 + 1), ("", "-5", "\U0001f600", "\uffff")
        unusual: dict[str, tuple[Any, ...]] = {
            **dict.fromkeys(("n", "m"), (*numbers, None)),
            **dict.fromkeys(("s", "t"), (*strings, None)),
            "flag": ([0], [""], None),
            "tags": (["a", None], [None], [""]),
            "o": ([{"k": 1}], {"k": None}, {"k": 0.1}),
        }
        for name, values in unusual.items():
            if chance.random() < 0.3:
                made[name] = chance.choice(values)
