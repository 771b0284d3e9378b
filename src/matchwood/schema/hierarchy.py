"""Hierarchies: trees of kinds, in which a dining table is a table and a table is furniture."""

from __future__ import annotations

from collections.abc import Mapping


class HierarchyError(ValueError):
    """A hierarchy is not a tree."""


class Hierarchy:
    """Kinds and their parents, as a mapping of child → parent.

    >>> furniture = Hierarchy({"dining table": "table", "table": "furniture"})
    >>> furniture.is_a("dining table", "furniture"), furniture.is_a("table", "dining table")
    (True, False)
    """

    def __init__(self, parents: Mapping[str, object]) -> None:
        self.parents: dict[str, str] = {}
        for child, parent in parents.items():
            if isinstance(parent, list | tuple):
                raise HierarchyError(
                    f"{child!r} has {len(parent)} parents: a hierarchy is a tree, name one"
                )
            if not isinstance(parent, str):
                raise HierarchyError(
                    f"the parent of {child!r} is a string, found {type(parent).__name__}"
                )
            self.parents[child] = parent
        self.nodes = frozenset(self.parents) | frozenset(self.parents.values())
        self._refuse_cycles()

    def is_a(self, value: str, kind: str) -> bool:
        """Whether `value` is `kind` or below it; no value that is not a node is."""
        if value not in self.nodes:
            return False
        node: str | None = value
        while node is not None:
            if node == kind:
                return True
            node = self.parents.get(node)
        return False

    def _refuse_cycles(self) -> None:
        done: set[str] = set()
        for start in self.parents:
            path: dict[str, None] = {}  # in order
            node: str | None = start
            while node is not None and node not in done:
                if node in path:
                    circle = [*list(path)[list(path).index(node) :], node]
                    raise HierarchyError(f"a hierarchy is a tree, found {' → '.join(circle)}")
                path[node] = None
                node = self.parents.get(node)
            done.update(path)
