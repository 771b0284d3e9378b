"""One file of many rules: saving, loading, the first match, and its size.

    python -m matchwood.lab.bench.files [--rules 1000000] [--folder .]

Each file is loaded right after it was written, so that its pages are in memory: reading it from a
disk would take longer. With `check` the whole file is read and every index in it is validated.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from matchwood.lab.bench.kernel import warm_up
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.matcher import Matcher

# How often a file is saved, and loaded in each way; the median time counts.
ROUNDS = 3

Event = dict[str, int]


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=20_000)
    parser.add_argument("--folder", type=Path, help="where the file is written, for a while")
    options = parser.read()
    warm_up()
    workload = AbeGen(rules=options.rules, seed=options.seed)
    matcher = Matcher(enumerate(workload.texts()))
    events = workload.events(32)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "rules.mw")
        exercise(path)
        saves = [milliseconds(matcher.save, path) for _ in range(ROUNDS)]
        size = path.stat().st_size
        built = [sorted(matcher.match(event)) for event in events]
        results = {
            "checked": loads(path, True, events, built),
            "trusted": loads(path, False, events, built),
        }
    common = {
        "workload": "ABE-Gen",
        "rules": options.rules,
        "save_seconds": np.median(saves) / 1e3,
        "file_mib": size / 2**20,
        "file_bytes_per_rule": size / options.rules,
        "index_bytes_per_rule": matcher.stats().bytes_per_rule,
    }
    report("files", common, results)


def exercise(path: Path) -> None:
    """Compile the kernels that only files need."""
    small = AbeGen(rules=2_000, seed=7)
    Matcher(enumerate(small.texts())).save(path)
    Matcher.load(path).match(small.events(1)[0])


def loads(path: Path, verify: bool, events: list[Event], built: list[list[int]]) -> Figures:
    opened, first_matches, later_matches = [], [], []
    for _ in range(ROUNDS):
        opened.append(milliseconds(lambda: Matcher.load(path, verify=verify)))
        matcher = Matcher.load(path, verify=verify)
        first_matches.append(milliseconds(matcher.match, events[0]))
        later_matches += [milliseconds(matcher.match, event) for event in events[1:]]
        if [sorted(matcher.match(event)) for event in events] != built:
            raise AssertionError("a loaded matcher answers otherwise than the one saved")
    return {
        "load_ms": np.median(opened),
        "first_match_ms": np.median(first_matches),
        "match_p50_ms": np.median(later_matches),
    }


if __name__ == "__main__":
    main()
