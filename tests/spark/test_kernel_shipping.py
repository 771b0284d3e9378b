"""Kernels travel from the driver to the executors, and are counted."""

from pathlib import Path

import pytest

from kernels.without_kernels import CompilingElsewhere, without_kernels  # noqa: F401
from matchwood.kernels.kernel_folder import (
    entry_name,
    environment_folder,
    is_complete,
    write_entry,
    write_list,
)
from matchwood.spark import kernel_shipping
from matchwood.spark.kernel_shipping import count_kernels, make_ready, ship_kernels


def on_an_executor(sent, folder):
    """A task as it runs where no kernels are: how many it took in, compiled, and found there."""

    def run(batches):
        import os

        import pyarrow as pa

        from matchwood.spark import kernel_shipping

        for _ in batches:
            usual = os.environ.get("NUMBA_CACHE_DIR")
            os.environ["NUMBA_CACHE_DIR"] = folder
            try:
                taken = [kernel_shipping.use_shipped(sent) for _ in range(2)]
                ready = kernel_shipping.make_ready(sent)
            finally:
                del os.environ["NUMBA_CACHE_DIR"]
                if usual is not None:
                    os.environ["NUMBA_CACHE_DIR"] = usual
            names = [pa.array([each], pa.list_(pa.string())) for each in ready]
            yield pa.record_batch([pa.array([taken]), *names], ["taken", "compiled", "loaded"])

    return run


@pytest.mark.spark
def test_an_executor_compiles_nothing_that_it_was_sent(
    spark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "driver"))
    assert ship_kernels(spark) is None  # nothing is compiled
    names = {entry_name("pack.add", "(int64,)", source): 0.5 for source in ("one", "two")}
    for name in names:
        write_entry(environment_folder(), name, b"code")
    write_list(environment_folder(), names)
    sent = ship_kernels(spark)
    assert sent is not None
    assert ship_kernels(spark) == sent  # once per session
    task = on_an_executor(sent, str(tmp_path / "executor"))
    schema = "taken array<long>, compiled array<string>, loaded array<string>"
    (row,) = spark.range(0, 1, 1, 1).mapInArrow(task, schema).collect()
    assert tuple(row) == ([2, 0], [], ["pack.add", "pack.add"])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "executor"))
    assert is_complete(environment_folder())


@pytest.mark.spark
def test_each_machine_is_counted_once(spark) -> None:
    counts = count_kernels(spark, None)
    assert counts.machines == 1
    assert counts.compiled == 0  # in the tests, whoever calls a kernel compiles it


def test_whoever_waits_counts_what_was_compiled_meanwhile(
    without_kernels: CompilingElsewhere,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = entry_name("pack.add", "(int64,)", "one")

    def wait() -> bool:
        write_entry(without_kernels.folder, name, b"code")
        write_list(without_kernels.folder, {name: 0.5})
        return True

    monkeypatch.setattr(kernel_shipping, "wait_for_kernels", wait)
    assert make_ready(None) == (["pack.add"], [])
    assert make_ready(None) == ([], ["pack.add"])
