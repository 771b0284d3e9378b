"""All algorithms by name. Each is imported, and its kernels with it, when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from matchwood.lab.papers.shared.protocol import Algorithm

# The module and class of each algorithm, by its name; modules are imported when needed.
_CLASSES = {
    "scan": "atree.exhaustive_scan.ExhaustiveScan",
    "bop": "atree.bop.BoP",
    "bdd": "atree.bdd.Bdd",
    "translation": "atree.translation.Translation",
    "dewey": "fontoura.dewey.DeweyId",
    "interval": "fontoura.interval.IntervalId",
    "dnf": "fontoura.dnf.Dnf",
    "scan-conjunctions": "fontoura.scan_conjunctions.ScanConjunctions",
    "a-tree": "atree.atree.ATree",
    "fair-predicate": "le_subscribe.fair_predicate.FairPredicate",
    "equality-preferred": "le_subscribe.equality_preferred.EqualityPreferred",
    "quarantining": "le_subscribe.quarantining.Quarantining",
    "gough": "le_subscribe.gough.Gough",
    "hanson": "le_subscribe.hanson.Hanson",
    "aguilera": "le_subscribe.aguilera.Aguilera",
    "neon": "le_subscribe.neon.Neon",
    "dexin": "boxes.dexin.Dexin",
    "rein": "boxes.rein.Rein",
    "tama": "boxes.tama.Tama",
    "opindex": "boxes.opindex.OpIndex",
    "be-tree": "boxes.be_tree.BeTree",
    "h-tree": "boxes.h_tree.HTree",
    "bitmaps": "boxes.bitmaps.Bitmaps",
}


class _Registry(Mapping[str, type[Algorithm]]):
    def __getitem__(self, name: str) -> type[Algorithm]:
        module, _, algorithm = _CLASSES[name].rpartition(".")
        loaded: type[Algorithm] = getattr(
            import_module(f"matchwood.lab.papers.{module}"), algorithm
        )
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


# All algorithms by their names.
ALGORITHMS: Mapping[str, type[Algorithm]] = _Registry()
