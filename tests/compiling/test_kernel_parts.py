"""What a process that only compiles leaves out is not missed."""

import os
import subprocess
import sys

import pytest

KERNELS = """
from numba import njit

@njit(cache=True, inline="never")
def inner(number):
    return [number, number + 1]

@njit(cache=True)
def outer(number):
    return sum(inner(number)) + number
"""
# Each step is a process of its own, which knows of the others only what is on disk.
STEPS = """
import os, sys
import numba

def of_inner():
    from two_kernels import inner
    inner.compile((numba.int64,))

def of_outer():
    from matchwood.compiling.kernel_parts import leave_out_parts
    from two_kernels import outer
    assert leave_out_parts(), "Numba is not as expected"
    outer.compile((numba.int64,))

def calling():
    from two_kernels import outer
    assert outer(3) == 10
    assert outer.stats.cache_hits

for step in (of_inner, of_outer, calling):
    child = os.fork()
    if child == 0:
        step()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, step.__name__
"""


@pytest.mark.slow
def test_a_part_may_be_a_kernel_that_is_on_disk(tmp_path):
    (tmp_path / "two_kernels.py").write_text(KERNELS)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", STEPS], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
