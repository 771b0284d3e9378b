"""Hierarchies: trees of kinds, in which a dining table is a table, and a table is furniture."""

from __future__ import annotations

from collections.abc import Mapping

from matchwood.language.values import is_text
from matchwood.schema.errors import SchemaError


class Hierarchy:
    """Kinds and their parents, as a mapping of child → parent.

    >>> furniture = Hierarchy({"dining table": "table", "table": "furniture"})
    >>> furniture.is_a("dining table", "furniture"), furniture.is_a("table", "dining table")
    (True, False)
    >>> furniture.above("dining table"), furniture.below("furniture")
    (['table', 'furniture'], ['dining table', 'table'])
    """

    def __init__(self, parents: Mapping[str, object]) -> None:
        self.parents: dict[str, str] = {}
        for child, parent in parents.items():
            if isinstance(parent, list | tuple):
                raise SchemaError(
                    f"{child!r} has {len(parent)} parents: a hierarchy is a tree, name one"
                )
            if not isinstance(parent, str):
                raise SchemaError(
                    f"the parent of {child!r} is a string, found {type(parent).__name__}"
                )
            if not is_text(child) or not is_text(parent):
                raise SchemaError(f"the kind {child!r} or its parent is not valid Unicode")
            self.parents[child] = parent
        self.nodes = frozenset(self.parents) | frozenset(self.parents.values())
        self._refuse_cycles()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self.parents == other.parents

    def __hash__(self) -> int:
        return hash(self.nodes)

    def is_a(self, value: str, kind: str) -> bool:
        """Whether `value` is `kind` or below it; False for a value that is not a node."""
        if value not in self.nodes:
            return False
        node: str | None = value
        while node is not None:
            if node == kind:
                return True
            node = self.parents.get(node)
        return False

    def above(self, kind: str) -> list[str]:
        """The kinds that `kind` is one of, nearest first, without itself."""
        kinds = []
        node = self.parents.get(kind)
        while node is not None:
            kinds.append(node)
            node = self.parents.get(node)
        return kinds

    def below(self, kind: str) -> list[str]:
        """The kinds under `kind`, sorted, without itself."""
        children: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            children.setdefault(parent, []).append(child)
        kinds: list[str] = []
        waiting = [kind]
        while waiting:
            direct = children.get(waiting.pop(), [])
            kinds += direct
            waiting += direct
        return sorted(kinds)

    def _refuse_cycles(self) -> None:
        done: set[str] = set()
        for start in self.parents:
            path: dict[str, None] = {}  # in order
            node: str | None = start
            while node is not None and node not in done:
                if node in path:
                    circle = [*list(path)[list(path).index(node) :], node]
                    raise SchemaError(f"a hierarchy is a tree, found {' → '.join(circle)}")
                path[node] = None
                node = self.parents.get(node)
            done.update(path)
