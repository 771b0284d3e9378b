"""Kernels do the same however much work is left out while they are compiled."""

import os
import subprocess
import sys

import pytest

# Functions that are asked for with several types, literals and flags, each more than once.
CODE = """
import numpy as np
from matchwood.compiling.remembered_types import remember_types
from matchwood.compiling.skipped_analysis import skip_analysis
assert remember_types() and skip_analysis(), "Numba is not as expected"
from matchwood.kernels.compiled import codec, inlined, compiled, lean

@codec
def twice(number):
    return number + number

@inlined
def total(numbers):
    found = numbers[0] - numbers[0]
    for number in numbers:
        found += twice(number)
    return found

def longest(numbers):  # variables that are alive in some blocks only
    most, current = 0, 0
    for place, number in enumerate(numbers):
        if place and number < numbers[place - 1]:
            current = 0
        else:
            current += 1
        if current > most:
            most = current
            if most > 1_000:
                raise ValueError("too long")
    while current > 3:
        current -= 2
    return most, current, sum([2 * each for each in range(4)])

def sums(integers, doubles, pair):
    made = min(pair[0], pair[1]) + max(1, pair[0]) + twice(2) + twice(2.5)
    return total(integers), total(doubles), made + abs(-3), -7 // 2, 7 % 4

arguments = np.arange(5), np.linspace(0, 1, 5), (3, 4)
expected = sums(*arguments)
assert compiled(longest)(np.array([3, 1, 2, 2, 5, 4, 9])) == longest([3, 1, 2, 2, 5, 4, 9])

for kernel in (lean(sums), compiled(sums)):
    assert kernel(*arguments) == expected
assert kernel.overloads[kernel.signatures[0]].signature.return_type[0].name == "int64"

from numba.core.registry import cpu_target  # whatever is declared later is found, wherever it is
context = cpu_target.target_context
for number, registry in enumerate(list(context._registries)):
    registry.lower(f"declared {number}")(lambda *arguments: None)
    context.refresh()
    assert f"declared {number}" in context._defns, registry
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_kernels_are_the_same_with_less_work(tmp_path):
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "MATCHWOOD_COMPILE": "foreground"}
    script = tmp_path / "script.py"
    script.write_text(CODE)
    done = subprocess.run(
        [sys.executable, str(script)], env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
