"""What rules name besides attributes and who answers for it, and other names of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from matchwood.language.aliases import Aliases
from matchwood.language.evaluation import Hierarchies, Operator
from matchwood.language.named_lists import NamedLists


class Context(NamedTuple):
    """The operators that rules call, the hierarchies of `isa`, the lists of `in list`, and aliases.

    Whoever changes a list puts another one under its name: rules look it up at every event.
    """

    operators: Mapping[str, Operator]
    schema: Hierarchies | None
    lists: NamedLists
    aliases: Aliases | None = None
