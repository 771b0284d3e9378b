"""The demo runs, shows what it says it shows, and keeps nobody waiting."""

import subprocess
import sys
from pathlib import Path
from time import monotonic

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo.py"
SECONDS = 10


def test_demo() -> None:
    started = monotonic()
    done = subprocess.run(
        [sys.executable, str(DEMO)], capture_output=True, encoding="utf-8", timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert monotonic() - started < SECONDS
    assert "a large basket, at night                → new card, resale\n" in done.stdout
    assert "undefined  └─ card_age_days < 7  card_age_days: missing\n" in done.stdout
    assert "checked 5 rules against 2 events: 1 error, 4 warnings\n" in done.stdout
    assert "/tmp" not in done.stdout
