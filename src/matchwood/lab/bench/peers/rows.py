"""One peer on one workload: its rules, its process, its figures, and its wrong answers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.lab.bench.peers.driver_builds import Unavailable, built
from matchwood.lab.bench.peers.syntaxes.a_tree_text import a_tree_text
from matchwood.lab.bench.peers.syntaxes.event_patterns import event_patterns
from matchwood.lab.bench.peers.syntaxes.filters import polars_expression, sql_condition
from matchwood.lab.bench.peers.syntaxes.quamina_patterns import quamina_patterns
from matchwood.lab.bench.peers.syntaxes.sigma_rules import sigma_rule
from matchwood.lab.bench.peers.two_valued import Kind, kinds_of, two_valued
from matchwood.lab.bench.reporting import Figures
from matchwood.lab.bench.rule_engine_syntax import Seen, Untranslatable, translate
from matchwood.language import evaluate, parse
from matchwood.language.text.printing import to_text
from matchwood.language.tree import Node

# Seconds of the clock after which a row is given up, with everything that its process does.
ROW_LIMIT = 300

# Pairs of an event and a rule that are compared with `evaluate` in each row: those of the first
# events, of at least one.
CHECKED = 300_000

# Seconds between two looks at the memory of a process.
PAUSE = 0.02


@dataclass(frozen=True)
class ComparedWorkload:
    """Rules, and events as objects and as lines of JSON."""

    name: str
    texts: Sequence[str]
    events: Sequence[Mapping[str, Any]]
    lines: Sequence[bytes]
    as_json: bool  # whether peers are given the lines

    @cached_property
    def trees(self) -> dict[int, Node]:
        return {i: parse(text) for i, text in enumerate(self.texts)}

    @cached_property
    def two_valued(self) -> dict[int, Node]:
        return {i: two_valued(tree) for i, tree in self.trees.items()}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Empty for JSON, in which an attribute may have values of several kinds."""
        return {} if self.as_json else kinds_of(self.events, self.trees.values())

    @cached_property
    def seen(self) -> Seen:
        return Seen.of(self.events)

    @cached_property
    def right(self) -> list[set[int]]:
        """The rules that are true of each of the first events."""
        checked = max(1, CHECKED // max(1, len(self.trees)))
        return [
            {i for i, tree in self.trees.items() if evaluate(tree, event) is True}
            for event in self.events[:checked]
        ]


class Peer(NamedTuple):
    """An engine: what a rule is for it, and the program that runs it."""

    name: str
    as_json: bool  # whether it is given events as JSON text
    rule: Callable[[ComparedWorkload, int], Any]
    program: str = ""  # a folder of `drivers`; empty for one of `python_driver`
    package: str = ""  # the Python package that it needs


PEERS = (
    Peer("event-ruler", True, lambda w, i: event_patterns(w.two_valued[i], w.kinds), "event_ruler"),
    Peer("quamina", True, lambda w, i: quamina_patterns(w.two_valued[i], w.kinds), "quamina"),
    Peer("a-tree", False, lambda w, i: a_tree_text(w.two_valued[i], w.kinds), "a_tree"),
    Peer("rsigma-eval", False, lambda w, i: sigma_rule(i, w.two_valued[i], w.kinds),
         "rsigma_eval"),
    Peer("rule-engine", False, lambda w, i: translate(w.two_valued[i], w.seen),
         package="rule_engine"),
    Peer("duckdb", False, lambda w, i: sql_condition(w.two_valued[i], w.kinds), package="duckdb"),
    Peer("polars", False, lambda w, i: _for_polars(w, i), package="polars"),
)  # fmt: skip


def _for_polars(workload: ComparedWorkload, rule_id: int) -> str:
    """Our text, which the process of Polars translates, because expressions are no text."""
    polars_expression(workload.two_valued[rule_id], workload.kinds)
    return to_text(workload.two_valued[rule_id])


def ours(as_json: bool) -> tuple[Peer, Peer]:
    """Matchwood itself: one event at a time, and all as one batch."""
    single = "matchwood JSON" if as_json else "matchwood"
    names = (single, f"{single} batch")
    first, second = (Peer(name, as_json, lambda w, i: w.texts[i]) for name in names)
    return first, second


def rules_for(peer: Peer, workload: ComparedWorkload) -> dict[int, Any]:
    """The rules that a peer can say, in its syntax."""
    if peer.package and importlib.util.find_spec(peer.package) is None:
        raise Unavailable(f"the package {peer.package} is not installed")
    rules: dict[int, Any] = {}
    reason = "there are no rules"
    for rule_id in workload.trees:
        try:
            rules[rule_id] = peer.rule(workload, rule_id)
        except Untranslatable as error:
            reason = str(error)
    if not rules:
        raise Unavailable(f"it can say none of {len(workload.trees):,} rules, such as {reason}")
    return rules


def row(
    peer: Peer, workload: ComparedWorkload, rules: Mapping[int, Any], seconds: float
) -> Figures:
    """Run a peer in a process of its own, and compare its answers with `evaluate`."""
    if peer.program:
        command, folder = built(peer.program)
    else:
        module = "matchwood.lab.bench.peers.python_driver"
        command, folder = [sys.executable, "-m", module, peer.name], Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name, part) for part in ("job.json", "events.jsonl", "answers.txt")]
        job = {"attributes": workload.kinds, "rules": list(rules.items())}
        files[0].write_text(json.dumps(job, ensure_ascii=False), "utf-8")
        files[1].write_bytes(b"\n".join(workload.lines) + b"\n")
        printed, peak = _run([*command, *map(str, files), str(seconds)], folder)
        answers = files[2].read_text("utf-8").splitlines()
    figures: Figures = {"rules": len(rules), **json.loads(printed)}
    if peak:
        figures["peak_mib"] = peak / 2**10
    checked = list(zip(answers, workload.right, strict=False))
    wrong = sum(
        len(set(map(int, line.split())) ^ (right & rules.keys())) for line, right in checked
    )
    return figures | {"answers_checked": len(checked) * len(rules), "wrong_answers": wrong}


def _run(command: Sequence[str], folder: Path) -> tuple[str, int]:
    """What a program prints, and the most memory that it had, in KiB, where Linux tells."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors)
        end = time.monotonic() + ROW_LIMIT
        peak = 0
        try:
            while process.poll() is None:
                peak = max(peak, _peak_kib(process.pid))
                if time.monotonic() > end:
                    raise Unavailable(f"not done after {ROW_LIMIT} seconds")
                time.sleep(PAUSE)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            lines = errors.read().strip().splitlines()
            raise Unavailable(f"failed: {lines[-1] if lines else process.returncode}")
        return output.read(), peak


def _peak_kib(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
