"""Regular expressions of Java, which Spark has, for RE2, which rules have.

Whatever both read alike stays, and what Java reads in another way is written out: `.` leaves out
five line ends and not one, `$` may stand before the last line end, `\\s` has the vertical tab. What
RE2 lacks, and what depends on the version of Java, is refused.
"""

from __future__ import annotations

import re

# The characters that Java's `.` leaves out.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
# What Java's `$` may stand before, at the end of a text.
_LAST_LINE_END = rf"(?:\r\n|[{_LINE_ENDS}])?$"
# Java's `\s`, inside brackets.
_BLANKS = r"\t-\r "

_QUANTIFIER = re.compile(r"([*+?]|\{[0-9]+(?:,[0-9]*)?\})(\??)(\+?)")
_CODE = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


class PatternError(ValueError):
    """A regular expression that RE2 cannot be made to read in the same way."""


def re2_pattern(pattern: str) -> str:
    """The expression of RE2 that finds the same as an expression of Java.

    >>> print(re2_pattern("^/a.b[0-9]+"))
    ^/a[^\\n\\r\\x{85}\\x{2028}\\x{2029}]b[0-9]+
    """
    return _Pattern(pattern).read()


class _Pattern:
    """Reads an expression of Java from left to right, and writes one of RE2."""

    def __init__(self, pattern: str) -> None:
        self.dot_all = self.ignore_case = False
        flags = re.match(r"\(\?([a-zA-Z]+)\)", pattern)
        if flags:
            for flag in flags[1]:
                if flag not in "is":
                    raise PatternError(f"the flag (?{flag}) is not in RE2, or differs")
            self.dot_all, self.ignore_case = "s" in flags[1], "i" in flags[1]
        self.text = pattern[flags.end() :] if flags else pattern
        self.at = 0
        self.open = 0
        self.out: list[str] = []
        self.returning: list[int] = []  # pieces of `out` that may be a carriage return

    def read(self) -> str:
        while self.at < len(self.text):
            self.piece(self.next())
        if self.open:
            raise PatternError("a group has no end")
        return "".join(self.out)

    def next(self) -> str:
        if self.at == len(self.text):
            raise PatternError("the pattern ends in the middle")
        self.at += 1
        return self.text[self.at - 1]

    def piece(self, character: str) -> None:
        if character == "(":
            self.group()
        elif character == "|":
            self.out.append("|")
        elif character == ")":
            self.open -= 1
            if self.open < 0:
                raise PatternError("a group ends that has no start")
            self.out.append(")")
            self.quantifier()
        elif character == "^":
            self.out.append("^")
            if _QUANTIFIER.match(self.text, self.at):
                raise PatternError("^ is repeated")
        elif character == "$":
            self.end()
        elif character in "*+?{":
            raise PatternError(f"{character!r} repeats nothing")
        else:
            self.out.append(self.atom(character))
            if re.fullmatch(_in_python(self.out[-1]), "\r"):
                self.returning.append(len(self.out) - 1)
            self.quantifier()

    def atom(self, character: str) -> str:
        if character == "[":
            return self.characters()
        if character == ".":
            return "(?s:.)" if self.dot_all else f"[^{_LINE_ENDS}]"
        if character == "\\" and self.text.startswith("S", self.at):
            self.at += 1
            return f"[^{_BLANKS}]"
        single, text = self.unit(character)
        if single is None:
            return text if text.startswith("\\") and "-" not in text else f"[{text}]"
        return f"[{text}]" if self.folds(single) else text

    def group(self) -> None:
        self.open += 1
        if self.text.startswith("?", self.at) and not self.text.startswith("?:", self.at):
            shown = self.text[self.at - 1 : self.at + 3]
            raise PatternError(f"a group that starts with {shown} is not in RE2, or differs")
        self.at += 2 * self.text.startswith("?:", self.at)
        self.out.append("(?:")  # what a group holds is not asked for

    def quantifier(self) -> None:
        match = _QUANTIFIER.match(self.text, self.at)
        if match is None:
            return
        if match[3]:
            raise PatternError("a possessive quantifier is not in RE2")
        self.at = match.end()
        self.out.append(match[1] + match[2])
        if self.at < len(self.text) and self.text[self.at] in "*+?{":
            raise PatternError("a repetition is repeated")

    def end(self) -> None:
        """`$`, where nothing follows: RE2 cannot look at a line end and leave it where it is."""
        if self.open or not (self.at == len(self.text) or self.text[self.at] == "|"):
            raise PatternError("$ may stand before a line end, unlike in RE2")
        if self.returning and not self.returns_at_will():
            raise PatternError("$ never stands between \\r and \\n, unlike in RE2")
        self.out.append(_LAST_LINE_END)

    def returns_at_will(self) -> bool:
        """Whether the one piece that may be a carriage return may as well stop before it.

        Then it makes no difference that RE2 would take the line feed after it for a line end.
        """
        if self.returning != [len(self.out) - 2]:
            return False
        piece, quantifier = self.out[-2:]
        feed = re.fullmatch(_in_python(piece), "\n") is not None
        return quantifier[0] == "*" or (quantifier[0] == "+" and feed)

    # Characters

    def folds(self, character: str) -> bool:
        """Without case, Java ignores that of ASCII and no other."""
        return self.ignore_case and character.isascii() and character.isalpha()

    def unit(self, character: str) -> tuple[str | None, str]:
        """A character and how RE2 has it inside brackets; None for several, as of `\\d`."""
        if character != "\\":
            return self.single(character)
        code = _CODE.match(self.text, self.at)
        if code:
            self.at = code.end()
            value = int(code[1] or code[2] or code[3], 16)
            if value > 0x10FFFF:
                raise PatternError(f"there is no character {value:x}")
            return self.single(chr(value))
        escaped = self.next()
        if escaped in "dDwW":
            return None, "\\" + escaped
        if escaped == "s":
            return None, _BLANKS
        if escaped in _CONTROLS:
            return self.single(_CONTROLS[escaped])
        if escaped == "S" or (escaped.isascii() and escaped.isalnum()):
            raise PatternError(f"\\{escaped} is not in RE2, or differs from Java's")
        return self.single(escaped)

    def single(self, character: str) -> tuple[str, str]:
        if 0xD800 <= ord(character) < 0xE000:
            raise PatternError("half of a surrogate pair")
        if self.folds(character):
            return character, character.lower() + character.upper()
        return character, _spelled(character)

    def characters(self) -> str:
        """A class of characters in brackets, after its `[`."""
        negated = self.text.startswith("^", self.at)
        self.at += negated
        pieces: list[str] = []
        while (character := self.next()) != "]" or not pieces:
            if character == "[" or (character == "&" and self.text.startswith("&", self.at)):
                raise PatternError("a class of characters inside another is not in RE2")
            if character == "]":
                raise PatternError("an empty class of characters")
            first, text = self.unit(character)
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                text = self.range(first, self.next())
            pieces.append(text)
        return f"[{'^' if negated else ''}{''.join(pieces)}]"

    def range(self, first: str | None, character: str) -> str:
        last = None if character in "[]" else self.unit(character)[0]
        if first is None or last is None or last < first:
            raise PatternError("a range of characters has two ends, the lower one first")
        span = f"{_spelled(first)}-{_spelled(last)}"
        letters = [chr(code) for code in range(ord(first), min(ord(last), 127) + 1)]
        return span + "".join(letter.swapcase() for letter in letters if self.folds(letter))


def _spelled(character: str) -> str:
    """A character as RE2 has it, inside brackets and outside."""
    if ord(character) < 32 or ord(character) == 127:
        return f"\\x{{{ord(character):x}}}"
    plain = character.isalnum() or not character.isascii() or character in " _/'\"<>=!@#%,:;~`"
    return character if plain else f"\\{character}"


def _in_python(piece: str) -> str:
    """A piece in the syntax of Python's expressions."""
    return re.sub(r"\\x\{([0-9a-f]+)\}", lambda code: rf"\U{int(code[1], 16):08x}", piece)
