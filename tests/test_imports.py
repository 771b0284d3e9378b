"""`import matchwood` is quick and light."""

import json
import subprocess
import sys

MEASURE = """
import json, sys, time
start = time.process_time()
import matchwood
print(json.dumps([time.process_time() - start, sorted(sys.modules)]))
"""


def test_import_is_quick_and_light() -> None:
    seconds, modules = min(
        json.loads(subprocess.check_output([sys.executable, "-c", MEASURE])) for _ in range(5)
    )
    assert not {"numba", "pandas", "pyarrow", "pyspark"} & set(modules)
    assert seconds < 0.150
