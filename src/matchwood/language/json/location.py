"""Where in JSON text the value at a path starts, to show errors in the JSON form."""

from __future__ import annotations

import json
import re

JsonPath = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}:,]|[^][{}:,"\s]++', re.DOTALL)


class _Container:
    """An open object or list."""

    __slots__ = ("is_list", "on_path", "part", "wants_key")

    def __init__(self, is_list: bool, on_path: bool) -> None:
        self.is_list = is_list
        self.on_path = on_path
        self.part: str | int = 0  # the key or index of the value that comes next
        self.wants_key = not is_list


def locate(text: str, path: JsonPath) -> int:
    """The position at which the value at `path` starts; 0 if it is not found.

    Of a repeated key, the last one counts.

    >>> locate('{"and": [true, {"attr": "a"}]}', ("and", 1, "attr"))
    24
    """
    position = 0
    containers: list[_Container] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        inside = containers[-1] if containers else None
        if token in ("}", "]"):
            if inside is not None:
                containers.pop()
        elif token == ",":
            if inside is not None:
                inside.wants_key = not inside.is_list
                if isinstance(inside.part, int):
                    inside.part += 1
        elif token == ":":
            continue
        elif inside is not None and inside.wants_key:
            inside.wants_key = False
            inside.part = _key(token) if inside.on_path else ""
        else:
            depth = len(containers)
            on_path = inside is None or (
                inside.on_path and depth <= len(path) and inside.part == path[depth - 1]
            )
            if on_path and depth == len(path):
                position = match.start()
            if token in ("{", "["):
                containers.append(_Container(token == "[", on_path))
    return position


def _key(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return ""
