"""A large merge in a process of its own, so that no reader waits for the GIL meanwhile.

The rules are handed over in a file, and the segment comes back in another one, which is mapped.
Whatever goes wrong, the caller still has the rules and builds the segment itself. The process ends
together with the one that started it, which it notices when its standard input is closed.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from matchwood.index.build.arrange import Arranged
from matchwood.index.build.packed_atoms import PackedAtoms
from matchwood.index.build.segment import Built, Segment, build
from matchwood.index.build.statistics import Statistics
from matchwood.index.file.array_file import pack_strings, read, unpack_strings, write
from matchwood.kernels.kernel_folder import cache_directory

# Texts that are packed before another thread may run.
_AT_ONCE = 10_000


def build_elsewhere(rules: Sequence[Any], statistics: Statistics | None) -> Built | None:
    """`build` in another process; None if that failed."""
    if cache_directory() is None or not all(isinstance(rule, str) for rule in rules):
        return None  # without a cache of kernels it would compile for a minute
    try:
        folder = Path(tempfile.mkdtemp(prefix="matchwood-merge-"))
    except OSError:
        return None
    try:
        _hand_over(folder, rules, statistics)
        done = subprocess.Popen(
            [sys.executable, "-m", "matchwood.match.store.merge_process", str(folder)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([_packages(), *sys.path])},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        done.wait()
        done.stdin.close()  # type: ignore[union-attr]
        return _taken_back(folder, len(rules)) if done.returncode == 0 else None
    except Exception:  # the caller has the rules, and builds the segment itself
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _packages() -> str:
    return str(Path(__file__).parents[3])


def _hand_over(folder: Path, rules: Sequence[str], statistics: Statistics | None) -> None:
    with open(folder / "statistics", "wb") as file:
        pickle.dump(statistics, file)
    arrays: dict[str, Any] = {}
    for number, low in enumerate(range(0, len(rules), _AT_ONCE)):
        offsets, data = pack_strings(rules[low : low + _AT_ONCE])
        arrays[f"{number}.offsets"], arrays[f"{number}.data"] = offsets, data
    write(folder / "rules", {}, arrays)


def _taken_back(folder: Path, count: int) -> Built | None:
    meta, arrays = read(folder / "segment", verify=False)
    if meta["refused"] or meta["rules"] != count:
        return None
    with open(folder / "slots", "rb") as file:  # read one by one: other threads may run between
        slots = [pickle.load(file) for _ in range(meta["slots"])]
        opaque = pickle.load(file)
    tree = Arranged(*(arrays[f"tree.{name}"] for name in Arranged._fields))
    atoms = PackedAtoms(*(arrays[f"atoms.{name}"] for name in PackedAtoms._fields))
    more = arrays["costly"], meta["operators"]
    segment = Segment(slots, atoms, opaque, tree, count, *more)
    return Built(segment, np.array(arrays["order"]), [], {})


# The other process


def main(folder: Path) -> None:
    """Build the segment of the rules in a folder, and write it there."""
    threading.Thread(target=_end_with_the_caller, args=(folder,), daemon=True).start()
    os.nice(5)
    try:
        _build(folder)
    except BaseException:  # for example, because the caller has removed the folder
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _build(folder: Path) -> None:
    with open(folder / "statistics", "rb") as file:
        statistics = pickle.load(file)
    _, packed = read(folder / "rules", verify=False)
    rules: list[str] = []
    for number in range(len(packed) // 2):
        rules += unpack_strings(packed[f"{number}.offsets"], packed[f"{number}.data"])
    segment, order, refused, _ = build(rules, statistics, threads=1)
    with open(folder / "slots", "wb") as file:
        for slot in segment.slots:
            pickle.dump(slot, file, pickle.HIGHEST_PROTOCOL)
        pickle.dump(segment.opaque, file, pickle.HIGHEST_PROTOCOL)
    arrays: dict[str, Any] = {f"tree.{n}": array for n, array in segment.tree._asdict().items()}
    arrays |= {f"atoms.{n}": array for n, array in segment.packed._asdict().items()}
    meta: dict[str, Any] = {
        "rules": segment.rules,
        "refused": len(refused),
        "slots": len(segment.slots),
    }
    meta["operators"] = segment.operators
    write(folder / "segment", meta, arrays | {"order": order, "costly": segment.costly})


def _end_with_the_caller(folder: Path) -> None:
    os.read(0, 1)  # nothing is ever written there
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
