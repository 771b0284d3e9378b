"""What a Sigma rule says of itself, as an imported rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sigma.rule import SigmaLevel, SigmaRule

from matchwood.imports.imported import ImportedRule
from matchwood.imports.sigma.chains import either
from matchwood.language import parse

PRIORITIES = {
    SigmaLevel.INFORMATIONAL: 1.0,
    SigmaLevel.LOW: 2.0,
    SigmaLevel.MEDIUM: 3.0,
    SigmaLevel.HIGH: 4.0,
    SigmaLevel.CRITICAL: 5.0,
}

# What is kept under its own name, beside the log source.
KEPT = (
    *("level", "status", "name", "description", "author", "date", "modified", "references"),
    *("falsepositives", "fields", "scope", "license"),
)


def rule_row(rule: SigmaRule, text: str, source: str, name: str) -> ImportedRule:
    """The imported rule for a Sigma rule and its converted text."""
    level = rule.level if isinstance(rule.level, SigmaLevel) else None
    return ImportedRule(
        id=name,
        rule=text,
        source=source,
        title=str(rule.title or ""),
        tags=tuple(map(str, rule.tags)),
        priority=PRIORITIES[level] if level else 0.0,
        data=_data(rule),
    )


def identity(rule: Any) -> str:
    """The id of a rule, or else its name or title."""
    return str(rule.id or rule.name or rule.title or "")


def any_of_texts(texts: Sequence[str]) -> str:
    """One rule for several conditions, any of which is enough."""
    return texts[0] if len(texts) == 1 else str(either([parse(text) for text in texts]))


def _data(rule: SigmaRule) -> dict[str, Any]:
    data: dict[str, Any] = {}
    logsource = {
        name: getattr(rule.logsource, name)
        for name in ("category", "product", "service", "definition")
        if getattr(rule.logsource, name) is not None
    }
    if logsource:
        data["logsource"] = logsource
    for name in KEPT:
        value = getattr(rule, name)
        if value not in (None, [], ""):
            data[name] = _plain(value)
    if rule.custom_attributes:
        data["custom"] = _plain(rule.custom_attributes)
    return data


def _plain(value: Any) -> Any:
    """A value as JSON has it; dates, levels and the like are text."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
