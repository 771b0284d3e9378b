"""A machine without compiled kernels: answers at once, compiled once, and used wherever it goes.

All tests share one folder, which two processes begin with at the same time.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from matchwood.kernels import readiness
from matchwood.kernels.kernel_folder import environment, list_name
from matchwood.lab.bench.cold_start import EXAMPLE

pytestmark = [
    pytest.mark.long,  # everything is compiled, which `make test` has done before the tests
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"),
    pytest.mark.xdist_group("cold start"),
]

# Prints which kernels the process compiled, and how many it loaded.
USED = """
import json
from matchwood.kernels.readiness import kernels_used
print(json.dumps([kernels_used.compiled, len(kernels_used.loaded)]))
"""

# Seconds in which all kernels are compiled even on a busy machine.
LONG = 600


def command(folder: Path, code: str, **variables: str) -> subprocess.Popen[str]:
    chosen = {"NUMBA_CACHE_DIR": str(folder), "MATCHWOOD_COMPILE": "background", **variables}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | chosen,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    return out.splitlines()


class Cold(NamedTuple):
    """What two processes said that began without kernels, and what they left."""

    folder: Path
    said: list[list[str]]
    compiling: list[str]  # which processes compiled, over time


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Cold:
    folder = tmp_path_factory.mktemp("cold")
    both = [command(folder, EXAMPLE + USED) for _ in range(2)]
    said = [lines(process) for process in both]
    inside = folder / environment()
    compiling: list[str] = []
    until = time.monotonic() + LONG
    while not (inside / list_name()).exists() and time.monotonic() < until:
        try:
            now = str(json.loads((inside / readiness.PROGRESS).read_bytes())["process"])
        except OSError:
            now = ""
        if now and now not in compiling:
            compiling.append(now)
        time.sleep(0.05)
    return Cold(folder, said, compiling)


def test_the_first_example_answers_without_kernels(cold: Cold) -> None:
    for said in cold.said:
        assert said[0] == "['new card', 'resale']"
        assert said[1].startswith("false")
        assert json.loads(said[-1]) == [[], 0]


def test_one_process_compiles_and_outlives_those_that_need_it(cold: Cold) -> None:
    assert (cold.folder / environment() / list_name()).exists()
    assert len(cold.compiling) == 1


def test_kernels_that_were_compiled_are_all_there_are(cold: Cold) -> None:
    said = lines(command(cold.folder, "from matchwood.warm import warm_up; warm_up()" + USED))
    compiled, loaded = json.loads(said[-1])
    listed = json.loads((cold.folder / environment() / list_name()).read_bytes())["entries"]
    assert compiled == []
    assert loaded == len(listed)


def test_kernels_can_be_moved(cold: Cold, tmp_path: Path) -> None:
    shutil.copytree(cold.folder, tmp_path / "elsewhere")
    work = "from matchwood import Matcher\nm = Matcher({n: f'a > {n}' for n in range(600)})\n"
    work += "print(len(m.match({'a': 7})), m.stats().pending)\n"
    said = lines(command(tmp_path / "elsewhere", work + USED))
    assert said[0] == "7 0"
    compiled, loaded = json.loads(said[-1])
    assert compiled == []
    assert loaded > 10


def test_workers_on_another_processor_compile_once_for_all(cold: Cold, tmp_path: Path) -> None:
    """They were sent kernels of the driver's processor, which they cannot use."""
    work = "from matchwood import Matcher\nm = Matcher({n: f'a > {n}' for n in range(600)})\n"
    work += "from matchwood.kernels import readiness\nprint(len(m.match({'a': 7})))\n"
    work += "print(readiness._state.process is not None)\n"
    sent = {"MATCHWOOD_KERNELS": str(cold.folder), "NUMBA_CPU_NAME": "x86-64-v2"}
    workers = [command(tmp_path / "machine", work + USED, **sent) for _ in range(3)]
    said = [lines(worker) for worker in workers]
    assert [answer for answer, _, _ in said] == ["7"] * 3
    assert sorted(started for _, started, _ in said) == ["False", "False", "True"]
    for _, _, used in said:
        compiled, loaded = json.loads(used)
        assert compiled == []
        assert loaded > 10
    environments = [path.name for path in (tmp_path / "machine").iterdir()]
    assert len(environments) == 1
    assert environments != [environment()]


def test_kernels_travel_in_a_file(cold: Cold, tmp_path: Path) -> None:
    file = tmp_path / "kernels.zip"
    write = "from matchwood.kernels.kernel_archive import write_archive\n"
    lines(command(cold.folder, f"{write}write_archive({str(file)!r})"))
    work = "from matchwood import Matcher\nm = Matcher({1: 'a > 1'})\nprint(m.stats().pending)\n"
    said = lines(command(tmp_path / "new", work + USED, MATCHWOOD_KERNELS=str(file)))
    assert said[0] == "0"
    assert json.loads(said[-1])[0] == []
    assert not (tmp_path / "new" / environment() / readiness.PROGRESS).exists()
