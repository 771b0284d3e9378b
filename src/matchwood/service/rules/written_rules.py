"""What answers say of rules, remembered as text for as long as the rules are the same."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.snapshot import Snapshot
from matchwood.matcher import Matcher
from matchwood.service.problems import answer_too_large

# The most bytes of texts of rules that are remembered; beyond that, all are forgotten.
MOST_WRITTEN_BYTES = 32 << 20
# Bytes that a text takes beyond its own, with its place in the dicts of texts.
WRITTEN_OVERHEAD = 250

# Makes the text of a rule.
WriteRule = Callable[[RuleDetails], bytes]


class WrittenRules:
    """The texts of rules of one matcher, between two changes of its rules.

    Those of one answer have at most `most` bytes; otherwise it is refused before all are written.
    Threads share it, and may write the same text twice.
    """

    def __init__(self, matcher: Matcher, write: WriteRule, most: int) -> None:
        self._matcher = matcher
        self._write = write
        self._most = most
        self._by_id: dict[Any, bytes] = {}
        self._bytes = 0  # about
        # The rules of a snapshot by their indices in it; merges give them others.
        self._indexed: tuple[weakref.ref[Snapshot] | None, dict[int, bytes]] = None, {}

    def texts(self, rule_ids: Iterable[Any]) -> list[bytes]:
        """The texts of rules, without those that were removed meanwhile."""
        texts = []
        size = 0
        for rule_id in rule_ids:
            text = self._by_id.get(rule_id) or self._text(rule_id)
            if text is not None:
                texts.append(text)
                size += len(text)
                if size > self._most:
                    raise answer_too_large(self._most)
        return texts

    def known_texts(self, rule_ids: Sequence[Any]) -> list[bytes] | None:
        """The texts of rules if all of them are known, without waiting for anything."""
        try:
            return [self._by_id[rule_id] for rule_id in rule_ids]
        except KeyError:
            return None

    def texts_at(self, snapshot: Snapshot, ids: Any, indices: Iterable[int]) -> dict[int, bytes]:
        """At least the texts of these rules, by their indices in a snapshot whose ids are `ids`.

        Those that were removed meanwhile are missing.
        """
        of, known = self._indexed
        if of is None or of() is not snapshot:
            known = {}
            self._indexed = weakref.ref(snapshot), known
        size = 0
        for index in indices:
            text = known.get(index)
            if text is None:
                rule_id = ids[index].as_py()
                text = self._by_id.get(rule_id) or self._text(rule_id)
                if text is None:
                    continue
                known[index] = text
            size += len(text)
            if size > self._most:
                raise answer_too_large(self._most)
        return known

    def _text(self, rule_id: Any) -> bytes | None:
        if self._bytes >= MOST_WRITTEN_BYTES:
            self._by_id, self._bytes = {}, 0
            self._indexed = None, {}
        details = details_or_none(self._matcher, rule_id)
        if details is None:
            return None
        text = self._by_id[rule_id] = self._write(details)
        self._bytes += len(text) + WRITTEN_OVERHEAD
        return text


def details_or_none(matcher: Matcher, rule_id: Any) -> RuleDetails | None:
    """The details of a rule; None if it was removed after it had matched."""
    try:
        return matcher.store.details(rule_id)
    except KeyError:
        return None
