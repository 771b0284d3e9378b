"""Our rules as patterns of quamina, whose language is a part of that of event-ruler.

Ranges of numbers, and what is not one of several numbers, cannot be said in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from matchwood.lab.bench.peers.syntaxes.event_patterns import event_patterns
from matchwood.lab.bench.peers.two_valued import Kind
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.tree import Node

# The tests of a single string that are the same in both languages.
_SAME = ("equals-ignore-case", "prefix", "wildcard")


def quamina_patterns(tree: Node, kinds: Mapping[str, Kind]) -> list[str]:
    """The patterns of a two-valued rule, as JSON.

    >>> from matchwood.language import parse
    >>> quamina_patterns(parse("a.b = 1 and c like '%x'"), {})
    ['{"a": {"b": [1]}, "c": [{"wildcard": "*x"}]}']
    """
    found = (json.loads(pattern) for pattern in event_patterns(tree, kinds))
    return [json.dumps(_level(pattern), ensure_ascii=False) for pattern in found]


def _level(pattern: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _level(inner) if isinstance(inner, dict) else [_entry(entry) for entry in inner]
        for name, inner in pattern.items()
    }


def _entry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((name, given),) = entry.items()
    if name == "exists" or (name in _SAME and isinstance(given, str)):
        return entry
    if name == "anything-but" and isinstance(given, list):
        if all(isinstance(value, str) for value in given):
            return entry
    elif name == "suffix" and isinstance(given, str):
        text = given.replace("\\", "\\\\").replace("*", "\\*")
        return {"wildcard": f"*{text}"}
    elif name == "numeric" and given[0] == "=" and len(given) == 2:
        return given[1]
    raise Untranslatable(f"the pattern {json.dumps(entry)}")
