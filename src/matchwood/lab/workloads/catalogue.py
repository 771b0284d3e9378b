"""Workloads by name."""

from collections.abc import Iterator
from typing import Any, Protocol

from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.ads import Ads
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.lab.workloads.le_subscribe import LeSubscribe
from matchwood.lab.workloads.overlapping import Overlapping

# Workloads of the papers with integer ids, whose events have few of many integer attributes.
OF_PAPERS: dict[str, type[Any]] = {"abe-gen": AbeGen, "fontoura": Fontoura, "ads": Ads}

# All workloads by their names.
WORKLOADS: dict[str, type[Any]] = {
    "audiences": Audiences, **OF_PAPERS, "le-subscribe": LeSubscribe,
    "overlapping": Overlapping, "dexin": DexinConjunctions,
}  # fmt: skip


class Workload(Protocol):
    """What all workloads have in common."""

    @property
    def rules(self) -> int: ...

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]: ...

    def events(self, n: int, *, start: int = 0) -> list[dict[str, Any]]: ...


def workload(name: str, **settings: Any) -> Workload:
    """A workload by its name; settings that are not given are its defaults.

    >>> workload("abe-gen", rules=10, seed=2).rules
    10
    """
    if name not in WORKLOADS:
        raise ValueError(f"no workload {name!r}: expected one of {', '.join(WORKLOADS)}")
    made: Workload = WORKLOADS[name](**settings)
    return made


def rule_ids(name: str, start: int, stop: int) -> Iterator[int | str]:
    """The ids of rules by number: texts in audiences, numbers elsewhere.

    >>> list(rule_ids("audiences", 3, 5)), list(rule_ids("ads", 3, 5))
    (['audience-3', 'audience-4'], [3, 4])
    """
    numbers = range(start, stop)
    return (f"audience-{n}" for n in numbers) if name == "audiences" else iter(numbers)
