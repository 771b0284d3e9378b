"""How deep JSON nests: what nests too deeply can be read by us, and by no subscriber."""

from __future__ import annotations

from typing import Any


def nests_within(value: Any, levels: int) -> bool:
    """Whether objects and lists are in each other at most so many levels deep.

    >>> nests_within({"a": [[]]}, 3), nests_within({"a": [[]]}, 2)
    (True, False)
    """
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        if not level:
            return True
        containers = (held.values() if isinstance(held, dict) else held for held in level)
        level = [inner for held in containers for inner in held if isinstance(inner, dict | list)]
    return not level
