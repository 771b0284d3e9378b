"""The examples run, show what they say they show, and keep nobody waiting."""

import json
import re
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from plain_environment import without_connect

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SECONDS = 10


def example(name: str, *arguments: str, timeout: int = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        env=without_connect(),
    )


def test_language() -> None:
    started = monotonic()
    done = example("language.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert monotonic() - started < SECONDS
    assert "a large basket, at night                → new card, resale\n" in done.stdout
    assert "undefined  └─ card_age_days < 7  card_age_days: missing\n" in done.stdout
    assert "checked 5 rules against 2 events: 1 error, 4 warnings\n" in done.stdout
    assert "/tmp" not in done.stdout


@pytest.mark.slow
def test_ad_exchange() -> None:
    done = example("ad_exchange.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Male, NFL, Sports, 4        → running shoes, season tickets\n" in done.stdout
    assert "Male, NFL, Finance, 4       → nobody\n" in done.stdout
    assert "the first visit is for running shoes only.\n" in done.stdout
    assert done.stdout.count("6,288 eligible campaigns") == 3


@pytest.mark.slow
def test_cameras() -> None:
    done = example("cameras.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" frames: ") == 5
    assert "  mob in the Bronx ?n = 125\n" in done.stdout
    saved = re.search(r"([\d,]+) calls if .* by itself, ([\d,]+) together", done.stdout)
    assert saved is not None
    apart, together = (int(number.replace(",", "")) for number in saved.groups())
    assert together < 0.75 * apart


@pytest.mark.spark
@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    sizes = ("--rules", "3000", "--events", "1000", "--out", str(tmp_path))
    done = example("demo.py", *sizes, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    summary = json.loads((tmp_path / "matches-report" / "summary.json").read_text())
    assert (summary["rules"], summary["events"]) == (3000, 1000)
    assert f"matches  {summary['matches']:,} of " in done.stdout
    assert done.stdout.count("belongs to audience-") == 10
    explained = done.stdout.split("belongs to audience-")[1:]
    assert all(text.split("\n")[1].startswith("true ") for text in explained)
    assert f"Plots: {tmp_path / 'matches-report' / 'page.html'}\n" in done.stdout
