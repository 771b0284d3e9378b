"""Whatever was built is sound; whatever passes as sound, kernels survive."""

import doctest
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from index.file import mutations
from matchwood.index.build.segment import Segment, build
from matchwood.index.file import validate as module
from matchwood.index.file.array_file import IndexFileError
from matchwood.index.file.validate import validate
from matchwood.lab.workloads.abe_gen import AbeGen

SETS = list(mutations.rule_sets(5))


def check(segment: Segment, **changed: object) -> None:
    tree, atoms = segment.tree, segment.packed
    for name, array in changed.items():
        if name in tree._fields:
            tree = tree._replace(**{name: array})
        else:
            atoms = atoms._replace(**{name: array})
    validate(tree, atoms, segment.codes, segment.rules, len(segment.opaque))


def test_documented_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("rules", SETS, ids=range(len(SETS)))
def test_what_was_built_is_sound(rules: list[str]) -> None:
    check(build(rules).segment)


def test_a_workload_is_sound() -> None:
    check(build(AbeGen(rules=2_000).texts()).segment)


def test_many_values_and_wide_push_lists_are_sound() -> None:
    values = ", ".join(map(str, range(3_000)))
    rules = [f"a in ({values})", f"not a in ({values}) and b = 1"]
    rules += [f"a = 1 and (b = {i} or c = {i})" for i in range(1_500)]
    rules += [f"a = 1 or b = {i}" for i in range(2_500)]
    check(build(rules).segment)


def test_numbers_that_do_not_fit_the_arrays_are_refused() -> None:
    segment = build(SETS[5]).segment
    tree, atoms, codes = segment.tree, segment.packed, segment.codes
    rules, opaque = segment.rules, len(segment.opaque)
    validate(tree, atoms, codes, rules, opaque)
    for wrong in (
        (codes, 1, opaque),
        (codes, rules, opaque - 1),
        (codes, rules, opaque + 1),
        (codes[:-1], rules, opaque),
        (np.maximum(codes - 3, 2), rules, opaque),
        (codes * 4, rules, opaque),
    ):
        with pytest.raises(IndexFileError):
            validate(tree, atoms, *wrong)


def test_every_array_of_another_type_or_shape_is_refused() -> None:
    segment = build(SETS[5]).segment
    for name, array in (segment.tree._asdict() | segment.packed._asdict()).items():
        for wrong in (array.astype(np.float64), np.array(0, array.dtype), array[None]):
            with pytest.raises(IndexFileError):
                check(segment, **{name: wrong})


@pytest.mark.parametrize("rules", SETS[3:], ids=range(3, len(SETS)))
def test_every_element_beyond_all_bounds_is_refused(rules: list[str]) -> None:
    segment = build(rules).segment
    for name, array in (segment.tree._asdict() | segment.packed._asdict()).items():
        some = random.Random(name)
        for _ in range(min(array.size, 20)):
            changed = np.array(array)
            changed.reshape(-1)[some.randrange(array.size)] = np.iinfo(array.dtype).max
            with pytest.raises(IndexFileError):
                check(segment, **{name: changed})


def test_pieces_refuse_what_is_refused_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(segment: Segment, **changed: object) -> str:
        try:
            check(segment, **changed)
        except IndexFileError:
            return "refused"
        return "sound"

    def tiny(count: int, _: int) -> list[tuple[int, int]]:
        bounds = [*range(0, count, 7), count]
        return list(pairwise(bounds)) or [(0, count)]

    some, verdicts = random.Random(4), set()
    for rules in SETS:
        segment = build(rules).segment
        arrays = segment.tree._asdict() | segment.packed._asdict()
        for _ in range(40):
            name = some.choice(["pushes", "stab_push", "stab_bound", "records", "slot", "tree_at"])
            name = name if name in arrays else "rows"
            changed = {name: mutations.changed(arrays[name], some)}
            whole = verdict(segment, **changed)
            with monkeypatch.context() as patched:
                patched.setattr(module, "pieces_of", tiny)
                assert verdict(segment, **changed) == whole
            verdicts.add(whole)
        with monkeypatch.context() as patched:
            patched.setattr(module, "pieces_of", tiny)
            check(segment)
    assert verdicts == {"refused", "sound"}


def test_a_node_in_ranges_of_two_pieces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if both pieces look at the same moment, and each sees that it is still free."""
    segment = build([f"a = {i} and b = {i} or c = {i}" for i in range(50)]).segment
    checked = module.check_list_contents

    def twice(*arguments: object) -> int:
        place = checked(*arguments)
        arguments[-1][0] += 1  # type: ignore[index]  # the node that the other piece had, too
        return place

    check(segment)
    monkeypatch.setattr(module, "check_list_contents", twice)
    with pytest.raises(IndexFileError, match="contents of push lists"):
        check(segment)


@pytest.mark.slow
def test_changes_raise_nothing_else() -> None:
    some = random.Random(3)
    segments = [build(rules).segment for rules in SETS]
    refused = 0
    for _ in range(1_500):
        segment = some.choice(segments)
        arrays = segment.tree._asdict() | segment.packed._asdict()
        name = some.choice(list(arrays))
        try:
            check(segment, **{name: mutations.changed(arrays[name], some)})
        except IndexFileError:
            refused += 1
    assert refused > 900


@pytest.mark.slow
def test_kernels_survive_what_passes(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """In a process of its own, where every index is checked: by Python, or by compiled code, which
    takes a minute to compile."""
    long = pytestconfig.getoption("--long")
    compiled = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    settings = compiled if long else {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, mutations.__file__, "1", "1000" if long else "300"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "'passed'" in done.stdout
    assert "'programs passed'" in done.stdout
    assert "'programs refused'" in done.stdout
