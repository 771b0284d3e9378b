"""`matchwood subscribe`, `publish` and `watch` against a service on loopback."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.serving import Served, free_port, served, settings_in

pytestmark = pytest.mark.xdist_group("subscribing")  # one service for all of them


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("service"))) as running:
        yield running


@pytest.fixture(autouse=True)
def somewhere(service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATCHWOOD_SERVER", service.url)


def matchwood(*arguments: str, given: str = "", exits: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "matchwood.cli", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == exits, done.stderr
    return done


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_from_subscribing_to_watching() -> None:
    (made,) = lines(matchwood("subscribe", "n >= 2", "--subscriber", "ann", "--validity", "2h"))
    assert made["subscriber"] == "ann"
    Path("events.jsonl").write_text('{"n": 1}\n{"n": 2}\nnonsense\n{"n": 3}\n')
    done = matchwood("publish", "events.jsonl", "--batch", "2", exits=1)
    assert [one["matched"] for one in lines(done)] == [0, 1, 1]
    assert "events.jsonl:3: " in done.stderr
    ticket = str(made["ticket"])
    watch = ("watch", str(made["id"]), "--ticket", ticket, "--limit", "2")
    kept = lines(matchwood(*watch, "--keep"))
    assert [one["event"] for one in kept] == [{"n": 2}, {"n": 3}]
    assert lines(matchwood(*watch)) == kept
    assert [one["matched"] for one in lines(matchwood("publish", '{"n": 9}'))] == [1]
    assert [one["event"] for one in lines(matchwood(*watch[:-1], "1"))] == [{"n": 9}]


@pytest.mark.slow
def test_events_of_every_kind() -> None:
    Path("rule.txt").write_text("day >= date '2026-01-01' and kind = 'x'")
    matchwood("subscribe", "@rule.txt")
    pq.write_table(
        pa.table({"day": pa.array([20_000, 21_000], pa.date32()), "kind": ["x", "x"]}), "e.parquet"
    )
    assert [one["matched"] for one in lines(matchwood("publish", "e.parquet"))] == [0, 1]
    Path("e.csv").write_text("day,kind\n2026-05-01,x\n2026-05-01,y\n")
    assert [one["matched"] for one in lines(matchwood("publish", "e.csv"))] == [1, 0]
    done = matchwood("publish", "-", given='{"day": "2026-05-01", "kind": "x"}\n\n{}\n')
    assert [one["matched"] for one in lines(done)] == [1, 0]


def heed_interrupts() -> None:
    """A shell has what it starts in the background ignore them, and so would a test of that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_watching_ends_with_an_interrupt(service: Served) -> None:
    made = service.subscribe("interrupted = 1")
    command = [sys.executable, "-m", "matchwood.cli", "watch", made["id"]]
    environment = {**os.environ, "MATCHWOOD_TICKET": made["ticket"]}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=heed_interrupts
    ) as watching:
        service.publish({"interrupted": 1})
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["event"] == {"interrupted": 1}
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["subscribe", "n >="], "the rule: line 1, column 5: expected"),
        (["subscribe", "n = 1", "--validity", "soon"], "a validity is a time as in 90s"),
        (["subscribe", "n = 1", "--subscriber", ""], "the service refuses: "),
        (["publish", '{"a.b": 1, "a": {"b": 2}}'], "the events: "),
        (["publish", "none.jsonl"], "none.jsonl: no such file"),
        (["watch", "s999999", "--ticket", "x"], "the service refuses: there is no such"),
        (["publish", "{}", "--server", "nowhere"], "--server is an address as in"),
        (
            ["publish", "{}", "--wait", "0", "--server", f"http://127.0.0.1:{free_port()}"],
            "no service answers at",
        ),
    ],
)
def test_what_goes_wrong_is_a_sentence(arguments: list[str], says: str) -> None:
    done = matchwood(*arguments, exits=2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_subscribing_right_after_serving_waits(tmp_path: Path) -> None:
    """The quick start of the README: a service in the background, then a command."""
    url = f"http://127.0.0.1:{free_port()}"
    serve = [sys.executable, "-m", "matchwood.cli", "serve", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        [*serve, "--port", url.rpartition(":")[2]], stderr=subprocess.PIPE, text=True
    ) as serving:
        try:
            done = matchwood("subscribe", "temperature > 30", "--server", url)
            assert json.loads(done.stdout)["id"] == "s1"
            assert f"waiting for the service at {url}: " in done.stderr
        finally:
            serving.terminate()
            _, log = serving.communicate(timeout=60)
    doing = [line.get("doing", "") for line in map(json.loads, log.splitlines())]
    assert "loading kernels" in doing
