"""What every benchmark shares: its options, how it times, and what it prints."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from matchwood.lab.bench.machine import machine, waited

Figures = dict[str, Any]


class BenchOptions(argparse.ArgumentParser):
    """A parser whose sizes have two defaults: the one to publish, and one to try a program with.

    >>> options = BenchOptions("…").size("rules", full=1_000_000, small=1_000)
    >>> options.read(["--scale", "small"]).rules
    1000
    >>> options.read(["--scale", "small", "--rules", "7"]).rules
    7
    """

    def __init__(self, description: str | None) -> None:
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self._sizes: dict[str, dict[str, int]] = {}
        self.add_argument("--scale", choices=("full", "small"), default="full")
        self.add_argument("--seed", type=int, default=1)

    def size(self, name: str, full: int, small: int) -> BenchOptions:
        self._sizes[name] = {"full": full, "small": small}
        self.add_argument(f"--{name}", type=int, help=f"default: {full:,}, or {small:,} if small")
        return self

    def read(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        chosen = self.parse_args(arguments)
        for name, sizes in self._sizes.items():
            if getattr(chosen, name) is None:
                setattr(chosen, name, sizes[chosen.scale])
        return chosen


def milliseconds(function: Callable[..., object], *arguments: Any) -> float:
    """The milliseconds that a call takes, including the time to drop its result."""
    started = time.perf_counter()
    function(*arguments)
    return (time.perf_counter() - started) * 1e3


def spread(name: str, times: Iterable[float], unit: str = "ms") -> Figures:
    """Mean, median and 99th percentile of some times."""
    known = np.fromiter(times, np.float64)
    return {
        f"{name}_{unit}": known.mean(),
        f"{name}_p50_{unit}": np.median(known),
        f"{name}_p99_{unit}": np.percentile(known, 99),
    }


def report(benchmark: str, common: Figures, results: Mapping[str, Figures]) -> None:
    """Print a table with one column per result, and the same figures as one line of JSON."""
    common = {"benchmark": benchmark, **machine(), "waited_for_a_core": waited(), **common}
    common = {name: rounded(value) for name, value in common.items()}
    columns = {
        title: {name: rounded(value) for name, value in figures.items()}
        for title, figures in results.items()
    }
    print(table(common, columns))
    print(json.dumps({**common, "results": columns}, ensure_ascii=False))


def table(common: Figures, results: Mapping[str, Figures]) -> str:
    """The common figures, then one column per result, or one row per result if they are many.

    A common figure that is a mapping has a line for each entry.

    >>> print(table({"rules": 1000}, {"one": {"ms": 0.25}, "two": {"ms": 1.5, "pairs": 12345}}))
    rules  1,000
    <BLANKLINE>
            one     two
    ms     0.25     1.5
    pairs        12,345
    """
    names = list(dict.fromkeys(name for figures in results.values() for name in figures))
    rows = [
        [name, *(shown(figures.get(name, "")) for figures in results.values())] for name in names
    ]
    rows.insert(0, ["", *results])
    if len(results) > len(names):
        rows = [list(column) for column in zip(*rows, strict=True)]
    left = max(map(len, [*common, *(row[0] for row in rows)]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][1:]
    lines: list[str] = []
    for name, value in common.items():
        if isinstance(value, Mapping):
            lines += [f"{name:{left}}  {key}: {shown(each)}" for key, each in value.items()]
        else:
            lines.append(f"{name:{left}}  {shown(value)}")
    lines.append("")
    for name, *cells in rows:
        right = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join([f"{name:{left}}", *right]).rstrip())
    return "\n".join(lines)


def shown(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def rounded(value: Any) -> Any:
    """Round a fraction to four significant digits: no measurement has more.

    >>> rounded(0.123456), rounded(np.float64(12345.6)), rounded(7), rounded("x")
    (0.1235, 12346, 7, 'x')
    """
    if isinstance(value, np.integer):
        return int(value)
    if not isinstance(value, float | np.floating):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    return round(number) if abs(number) >= 1000 else float(f"{number:.4g}")
