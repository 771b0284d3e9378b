"""The answers of `POST /match`: they are written as JSON, and have a limit in bytes.

To build and validate an object for every match would take longer than matching.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.matcher import Bindings
from matchwood.service.delivery.event_bodies import dumps
from matchwood.service.http.models import RuleMatch
from matchwood.service.problems import answer_too_large
from matchwood.service.settings import Limits

# What is written of an event: its matches, and its near misses.
RESULT = b'{"matches":[%s],"near":%s}'
# The same without near misses.
PLAIN_RESULT = b'{"matches":[%s],"near":null}'


class MatchAnswer:
    """The JSON of `MatchOut` as it is written, event by event."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.answer_bytes
        self._size = 0
        self._results: list[bytes] = []

    def add(self, matches: Iterable[bytes], near: bytes = b"null") -> None:
        """Add the result of the next event, or raise a problem if the answer gets too large.

        The matches are only taken until then.
        """
        written = []
        for match in matches:
            written.append(match)
            self._take(len(match) + 1)
        self._take(len(near) + len(RESULT))
        self._results.append(RESULT % (b",".join(written), near))

    def add_known(self, matches: list[bytes]) -> None:
        """Add the result of the next event, whose matches are remembered anyway."""
        self._take(sum(map(len, matches)) + len(matches) + len(PLAIN_RESULT))
        self._results.append(PLAIN_RESULT % b",".join(matches))

    def _take(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            raise answer_too_large(self._most)

    def whole(self, version: int) -> bytes:
        """All of it, with the version of the rules."""
        return b'{"version":%d,"results":[%s]}' % (version, b",".join(self._results))


def plain_match(rule: RuleDetails) -> bytes:
    """`RuleMatch` of a rule as JSON, without bindings and explanation."""
    tags = dumps(sorted(rule.tags)) if rule.tags else "[]"
    text = (
        f'{{"id":{dumps(rule.id)},"tags":{tags},"priority":{float(rule.priority)!r},'
        f'"data":{rule.data_text or "null"},"bindings":null,"explanation":null}}'
    )
    return text.encode()


def full_match(
    rule: RuleDetails, bindings: Bindings | None, explanation: dict[str, object] | None
) -> bytes:
    """`RuleMatch` of a rule as JSON."""
    about: dict[str, Any] = {"id": rule.id, "tags": sorted(rule.tags), "data": rule.data}
    about |= {"priority": rule.priority, "bindings": bindings, "explanation": explanation}
    return RuleMatch(**about).model_dump_json().encode()
