"""Detections as rules of Sigma and of matchwood, for tests of what they mean."""

from typing import Any

from sigma.collection import SigmaCollection
from sigma.rule import SigmaRule

from imports.sigma.plain_sigma import matches
from matchwood.imports.sigma import MatchwoodBackend
from matchwood.imports.sigma.rule_rows import any_of_texts
from matchwood.language import evaluate, parse


def sigma_rule(detection: dict[str, Any]) -> SigmaRule:
    document = {"title": "A test", "logsource": {"product": "test"}, "detection": detection}
    (rule,) = SigmaCollection.from_dicts([document]).rules
    assert isinstance(rule, SigmaRule)
    return rule


def converted(detection: dict[str, Any], text_patterns: bool = False) -> str:
    """The text of the rule that a detection becomes."""
    backend = MatchwoodBackend(text_patterns=text_patterns)
    return any_of_texts(backend.convert_rule(sigma_rule(detection)))


def of_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """A detection with one selection, which is its condition."""
    return {"selection": fields, "condition": "selection"}


def check(
    detection: dict[str, Any], events: list[dict[str, Any]], text_patterns: bool = False
) -> list[bool]:
    """Whether each event matches, on which matchwood and the plain evaluator agree."""
    text = converted(detection, text_patterns)
    expected = matches(sigma_rule(detection), events)
    found = [evaluate(parse(text), event) is True for event in events]
    differences = [e for e, f, x in zip(events, found, expected, strict=True) if f != x]
    assert not differences, f"{detection} became {text}, which differs for {differences}"
    return found
