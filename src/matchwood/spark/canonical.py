"""Canonical texts of many rules."""

from __future__ import annotations

from matchwood.language.text import parse


def canonical_texts(rules: list[str]) -> list[str]:
    """`str(parse(rule))` of each rule."""
    return [str(parse(rule)) for rule in rules]
