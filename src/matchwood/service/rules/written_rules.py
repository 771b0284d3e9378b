"""What answers say of rules, remembered as text for as long as the rules are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.snapshot import Snapshot
from matchwood.matcher import Matcher

# The most bytes of texts of rules that are remembered; beyond that, all are forgotten.
MOST_WRITTEN_BYTES = 32 << 20
# Bytes that a text takes beyond its own, with its place in the dicts of texts.
WRITTEN_OVERHEAD = 250

# Makes the text of a rule.
WriteRule = Callable[[RuleDetails], bytes]


class WrittenRules:
    """The texts of rules of one matcher, between two changes of its rules.

    Threads share it, and may write the same text twice.
    """

    def __init__(self, matcher: Matcher, write: WriteRule) -> None:
        self._matcher = matcher
        self._write = write
        self._by_id: dict[Any, bytes] = {}
        self._bytes = 0  # about
        # The rules of a snapshot by their indices in it; merges give them others.
        self._indexed: tuple[Snapshot | None, dict[int, bytes]] = None, {}

    def texts(self, rule_ids: Iterable[Any]) -> list[bytes]:
        """The texts of rules, without those that were removed meanwhile."""
        known = self._by_id.get
        texts = ((rule_id, known(rule_id)) for rule_id in rule_ids)
        written = (self._text(rule_id) if text is None else text for rule_id, text in texts)
        return [text for text in written if text is not None]

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
        if of is not snapshot:
            _, known = self._indexed = snapshot, {}
        for index in indices:
            if index not in known:
                rule_id = ids[index].as_py()
                text = self._by_id.get(rule_id) or self._text(rule_id)
                if text is not None:
                    known[index] = text
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
