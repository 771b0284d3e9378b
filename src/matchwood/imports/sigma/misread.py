"""What pySigma would convert to something with another meaning: it is refused instead.

Some of it depends on the version. pySigma 2 has corrected much of what versions before it do, but
the `sigma` command does not work with it yet, so versions are not told apart by their numbers: each
mistake is tried once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sigma.conditions import (
    ConditionItem,
    ConditionNOT,
    ConditionSelector,
    SigmaCondition,
)
from sigma.conditions import (
    condition as condition_parser,
)
from sigma.modifiers import (
    SigmaBase64Modifier,
    SigmaBase64OffsetModifier,
    SigmaEndswithModifier,
    SigmaRegularExpressionModifier,
    SigmaStartswithModifier,
    SigmaUTF16Modifier,
)
from sigma.rule import SigmaDetection, SigmaDetectionItem, SigmaRule
from sigma.types import SigmaString

from matchwood.imports.sigma.predicates import unsupported

CORRELATION = (
    "a correlation is about several events, and a rule about one: count the matches of the rules "
    "that it names, in windows on Spark, as the page on importing Sigma rules shows"
)

# Whether a value is encoded in base64 together with the backslashes of its escaped wildcards. Where
# it is, encoded text that is not ASCII is also cut in the wrong place, and the byte order mark of
# utf16 is a wrong one.
ENCODES_ESCAPES = bytes(SigmaString("\\*")) != b"*"

# Whether the name `notx` is read as `not x`.
SPLITS_NAMES = isinstance(condition_parser.parse_string("notx", parse_all=True)[0], ConditionNOT)

BASE64 = {SigmaBase64Modifier, SigmaBase64OffsetModifier}
ANCHORED = {SigmaStartswithModifier, SigmaEndswithModifier}


def refuse_misread(rule: SigmaRule) -> None:
    """Raise an error if pySigma would read a part of the rule as something else."""
    detections = rule.detection.detections
    if "timeframe" in detections:
        raise unsupported("timeframe: " + CORRELATION)
    for name, detection in detections.items():
        for item in _items(detection):
            _refuse_item(f"{name}.{item.field or 'keyword'}", item)
    for condition in rule.detection.parsed_condition:
        _refuse_condition(condition, rule)


def _refuse_item(place: str, item: SigmaDetectionItem) -> None:
    modifiers = {*item.modifiers}
    if modifiers & ANCHORED and SigmaRegularExpressionModifier in modifiers:
        raise unsupported(
            f"{place}: a regular expression is found anywhere; write ^ or $ into it in place of "
            "startswith or endswith"
        )
    if not (modifiers & BASE64 and ENCODES_ESCAPES):
        return
    for value in item.original_value or ():
        text = str(value)
        if "*" in text or "?" in text or not text.isascii():
            raise unsupported(
                f"{place}: this version of pySigma encodes {text!r} wrongly in base64; version 2 "
                "does not"
            )
    if SigmaUTF16Modifier in modifiers:
        raise unsupported(
            f"{place}: this version of pySigma encodes the byte order mark of utf16 wrongly; "
            "version 2 does not"
        )


def _refuse_condition(condition: SigmaCondition, rule: SigmaRule) -> None:
    if SPLITS_NAMES:
        split = re.search(r"(?<![\w*-])not[\w-]+", re.sub(r"\bof\s+\S+", "", condition.condition))
        if split:
            raise unsupported(
                f"condition: this version of pySigma reads {split[0]!r} as 'not {split[0][3:]}'; "
                "call the detection something else"
            )
    for selector in _selectors(condition.parse(postprocess=False)):
        if not selector.resolve_referenced_detections(rule.detection):
            raise unsupported(
                f"condition: '{selector.args[0]} of {selector.pattern}' names no detection"
            )


def _items(detection: SigmaDetection) -> Iterator[SigmaDetectionItem]:
    for item in detection.detection_items:
        if isinstance(item, SigmaDetectionItem):
            yield item
        else:
            yield from _items(item)


def _selectors(condition: Any) -> Iterator[ConditionSelector]:
    if isinstance(condition, ConditionSelector):
        yield condition
    elif isinstance(condition, ConditionItem):
        for part in condition.args:
            yield from _selectors(part)
