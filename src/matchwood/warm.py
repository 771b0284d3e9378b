"""Compile every kernel, or load it from the cache, before the first event arrives."""

from __future__ import annotations

import gc
import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from matchwood.kernels.kernel_folder import (
    cache_directory,
    environment_folder,
    is_complete,
    write_list,
)
from matchwood.kernels.readiness import kernels_used, wait_for_kernels

# Predicates of every kind that is indexed differently (one interval, several, negated, null, times,
# patterns, comparisons that are evaluated on demand), in nodes of every operator.
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
    cache: Path | None  # where compiled kernels are kept; None if no folder is writable
    compiled: int  # kernels that this process compiled itself
    loaded: int  # kernels that were on disk


def warm_up(freeze: bool = False) -> WarmUp:
    """Build, match, save and load a few rules, so that no kernel is compiled later.

    If kernels are missing on this machine, other processes compile them now, which takes about
    half a minute; otherwise they are loaded. Call this when an image is built, and before a
    service reports that it is ready.

    A full garbage collection of Python stops all threads while it visits every object, and the
    compiler alone keeps 150,000 of them. With `freeze`, all objects that exist by now are excluded
    from collections for good (`gc.freeze`): collections are then short, but garbage in cycles of
    these objects is never found.

    >>> warm_up().seconds >= 0
    True
    """
    started = perf_counter()
    wait_for_kernels()
    compiled, loaded = len(kernels_used.compiled), len(kernels_used.loaded)
    exercise()
    _note_complete()
    if freeze:
        gc.collect()
        gc.freeze()
    return WarmUp(
        perf_counter() - started,
        cache_directory(),
        len(kernels_used.compiled) - compiled,
        len(kernels_used.loaded) - loaded,
    )


def _note_complete() -> None:
    """Note that all kernels are there, where this process has compiled them itself."""
    folder = environment_folder()
    used = [*kernels_used.compiled, *kernels_used.loaded]
    if folder is not None and used and not is_complete(folder):
        write_list(folder, dict.fromkeys(used, 0.0))


def exercise() -> None:
    """Call every kernel of the product with every type of arguments that it can have."""
    from matchwood.matcher import Matcher

    built = Matcher(RULES)
    _exercise(built)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules.mw")
        built.save(path)
        loaded = Matcher.load(path)
        _exercise(loaded)
        del loaded  # so that the file is not mapped any more when its folder is removed


def _exercise(matcher: Any) -> None:
    """Match one event and many, single values and lists, all rules and some, by every strategy."""
    import numpy as np

    from matchwood.kernels.text_bytes import address_of_bytes
    from matchwood.match.event.event_strategies import NAMED_STRATEGIES
    from matchwood.match.json.json_part_kernels import part_bounds
    from matchwood.match.search.event_slices import slices_of

    event = {"a": 1, "b": 2, "c": "hello", "name": "hello world", "when": "2024-06-01T00:00:00Z"}
    lists: dict[str, object] = {"a": [1, 2], "c": ["x", "hello"], "name": ["world", "hello"]}
    events = [event, lists, {}] * 100  # enough to be swept
    for some_event in (event, lists):
        matcher.match(some_event)
        matcher.match(some_event, tags={"none"})
        matcher.match(some_event, limit=1)
        matcher.why_not(some_event)
    matcher.match_batch(events)
    matcher.match_batch(events[:1])
    matcher.match_batch(_table(event))
    asked = {1: "yes(a) and b = 2", 2: "yes(b, ?n) and yes(a, ?m) and ?n < ?m or yes(c)"}
    calling = type(matcher)(asked, operators={"yes": lambda value: [value]})
    calling.match(event)
    calling.match_batch(events)
    simple = type(matcher)({1: "a = 1 and b in (1, 3)", 2: "name like '%ell%'", 3: "not (c = 'x')"})
    for swept in (events, _table(event)):  # by every strategy, whichever would pay
        for part in simple.store.snapshot.parts:
            for strategy in part.batch.strategies:
                part.batch.force(strategy)
                simple.match_batch(swept)
    for part in simple.store.snapshot.parts:
        for piece in slices_of(_table(event), None, None):  # what a card is given of columns
            columns = piece.part_codes(part).columns
            columns.write_doubles(np.empty((columns.numbers, piece.events)))
        for strategy in ("walk", "push"):  # with its own kernels, and in one call with the scanner
            part.matcher.force(strategy)
            for text in (event, lists):
                simple.match_json(json.dumps(text).encode())
    text_of_many = "\n".join(map(json.dumps, events)).encode()
    simple.match_json_batch(text_of_many)
    places = np.empty(2, np.int64), np.empty(2, np.int64)
    part_bounds(address_of_bytes(text_of_many), 0, len(text_of_many), *places)
    for several in (matcher, simple):
        for strategy in NAMED_STRATEGIES:
            for part in several.store.snapshot.parts:
                part.matcher.force(strategy)
            several.match(event)


def _table(event: dict[str, object]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist([event] * 300)
