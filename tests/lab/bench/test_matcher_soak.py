"""The soak of a matcher: what is wrong is seen, and nothing is."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from matchwood.lab.bench import matcher_soak
from matchwood.lab.bench.matcher_soak import Soak
from plain_environment import without_connect


@pytest.mark.slow
@pytest.mark.long
def test_some_seconds_of_it() -> None:
    command = [sys.executable, "-m", "matchwood.lab.bench.matcher_soak"]
    command += ["--scale", "small", "--seconds", "3"]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=200, env=without_connect()
    )
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])["results"]["4/4"]
    assert min(last[name] for name in ("updates", "matches", "batches", "files", "forks")) > 0


@pytest.fixture
def soak(tmp_path: Path) -> Soak:
    return Soak(200, 1, tmp_path)


def test_right_answers_are_right(soak: Soak) -> None:
    chance = random.Random(1)
    for _ in range(30):
        soak.write(chance, 0)
        soak.match(chance)
    soak.match_batch(chance)
    soak.save_and_load(chance)
    assert soak.model.differences == []
    assert soak.model.checked > 1000


@pytest.mark.parametrize("wrong", ["lacking", "too many", "lost", "raises"])
def test_what_is_wrong_is_seen(soak: Soak, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    usual = soak.matcher.match

    def match(*arguments: Any, **options: Any) -> list[int]:
        if wrong == "raises":
            raise RuntimeError("dictionary changed size")
        found: list[int] = usual(*arguments, **options)
        return found[1:] if wrong == "lacking" else sorted({*found, *range(0, 200, 9)})

    if wrong == "lost":
        del soak.matcher[7]
        soak.save_and_load(chance)
    else:
        monkeypatch.setattr(soak.matcher, "match", match)
        soak._again(lambda chance: (soak.match(chance), stop(soak))[0], chance)
    assert soak.model.differences


def stop(soak: Soak) -> None:
    """After some answers."""
    if soak.done["matches"] == 20:
        soak.ended.set()


@pytest.mark.parametrize(("grown", "status"), [(30, 0), (48, 1)])
def test_memory_that_rises_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], grown: int, status: int
) -> None:
    def run(self: Soak, seconds: float) -> None:
        self.samples = {"1/4": {"held_mib": 200.0}, "4/4": {"held_mib": 200.0 + grown}}

    monkeypatch.setattr(Soak, "run", run)
    monkeypatch.setattr(matcher_soak, "lower_budgets", lambda: None)
    monkeypatch.setattr(matcher_soak, "fill_buffers", lambda: None)
    monkeypatch.setattr(sys, "argv", ["matcher_soak", "--scale", "small"])
    try:
        matcher_soak.main()
        found = 0
    except SystemExit as exited:
        found = int(str(exited.code))
    assert found == status
    assert ("memory rose by 48 MiB" in capsys.readouterr().err) == bool(status)


def test_all_budgets_are_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {}
    for module, name in matcher_soak.BUDGETS:
        before[module, name] = getattr(module, name)
        monkeypatch.setattr(module, name, before[module, name])
    for function in matcher_soak.PATTERNS:
        monkeypatch.setattr(function.known, "budget", function.known.budget)
    matcher_soak.lower_budgets()
    assert all(getattr(module, name) * 16 == size for (module, name), size in before.items())
