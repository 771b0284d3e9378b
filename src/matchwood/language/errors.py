"""The two errors of the language: for a rule and for an event that cannot be read."""

from __future__ import annotations

# Characters of a long line that are shown around the caret.
_SHOWN_WIDTH = 78


class RuleError(ValueError):
    """A rule is malformed, or over a limit.

    `line` and `column` count from 1, and are None only if there is no text, for a tree built in
    Python. `found` and `expected` are set if the parser knows them; `path` is set for the JSON
    form.

    >>> from matchwood import parse
    >>> try:
    ...     parse("age >= ")
    ... except RuleError as error:
    ...     print(error)
    line 1, column 8: expected an attribute or a literal, found the end of the rule
      age >=
             ^
    """

    def __init__(
        self,
        reason: str,
        *,
        text: str | None = None,
        position: int | None = None,
        found: str | None = None,
        expected: str | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.found = found
        self.expected = expected
        self.path = path
        self.text = text
        self.position = position
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and position is not None:
            self.line = text.count("\n", 0, position) + 1
            self.column = position - (text.rfind("\n", 0, position) + 1) + 1

    def at(self, text: str, position: int, path: str | None = None) -> RuleError:
        """The same error with a position, unless it has one already."""
        if self.position is not None:
            return self
        return RuleError(
            self.reason,
            text=text,
            position=position,
            found=self.found,
            expected=self.expected,
            path=path or self.path,
        )

    def caret(self) -> str:
        """The line of the rule with a caret below the position; '' if there is no text."""
        if not self.text or self.position is None or self.column is None:
            return ""
        start = self.text.rfind("\n", 0, self.position) + 1
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        at = self.column - 1
        left = max(0, at - _SHOWN_WIDTH // 2) if len(line) > _SHOWN_WIDTH else 0
        shown = "".join(c if c.isprintable() else " " for c in line[left : left + _SHOWN_WIDTH])
        before = "…" if left else ""
        after = "…" if left + _SHOWN_WIDTH < len(line) else ""
        caret = " " * (len(before) + at - left) + "^"
        return f"{(before + shown + after).rstrip()}\n{caret}"

    def __str__(self) -> str:
        line_and_column = (
            f"line {self.line}, column {self.column}: " if self.line is not None else ""
        )
        path = f" (at {self.path})" if self.path else ""
        caret = self.caret()
        shown = "".join(f"\n  {line}" for line in caret.split("\n")) if caret else ""
        return f"{line_and_column}{self.reason}{path}{shown}"

    def __reduce__(self) -> tuple[object, ...]:
        state = (self.reason, self.text, self.position, self.found, self.expected, self.path)
        return _restore, state


def _restore(
    reason: str,
    text: str | None,
    position: int | None,
    found: str | None,
    expected: str | None,
    path: str | None,
) -> RuleError:
    return RuleError(
        reason, text=text, position=position, found=found, expected=expected, path=path
    )


class EventError(ValueError):
    """An event cannot be read; `attribute` says where, or is None for the event as a whole.

    >>> from matchwood.language import evaluate, parse
    >>> evaluate(parse("a.b = 1"), {"a.b": 1, "a": {"b": 2}})
    Traceback (most recent call last):
    ...
    matchwood.language.errors.EventError: attribute 'a.b': the event spells it two ways
    """

    def __init__(self, reason: str, attribute: str | None = None) -> None:
        super().__init__(reason, attribute)
        self.reason = reason
        self.attribute = attribute

    def __str__(self) -> str:
        return (
            self.reason
            if self.attribute is None
            else f"attribute {self.attribute!r}: {self.reason}"
        )
