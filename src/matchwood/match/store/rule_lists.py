"""`Matcher.lists`: the lists that rules name in `in list '…'`, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING

from matchwood.language.errors import RuleError
from matchwood.language.named_lists import ValueList, list_named
from matchwood.match.parts.rule_checks import lists_in_texts

if TYPE_CHECKING:
    from matchwood.match.store.part_store import PartStore


class RuleLists(MutableMapping[str, Iterable[object]]):
    """Lists by name. A change is seen by the next event, and rebuilds no rule.

    A list that a rule names is not removed.

    >>> from matchwood import Matcher
    >>> m = Matcher()
    >>> m.lists["tor"] = ["10.0.0.1", "10.0.0.2"]
    >>> m["exit node"] = "ip in list 'tor'"
    >>> m.match({"ip": "10.0.0.1"})
    ['exit node']
    >>> m.lists["tor"] = ["10.0.0.3"]
    >>> m.match({"ip": "10.0.0.1"})
    []
    """

    def __init__(self, store: PartStore) -> None:
        self._store = store

    def __getitem__(self, name: str) -> ValueList:  # type: ignore[override]
        return self._store.lists[name]

    def __setitem__(self, name: str, values: Iterable[object]) -> None:
        made = list_named(name, values)
        with self._store.lock:
            self._store.lists[name] = made

    def __delitem__(self, name: str) -> None:
        with self._store.lock:
            if name not in self._store.lists:
                raise KeyError(name)
            for details in self._store.snapshot.details():
                if name in lists_in_texts([details.rule]):
                    raise RuleError(
                        f"the list {name!r} is named by the rule {details.id!r}: "
                        "remove or change the rule first"
                    )
            del self._store.lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._store.lists))

    def __len__(self) -> int:
        return len(self._store.lists)

    def __repr__(self) -> str:
        return f"<lists {', '.join(map(repr, self)) or 'none'}>"
