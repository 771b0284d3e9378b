"""After `warm_up` no kernel is compiled any more, and each is compiled once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import json, sys
import pyarrow as pa
from numba.core.dispatcher import Dispatcher
from matchwood.warm import warm_up

def kernels():
    return {
        f"{name}.{key}": len(value.overloads)
        for name, module in list(sys.modules.items()) if name.startswith("matchwood.")
        for key, value in vars(module).items() if isinstance(value, Dispatcher)
    }

warm_up()
before = kernels()
from matchwood import Matcher
matcher = Matcher({"x": "a > 1 and b like '%k%'", "y": "not (a = 3) or c in ('p', 'q')"})
matcher.add("z", "d is null and a between 1 and 4", tags=["t"], priority=3)
events = [{"a": n, "b": "kk", "c": "p"} for n in range(200)] + [{"a": [1, 2], "b": ["k", 1]}]
for event in events:
    matcher.match(event, tags=["t"])
matcher.match_batch(events, limit=2)
matcher.match_batch(pa.Table.from_pylist(events[:-1]), tags=["t"])
del matcher["y"]
matcher.compact()
matcher.why_not(events[0])
matcher.save("warm.mw")
Matcher.load("warm.mw").match_batch(events)
print(json.dumps([before, kernels()]))
"""


def versions(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """How many there are of each kernel after warming up, and after work."""
    out = subprocess.check_output([sys.executable, "-c", WORK], cwd=folder, timeout=300)
    before, after = json.loads(out)
    return before, after


@pytest.mark.slow
def test_nothing_is_compiled_after_warming_up(tmp_path: Path) -> None:
    before, after = versions(tmp_path)
    if max(before.values()) > 1:  # this process compiled, and with a kernel also those it calls
        assert after == before
        before, after = versions(tmp_path)
    assert after == before
    assert max(before.values()) == 1
