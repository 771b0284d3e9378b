"""Random JSON texts: events that rules ask about, spelt in every way, and broken in many."""

import json
import random

# Every kind of atom that the scanner codes by itself.
RULES = [
    "a >= 1",
    "a = 0.1 or a = 9007199254740993 or a = 9007199254740992 or a = 18446744073709551616",
    "a between -2 and 2.5 and not (b = 1)",
    "a = true or b = false",
    "a = 1 and b.c = 'x'",
    "b.c > 'hé' or b.c < 'aa'",
    "b.c like 'pre%' and b.c.d is null",
    "b.c in ('x', 'é', '😀', 'a\"b', 'tab\there', 'a/b', '')",
    "b.c.d != 3",
    "items.price > 3",
    "items.price != 3 and items.name = 'pen'",
    "not (items.tags = 'red')",
    "items is not null and items.deep.er = 1",
    "tags = 'red'",
    "tags != 'red'",
    "tags is null",
    "`x.y` = 1",
    "s like '%ell%'",
    "s ilike '%É_L%'",
    "not (s rlike '^h.*o$')",
    "contains(s, 'wor') or endswith(s, 'ld')",
    "contains(tags, 'blue') or tags like '%re%'",
    "é = 1 or `ключ` = 'да'",
    "flag",
    "not flag",
    "a is null or b is null",
    "a > 1e22 or a < -1e-7",
    "a = 1e300 or a = 123456789012345678",
    "when > timestamp '2024-01-01'",
    "when = timestamp '2024-06-01' or when < timestamp '0001-01-01T01:00:00Z'",
    "not (when between timestamp '1970-01-01' and timestamp '9999-12-31T00:00:00Z')",
    "when = '2024-06-01' or when like '2024%'",
    "in_network(ip, '10.0.0.0/8') or ip > timestamp '2000-01-01'",
    "in_network(ip, '10.1.2.3/32') or in_network(ip, '2001:db8::/32')",
    "lower(when) = timestamp '2024-06-01T00:00:00Z' or lower(b.c) = 'x'",
]

# What codes do not decide, and is read from the text when a rule depends on it.
ON_DEMAND_RULES = [
    "a = b or b.c < s",
    "flag and a != items.price",
    "b.c.d >= a and not (s > when)",
    "contains(s, b.c) or contains(tags, s)",
    "lower(s) = lower(b.c)",
    "(a < b) is not true and a > 2",
    "any(items, price > 3 and name = 'pen') or every(tags, it = 'red')",
    "any(b, c = 'x' or d < 3)",
    "a in list 'some' or s in list 'some'",
    "a + b > 3 and a = 1",
    "not contains(items.name, s)",
    "contains(b.c, s) is false or contains(s, items.name) is unknown",
    "not (items.name = s) and (items.price < a) is not false",
    "items.price not in list 'some' and not (items.tags in list 'some')",
]

# All values of an event.
EVERYWHERE_RULES = [
    "* = 'x'",
    "* like '%ell%' and flag",
    "not (* ilike '%É_L%')",
    "* = 1 or * > 9007199254740992",
    "(* > 0) is unknown",
    "* != 'red' and a is null",
    "contains(*, 'wor') and not (* = true)",
    "* in ('é', 'a\"b', 'pen') or b.c = 'x'",
    "not (* rlike '^2024.*Z$') and items.price > 3",
]

# With these, texts are left to others where they have such values.
ODD_RULES = ["tags > timestamp '2024-01-01'", "contains(nums, 5)", "in_network(tags, '10.0.0.0/8')"]

KEYS = [
    "a", "b", "c", "d", "b.c", "b.c.d", "c.d", "items", "price", "name", "tags", "deep", "er",
    "deep.er", "x", "y", "x.y", "s", "é", "ключ", "flag", "when", "nums", "ip", "z", "", ".", "a.",
    "unasked_and_long_enough", "b\u0000", "items.price",
]  # fmt: skip
STRINGS = [
    "x", "é", "😀", 'a"b', "tab\there", "a/b", "", "pre", "prefix", "hello", "HÉLLO world", "red",
    "blue", "hé", "aa", "a", "aaa", "да", "2024-06-01T00:00:00Z", "10.1.2.3",
    "2024-06-01", "2024-06-01 02:00+02", "2024-06-01t00:00:00.000z", "2024-13-01", "0001-01-01",
    "1600-02-29T00:00:00Z", "9999-12-31T23:59:59.999999999-05:00", "10.1.2.30", "010.1.2.3",
    "2001:db8::1", "\u2028", "\x7f",
    "long " * 20, "pen", "\ud7ff\ue000", "\U0010ffff", "world",
]  # fmt: skip
NUMBERS = [
    "0", "-0", "1", "-1", "2.5", "0.1", "0.10", "1e-1", "1E+0", "-0.0", "3", "3.0", "5",
    "9007199254740992", "9007199254740993", "9007199254740992.0", "9007199254740993.0",
    "18446744073709551616", "18446744073709551616.0", "1.00000000000000000001", "1e400", "-1e400",
    "1e22", "1.0000000000000001e22", "123456789012345678", "123456789012345679", "1e300", "1e-400",
    "0.1000000000000000055511151231257827", "0.30000000000000004", "1e23", "4.35", "0e999",
    "123456789012345678901234567890", "-122.42200352825247", "2.4999999999999999", "NaN",
    "Infinity", "-Infinity", "1" * 700,
]  # fmt: skip
BROKEN_NUMBERS = ["01", "1.", ".5", "-", "+1", "1e", "1e+", "0x1", "--1", "1_0", "1.e5", "nan"]
SPACES = ["", "", "", "", " ", "\n", "\t", "\r", "  "]


class TextMaker:
    """Makes texts; the same seed gives the same texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> bytes:
        """One text, of which about a third are not JSON."""
        draw = self.random.random
        text = self.object(0).encode("utf-8", "surrogatepass")
        if draw() < 0.02:
            text = b"\xef\xbb\xbf" + text
        if draw() < 0.3:
            for _ in range(self.random.randint(1, 2)):
                text = self.broken(text)
        return text

    def space(self) -> str:
        return self.random.choice(SPACES)

    def object(self, depth: int) -> str:
        random = self.random
        count = random.choice((0, 1, 2, 3, 4, 6)) if depth else random.randint(0, 8)
        pairs = []
        for _ in range(count):
            name = random.choice(KEYS)
            key = self.string(name)
            value = self.items() if name == "items" else self.value(depth + 1)
            pairs.append(f"{self.space()}{key}{self.space()}:{self.space()}{value}{self.space()}")
        return "{" + ",".join(pairs) + self.space() + "}"

    def items(self) -> str:
        """A value of `items`: often a list of objects with what rules ask of them, or null."""
        random = self.random
        if random.random() < 0.4:
            return self.value(5)
        objects = []
        for _ in range(random.choice((1, 1, 2, 3))):
            names = random.sample(("price", "name", "tags"), random.randint(1, 3))
            values = [random.choice(("null", self.value(5))) for _ in names]
            pairs = zip(names, values, strict=True)
            objects.append("{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}")
        return f"[{','.join(objects)}]"

    def value(self, depth: int) -> str:
        random = self.random
        drawn = random.random()
        if drawn < 0.3:
            return self.string(random.choice(STRINGS))
        if drawn < 0.6:
            return random.choice(NUMBERS)
        if drawn < 0.72:
            return random.choice(("true", "false", "null"))
        if depth > 5:
            return random.choice(("1", '"x"', "[]", "{}"))
        if drawn < 0.86:
            return self.object(depth)
        items = (self.value(depth + 1) for _ in range(random.choice((0, 1, 2, 3))))
        return "[" + ",".join(f"{self.space()}{item}{self.space()}" for item in items) + "]"

    def string(self, text: str) -> str:
        """A string in one of its spellings; rarely with half of a surrogate pair."""
        random = self.random
        drawn = random.random()
        if drawn < 0.6:
            spelt = json.dumps(text, ensure_ascii=False)
        elif drawn < 0.8:
            spelt = json.dumps(text)
        else:
            units = text.encode("utf-16-be", "surrogatepass")
            spelt = '"'
            for at in range(0, len(units), 2):
                spelt += f"\\u{units[at]:02x}{units[at + 1]:02X}"
            spelt += '"'
        if drawn > 0.995:
            half = random.choice(("\\ud800", "\\udc00", "\\ud83d\\ud83d", "\ud800"))
            spelt = spelt[:-1] + half + '"'
        return spelt.replace("/", "\\/") if drawn < 0.1 else spelt

    def broken(self, text: bytes) -> bytes:
        random = self.random
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice((1, 1, 2, 5)))
        kind = random.randrange(6)
        if kind == 0:
            return text[:at]
        if kind == 1:
            return text[:at] + text[end:]
        if kind == 2:
            return text[:at] + bytes([random.randrange(256)]) + text[end:]
        if kind == 3:
            return text[:at] + text[at:end] * 2 + text[end:]
        if kind == 4:
            wrong = [
                *BROKEN_NUMBERS,
                ",",
                "}",
                "]",
                "{",
                "[",
                '"',
                ":",
                "\\",
                "\\u12",
                "\x01",
                "{}",
            ]
            return text[:at] + random.choice(wrong).encode() + text[at:]
        bad = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xc3")
        return text[:at] + random.choice(bad) + text[at:]
