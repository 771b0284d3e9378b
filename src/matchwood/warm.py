"""Compile every kernel, or load it from the cache, before the first event comes."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

# Every way that a predicate is indexed: intervals, several of them, negated, null, times, patterns
# of each kind, comparisons that are looked at on demand; in nodes of every operator.
RULES = {
    1: "a >= 1",
    2: "a between 2 and 5 and b != 3 and not (c = 'x')",
    3: "(a in (1, 3, 7) or b < 2) and (c = 'y' or d)",
    4: "(a = 1 xor b = 2) and d is null",
    5: "c like '%ell%' and name ilike '%Wor_d%'",
    6: "contains(name, 'orl') or endswith(name, 'ld') or name rlike '^h.*o'",
    7: "not (name like 'abc%def') and a > 0",
    8: "when > timestamp '2024-01-01' and a < b",
    9: "a = 1 xnor (b = 2 or c = 'x')",
    10: "(a = 1 or b = 2 or c = 'x') and (a = 2 or b = 3)",
    11: "true",
}


class WarmUp(NamedTuple):
    """What `warm_up` did."""

    seconds: float
    cache: Path | None  # where compiled kernels are kept; None where no place is writable


def warm_up(freeze: bool = False) -> WarmUp:
    """Build, match, save and load a few rules, so that no kernel is compiled later.

    The first time this compiles for a minute or so; afterwards it loads what is in the cache.
    Call it where an image is built, and before a service says that it is ready.

    A full garbage collection of Python stops all threads while it looks at every object, and the
    compiler alone keeps 150,000 of them. With `freeze` those, and all others that are there by
    now, are left alone for good (`gc.freeze`): collections are then short, but garbage in cycles
    of objects that are there by now is never found.

    >>> warm_up().seconds >= 0
    True
    """
    started = perf_counter()
    from matchwood.compiled import cache_directory
    from matchwood.engine import Matcher

    built = Matcher(RULES)
    _exercise(built)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules.mw")
        built.save(path)
        loaded = Matcher.load(path)
        _exercise(loaded)
        del loaded  # no file is mapped when its folder goes
    if freeze:
        gc.collect()
        gc.freeze()
    return WarmUp(perf_counter() - started, cache_directory())


def _exercise(matcher: Any) -> None:
    """One event and many, of single values and of lists, all rules and some, every way."""
    from matchwood.match.single import SegmentMatcher

    event = {"a": 1, "b": 2, "c": "hello", "name": "hello world", "when": "2024-06-01T00:00:00Z"}
    lists: dict[str, object] = {"a": [1, 2], "c": ["x", "hello"], "name": ["world", "hello"]}
    events = [event, lists, {}] * 100  # enough to be swept
    for one in (event, lists):
        matcher.match(one)
        matcher.match(one, tags={"none"})
        matcher.match(one, limit=1)
        matcher.why_not(one)
    matcher.match_batch(events)
    matcher.match_batch(events[:1])
    matcher.match_batch(_table(event))
    asked = {1: "yes(a) and b = 2", 2: "yes(b, ?n) and yes(a, ?m) and ?n < ?m or yes(c)"}
    calling = type(matcher)(asked, operators={"yes": lambda value: [value]})
    calling.match(event)
    calling.match_batch(events)
    simple = type(matcher)({1: "a = 1 and b in (1, 3)", 2: "name like '%ell%'", 3: "not (c = 'x')"})
    simple.match_batch(events)  # without calls that are made on demand, which are never swept
    simple.match_batch(_table(event))
    for small in (True, False):
        for part in simple._snapshot.parts:
            part.matcher.small = small
        simple.match(event)
    for one in (matcher, simple):
        for way in (SegmentMatcher.go_by_cells, SegmentMatcher.go_by_walks):
            for part in one._snapshot.parts:
                way(part.matcher)
            one.match(event)


def _table(event: dict[str, object]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([event] * 300)
