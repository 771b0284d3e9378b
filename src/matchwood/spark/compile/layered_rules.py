"""Rules in layers: most of them compiled long ago, and some buckets of them again since.

    base     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   all buckets; those that a layer has are dead in it
    layers      ████   ██       some buckets each, as they were when the layer was compiled
                     ██

A layer has all rules of its buckets, so that a rule that is gone needs no mark of its own. Segments
are never written again: workers that have them open only learn which of their buckets are dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matchwood.spark.compile.compiled_rules import (
    CompiledRules,
    joined_attributes,
    new_folder,
)
from matchwood.spark.compile.rule_buckets import BUCKETS, Buckets, is_in_buckets, packed
from matchwood.spark.compile.rules_version import version_of

# The share of buckets in layers from which on all rules are compiled again: what is dead in a
# segment is still looked at for every event.
MOST_IN_LAYERS = 0.5


class Layer(NamedTuple):
    """The rules of some buckets, and the name of the place where they are stored."""

    place: str
    buckets: Buckets
    rules: CompiledRules


def merged_buckets(layers: Sequence[Buckets], changed: Buckets) -> tuple[int, Buckets] | None:
    """How many layers stay, and what the next one has; None if all rules should be compiled.

    The next layer takes the place of those before it that are not larger. So there are few layers,
    and a bucket is compiled again only when its layer has at least doubled.

    >>> merged_buckets([frozenset(range(100)), frozenset({200})], frozenset({300}))
    (1, frozenset({200, 300}))
    """
    if len(changed.union(*layers)) > BUCKETS * MOST_IN_LAYERS:
        return None
    stay = len(layers)
    while stay and len(layers[stay - 1]) <= len(changed):
        stay -= 1
        changed |= layers[stay]
    return stay, changed


def layered(base: CompiledRules, layers: Sequence[Layer]) -> CompiledRules:
    """The rules of a base and its layers, the oldest first, as one set of rules."""
    if not layers:
        return base
    buckets = dict(base.buckets)
    dead: Buckets = frozenset()
    segments = []
    rejected, rejected_count = layers[-1].rules.rejected, layers[-1].rules.rejected_count
    # From the newest to the base: what a newer one has is dead in the older ones.
    for number, (own, rules) in enumerate(
        [(layer.buckets, layer.rules) for layer in reversed(layers)] + [(frozenset(), base)]
    ):
        bits = packed(dead) if dead else b""
        segments.append([segment._replace(replaced=bits) for segment in rules.segments])
        if number and rules.rejected_count:
            left = rules.rejected.where(~is_in_buckets("id", dead))
            rejected_count += left.count()
            rejected = rejected.unionByName(left)
        dead |= own
    for layer in layers:
        for bucket in layer.buckets:
            buckets.pop(bucket, None)
        buckets |= layer.rules.buckets
    every = (base, *(layer.rules for layer in layers))
    made = CompiledRules(
        version=version_of(buckets, base.id_type, base.schema),
        id_type=base.id_type,
        segments=[segment for some in reversed(segments) for segment in some],
        attributes=joined_attributes(rules.attributes for rules in every),
        rejected=rejected,
        rejected_count=rejected_count,
        schema=base.schema,
        folder=new_folder(),
    )
    made.buckets = buckets
    made.everything = any(rules.everything for rules in every)
    made.operators = base.operators
    made.lists = tuple(sorted({name for rules in every for name in rules.lists}))
    made.made_of = every
    return made
