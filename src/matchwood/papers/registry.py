"""All algorithms by name. Each is imported, and its kernels with it, when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from matchwood.papers.protocol import Algorithm

_CLASSES = {
    "scan": "scan.Scan",
    "bop": "bop.BoP",
    "bdd": "bdd.Bdd",
    "translation": "translation.Translation",
    "dewey": "dewey.DeweyId",
    "interval": "interval.IntervalId",
    "dnf": "dnf.Dnf",
    "scan-conjunctions": "scan_conjunctions.ScanConjunctions",
    "a-tree": "atree.ATree",
    "fair-predicate": "fair_predicate.FairPredicate",
    "equality-preferred": "equality_preferred.EqualityPreferred",
    "quarantining": "quarantining.Quarantining",
    "gough": "gough.Gough",
    "hanson": "hanson.Hanson",
    "aguilera": "aguilera.Aguilera",
    "neon": "neon.Neon",
    "dexin": "dexin.Dexin",
    "rein": "rein.Rein",
    "tama": "tama.Tama",
    "opindex": "opindex.OpIndex",
    "be-tree": "be_tree.BeTree",
    "h-tree": "h_tree.HTree",
    "bitmaps": "bitmaps.Bitmaps",
}


class _Registry(Mapping[str, type[Algorithm]]):
    def __getitem__(self, name: str) -> type[Algorithm]:
        module, _, algorithm = _CLASSES[name].partition(".")
        found: type[Algorithm] = getattr(import_module(f"matchwood.papers.{module}"), algorithm)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


ALGORITHMS: Mapping[str, type[Algorithm]] = _Registry()
