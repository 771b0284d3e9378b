"""A service on a machine where kernels are still being compiled."""

import os
import signal
from pathlib import Path

import pytest

from kernels.without_kernels import CompilingElsewhere, without_kernels  # noqa: F401
from matchwood.lab.bench.service import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"),
]


def test_few_rules_are_served_and_kept(
    without_kernels: CompilingElsewhere,  # noqa: F811
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    data, settings = tmp_path / "data", {"MATCHWOOD_LOG_LEVEL": "info"}
    event = b'{"event": {"age": 20}}'
    with serving(data, **settings) as served, served.connect() as connection:
        assert connection.ask("PUT", "/rules/adults", b'{"rule": "age >= 18"}')[0] < 300
        assert b"adults" in connection.ask("POST", "/match", event)[1]
        [made] = connection.subscribe(["age < 30"])
        assert connection.publish(b'{"age": 20}')["matched"] == 1
    assert served.process.returncode == 0
    with serving(data, **settings) as served, served.connect() as connection:
        assert b"adults" in connection.ask("POST", "/match", event)[1]
        assert connection.publish(b'{"age": 20}')["matched"] == 1
        served.stop(signal.SIGTERM)
    assert made["id"]
    assert "kernels are being compiled" in capfd.readouterr().err
