"""How long a machine without compiled kernels takes to answer, and to compile them.

    python -m matchwood.lab.bench.cold_start

Each of these begins with an empty folder for kernels: the first example of the README, a first
`matchwood match` of small files, a service with few rules until it is ready and has answered, and
`matchwood warm-up`. `seconds` are of the clock, `processor_seconds` of the process itself; for
`warm-up`, of all processes that compile. The answers must be right. Then come the kernels, by the
processor time that compiling each took.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from matchwood.kernels.kernel_folder import environment, kernel_of, list_name
from matchwood.kernels.readiness import BACKGROUND, PROGRESS, VARIABLE
from matchwood.lab.bench.processes import processor_seconds_of
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.bench.service import Served

# The first example of the README.
EXAMPLE = """
from matchwood import Matcher

rules = Matcher({
    "new card": "amount > 500 and card_age_days < 7",
    "odd hour": "hour not between 6 and 22 and country != home_country",
    "resale": "tags = 'gift card' or items.price > 1000",
})
payment = {
    "amount": 740.50, "card_age_days": 2, "hour": 3, "country": "FR", "home_country": "FR",
    "items": [{"price": 40}, {"price": 700.50}], "tags": ["gift card", "toys"],
}
print(sorted(rules.match(payment)))
print(rules.explain("odd hour", payment))
"""

# Rules and events of the first `matchwood match`, and of the service.
RULES, EVENTS = 100, 1_000


def main() -> None:
    parser = BenchOptions(__doc__).size("kernels", full=1_000, small=5)
    options = parser.read()
    results: dict[str, Figures] = {}
    for title, measure in (
        ("first example", first_example),
        ("matchwood match", first_match),
        ("service", first_service),
    ):
        with tempfile.TemporaryDirectory() as folder:
            results[title] = measure(Path(folder))
            end_compiling(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        results["warm-up"], kernels = whole_warm_up(Path(folder))
    for name in sorted(kernels, key=lambda name: -kernels[name])[: options.kernels]:
        results[name] = {"processor_seconds": kernels[name]}
    common = {"kernels": len(kernels), "processors": len(os.sched_getaffinity(0))}
    report("cold_start", common, results)


def first_example(folder: Path) -> Figures:
    output, figures = run([sys.executable, "-c", EXAMPLE], folder)
    if not output.startswith("['new card', 'resale']\n"):
        raise SystemExit(f"the first example printed {output!r}")
    return figures


def first_match(folder: Path) -> Figures:
    rules, events = folder / "rules.jsonl", folder / "events.jsonl"
    write_lines(rules, [{"id": n, "rule": f"a >= {n} and b = 'x'"} for n in range(RULES)])
    write_lines(events, [{"a": n % RULES, "b": "xy"[n % 2]} for n in range(EVENTS)])
    command = [sys.executable, "-m", "matchwood.cli", "match", str(rules), str(events)]
    output, figures = run(command, folder)
    expected = sum(n % RULES + 1 for n in range(0, EVENTS, 2))
    found = sum(len(json.loads(line)["rules"]) for line in output.splitlines())
    if found != expected:
        raise SystemExit(f"expected {expected} matches, found {found}")
    return figures


def first_service(folder: Path) -> Figures:
    started = time.perf_counter()
    served = Served(folder / "data", **environment_of(folder))
    try:
        served.wait()
        ready = time.perf_counter() - started
        with served.connect() as connection:
            connection.ask("PUT", "/rules/adults", b'{"rule": "age >= 18"}')
            status, answer = connection.ask("POST", "/match", b'{"event": {"age": 20}}')
        answered = time.perf_counter() - started
        spent = processor_seconds_of(served.process.pid)
    finally:
        served.stop()
    if status != 200 or b"adults" not in answer:
        raise SystemExit(f"the service answered {status} {answer!r}")
    return {"seconds": answered, "processor_seconds": spent, "ready_seconds": ready}


def whole_warm_up(folder: Path) -> tuple[Figures, dict[str, float]]:
    """Figures of a whole warm-up, and the seconds that each kernel took."""
    before = os.times()
    started = time.perf_counter()
    command = [sys.executable, "-m", "matchwood.cli", "warm-up", "--json"]
    output, _ = run(command, folder)
    seconds = time.perf_counter() - started
    after = os.times()
    entries = json.loads((folder / environment() / list_name()).read_bytes())["entries"]
    said = json.loads(output)
    figures = {
        "seconds": seconds,
        "processor_seconds": after.children_user
        + after.children_system
        - before.children_user
        - before.children_system,
        "compiled_again": said["compiled"],
        "megabytes": sum(path.stat().st_size for path in folder.rglob("*.kernel")) / 1e6,
    }
    kernels: dict[str, float] = defaultdict(float)
    for name, spent in entries.items():
        kernels[kernel_of(name)] += spent
    return figures, kernels


def run(command: list[str], folder: Path) -> tuple[str, Figures]:
    """What a command prints, and the time that it took."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=os.environ | environment_of(folder), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    seconds = time.perf_counter() - started
    return output, {"seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime}


def environment_of(folder: Path) -> dict[str, str]:
    return {"NUMBA_CACHE_DIR": str(folder), VARIABLE: BACKGROUND}


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def end_compiling(folder: Path) -> None:
    """End the processes that compile for a folder, as the next measurement needs the cores."""
    progress = folder / environment() / PROGRESS
    until = time.monotonic() + 20
    while not progress.exists() and time.monotonic() < until:
        time.sleep(0.05)
    try:
        os.killpg(json.loads(progress.read_bytes())["process"], signal.SIGKILL)
    except (OSError, ValueError):
        pass
    time.sleep(0.2)


if __name__ == "__main__":
    main()
