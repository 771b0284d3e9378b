"""Kernels are compiled once, cached on disk, loaded again, and right without the compiler."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood
from matchwood import Matcher, parse
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import evaluate

TESTS = Path(__file__).parents[1]

# A kernel that compiles in a moment, and its answer.
ONE_KERNEL = """
import numpy as np
from matchwood.match.batch.codes.hit_kernels import clear_bits
masks = np.ones(64 * 4, np.uint64)
first = np.array([0], np.int32)
clear_bits(masks, first, np.array([0, 1]), first)
print(int(masks.sum()))
"""

ALL_KERNELS = """
import json, sys
import numpy as np, pyarrow as pa
from numba.core.dispatcher import Dispatcher
from matchwood import Matcher
from matchwood.lab.bench.scanner import Scanner
from matchwood.warm import warm_up

warm_up()
texts = ["a = 1", "a in (1, 5, 9) and b != 2", "c like '%x%' or not d = 'y'", "e is null xor a > 3"]
plain = Matcher(enumerate(texts), statistics=Matcher.profile([{"a": 1}]))
lazy = Matcher(enumerate([*texts, "a < b", "contains(c, d)", "t > date '2026-01-01'"]))
rows = [
    {"a": 1, "b": 2, "c": "x", "d": "y"},
    {"a": [1, 2], "b": 2.5, "c": ["x", None], "t": "2026-02-01"},
    {"a": None, "d": []},
    {},
]
table = pa.table({
    "a": pa.array([1, 2, None], pa.uint64()), "b": pa.array([[1], None, []]),
    "c": pa.array(["x", "y", None]).dictionary_encode(), "d": pa.array([["y"], None, ["z", "x"]]),
})
for matcher in (plain, lazy, Matcher(), Matcher({1: "true", 2: "false"})):
    for strategy in ("one by one", "sweep"):
        for change in ("none", "dead", "merged"):
            if change == "dead" and 1 in matcher:
                del matcher[1]
            if change == "merged":
                matcher[1] = "a >= 1 and c like '%x%'"
                matcher.compact()
            for part in matcher.store.snapshot.parts:
                part.batch.force(strategy)
            for events in (rows, rows * 40, table, table.slice(1), [{}]):
                matcher.match_batch(events)
                matcher.match_batch(events, tags={"t"}, limit=1)
            for row in rows:
                matcher.match(row)
                matcher.match(row, tags={"t"})
                matcher.why_not(row)
                matcher.match_json(json.dumps(row))
            matcher.match_json_batch([json.dumps(row) for row in rows * 40])
            matcher.match_json_batch(pa.array([json.dumps(row) for row in rows]), tags={"t"})
scanner = Scanner(["a = 1 and b in (1, 3)", "a != 2"])
scanner.scan(scanner.coded({"a": 1, "b": 3}))
kernels = {
    f"{name}.{key}": value
    for name, module in list(sys.modules.items()) if name.startswith("matchwood.")
    for key, value in vars(module).items()
    if isinstance(value, Dispatcher) and value.py_func.__module__ == name
}
print(json.dumps({
    name: [
        len(kernel.signatures),
        sum(kernel.stats.cache_hits.values()),
        sum(kernel.stats.cache_misses.values()),
    ]
    for name, kernel in kernels.items()
}))
"""


def run(code, timeout=300, **environment):
    path = os.pathsep.join([str(Path(matchwood.__file__).parents[1]), str(TESTS)])
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_each_kernel_has_one_specialisation_and_a_second_process_only_cache_hits():
    kernels = json.loads(output(run(ALL_KERNELS)))
    if any(missed for _, _, missed in kernels.values()):  # none are if another test was first
        kernels = json.loads(output(run(ALL_KERNELS)))
    assert len(kernels) > 20
    several = {name: found for name, found in kernels.items() if found[0] > 1}
    assert not several
    missed = {name: found for name, found in kernels.items() if found[2]}
    assert not missed
    assert sum(found[1] for found in kernels.values()) > 20


@pytest.mark.slow
def test_two_processes_may_fill_the_cache_at_once(tmp_path):
    path = os.pathsep.join([str(Path(matchwood.__file__).parents[1]), str(TESTS)])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_KERNEL],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert answers[0][0] == answers[1][0]
    assert len(list(tmp_path.rglob("*.kernel"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_cache_that_an_interrupted_write_left_broken(tmp_path, keep):
    right = output(run(ONE_KERNEL, NUMBA_CACHE_DIR=str(tmp_path)))
    broken = list(tmp_path.rglob("*.kernel"))
    assert broken
    for file in broken:
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * keep)])
    for _ in range(2):
        assert output(run(ONE_KERNEL, NUMBA_CACHE_DIR=str(tmp_path))) == right


@pytest.mark.slow
def test_without_a_writable_directory_that_is_said_once():
    """No mode of a folder stops root, so the first write is made to fail."""
    code = f"""
import tempfile, warnings
def refuse(*_, **__):
    raise OSError("read-only")
tempfile.TemporaryFile = refuse
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    {ONE_KERNEL.strip().replace(chr(10), chr(10) + "    ")}
assert [type(one.message).__name__ for one in told] == ["CacheWarning"], told
"""
    assert output(run(code)) == output(run(ONE_KERNEL))


CALLS = "from pack.below import one\n", "two = lean(lambda x: one(x))\n"
READS = "from pack import below, constants\n", "two = lean(lambda x: x + below.ADDED)\n"


@pytest.mark.slow
@pytest.mark.parametrize("uses", [CALLS, READS], ids=["calls", "reads"])
def test_a_kernel_is_not_found_again_once_what_it_uses_has_changed(tmp_path, uses):
    """Numba itself looks only at the file of the kernel that is called."""
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "above.py").write_text(
        f"from matchwood.kernels.compiled import lean\n{''.join(uses)}"
    )
    (package / "below.py").write_text(
        "from matchwood.kernels.compiled import compiled\nfrom pack.constants import ADDED\n"
        "@compiled\ndef one(x):\n    return x + ADDED\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from pack.above import two; print(two(1), sum(two.stats.cache_hits.values()))"
    )
    for added, hits in ((1, 0), (1, 1), (2, 0)):
        (package / "constants.py").write_text(f"ADDED = {added}\n")
        # Python's own cache tells sources apart by size and second of change: these are the same.
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        assert output(run(code, **environment)) == f"{1 + added} {hits}\n"


@pytest.mark.parametrize("strategy", ["push, small index", "push, large index"])
def test_either_entry_into_the_kernels_answers_as_evaluate_does(strategy):
    workload = AbeGen(rules=300, seed=3)
    rules = dict(enumerate(workload.texts()))
    trees = {rule_id: parse(text) for rule_id, text in rules.items()}
    matcher = Matcher(rules)
    for part in matcher.store.snapshot.parts:
        part.matcher.force(strategy)
    for event in workload.events(20):
        right = [rule_id for rule_id, tree in trees.items() if evaluate(tree, event) is True]
        assert sorted(matcher.match(event)) == right


def test_importing_the_package_does_not_import_numba():
    code = "import sys, matchwood; print('numba' in sys.modules, 'pyarrow' in sys.modules)"
    assert output(run(code)) == "False False\n"
