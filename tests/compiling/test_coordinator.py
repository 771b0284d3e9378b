"""Which process compiles which kernel."""

import pytest

from matchwood.compiling.coordinator import _Waiting, _Work
from matchwood.compiling.recording import KernelCall


def call(module: str) -> KernelCall:
    return KernelCall((f"matchwood.{module}", "kernel", ()), ())


def test_kernels_with_parts_in_common_are_compiled_by_one_process():
    waiting = _Waiting(2)
    names = [
        "index.build.text_kernels",
        "match.event.event_kernels",
        "index.build.share_kernels",
        "match.json.json_event_kernels",
        "match.event.push_kernels",
    ]
    for name in names:
        waiting.add(call(name))
    waiting.end()
    assert waiting.take(0) == call("index.build.text_kernels")
    assert waiting.take(1) == call("match.event.event_kernels")
    taken = {waiting.take(1), waiting.take(1)}
    assert taken == {call("match.event.push_kernels"), call("match.json.json_event_kernels")}
    assert waiting.take(0) == call("index.build.share_kernels")
    assert waiting.take(0) is None
    assert waiting.take(1) is None


def test_a_process_takes_what_is_left_rather_than_wait():
    waiting = _Waiting(2)
    for name in ("match.event.event_kernels", "match.event.push_kernels"):
        waiting.add(call(name))
    assert waiting.take(0) == call("match.event.event_kernels")
    assert waiting.take(1) == call("match.event.push_kernels")


def test_the_kernel_that_ends_its_process_is_named(tmp_path, monkeypatch):
    (tmp_path / "fatal_module.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    work = _Work(1)
    work.start()
    work.add(KernelCall(("fatal_module", "kernel", ()), ()))
    with pytest.raises(RuntimeError, match=r"compiled fatal_module\.kernel ended with .* 3"):
        work.finish()
