"""Imported rules beside the libraries that they come from: how often the answers differ.

    python -m matchwood.lab.bench.imported [--rules 2000] [--events 20]

event-ruler is asked about random event patterns, json-logic-js about random expressions of
JSONLogic, and the crate rsigma-eval about random detections of Sigma and some written by hand, each
with random events; then the imported rules are evaluated. Maven, npm and cargo fetch the libraries.
`matches` counts what the libraries match, and `wrong_answers` the pairs of a rule and an event
where the rule answers otherwise. Where event-ruler answers a pattern otherwise than its comparisons
one by one, which no pattern should change, the pair counts in `contradictions` instead. Where
rsigma differs for a reason that `imported_sigma` names, the pair counts for this reason. A row
whose tools are missing is left out, and `left_out` says why. The program exits with 1 if an answer
is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matchwood.imports.event_patterns.patterns import rule_of_pattern
from matchwood.imports.json_documents import read_json
from matchwood.imports.json_logic.conversion import rule_of_logic
from matchwood.lab.bench.imported_sigma import REASONS, counted, drawn
from matchwood.lab.bench.peers.driver_builds import Unavailable, built
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.random_logic import RandomLogic, TypedLogic
from matchwood.lab.workloads.random_patterns import RandomPatterns, single_comparisons
from matchwood.language import evaluate, parse
from matchwood.language.tree import Node

# Seconds after which a library is given up.
LIMIT = 600

# A rule of a library, and the events that it is asked about.
Job = tuple[Any, list[dict[str, Any]]]


def main() -> None:
    options = BenchOptions(__doc__).size("rules", full=2_000, small=50)
    chosen = options.size("events", full=20, small=5).read()
    first = chosen.seed * chosen.rules
    seeds = range(first, first + chosen.rules)
    results: dict[str, Figures] = {}
    left_out: dict[str, str] = {}
    rows: dict[str, Callable[[], Figures]] = {
        "eventbridge": lambda: patterns(seeds, chosen.events),
        "jsonlogic": lambda: expressions(seeds, chosen.events, RandomLogic, False),
        "jsonlogic, typed": lambda: expressions(seeds, chosen.events, TypedLogic, True),
        "sigma": lambda: detections(seeds, chosen.events),
    }
    for name, measured in rows.items():
        try:
            results[name] = measured()
        except Unavailable as error:
            left_out[name] = str(error)
    report("imported", {"left_out": left_out}, results)
    wrong = [name for name, figures in results.items() if figures["wrong_answers"]]
    if wrong:
        sys.exit(f"imported: wrong answers in {', '.join(wrong)}")


def patterns(seeds: Sequence[int], events: int) -> Figures:
    """Event patterns beside event-ruler."""
    drawn = [RandomPatterns(seed) for seed in seeds]
    jobs: list[Job] = [(each.pattern(), [each.event() for _ in range(events)]) for each in drawn]
    figures, wrong = compared("event_ruler_alone", jobs, rule_of_pattern)
    contradictions = sum(map(_contradicts, wrong))
    figures["wrong_answers"] -= contradictions
    return figures | {"contradictions": contradictions}


def _contradicts(job: Job) -> bool:
    """Whether event-ruler answers the comparisons of a pattern otherwise, one by one."""
    pattern, events = job
    alone = answers("event_ruler_alone", [(each, events) for each in single_comparisons(pattern)])
    together = answers("event_ruler_alone", [job])
    return any("1" in line for line in alone) != ("1" in together[0])


def expressions(
    seeds: Sequence[int],
    events: int,
    workload: type[RandomLogic] | type[TypedLogic],
    typed: bool,
) -> Figures:
    """Expressions of JSONLogic beside json-logic-js."""
    drawn = [workload(seed) for seed in seeds]
    jobs: list[Job] = [(each.logic(), [each.data() for _ in range(events)]) for each in drawn]
    return compared("json_logic_js", jobs, lambda logic: rule_of_logic(logic, typed))[0]


def detections(seeds: Sequence[int], events: int) -> Figures:
    """Detections of Sigma beside rsigma; those that no rule can say exactly are left out."""

    def ask(jobs: Sequence[Job]) -> list[str]:
        return answers("rsigma_alone", jobs)

    asked = drawn(seeds, events)
    count = counted(asked, ask([each.job for each in asked]), ask)
    figures = ("answers_checked", "matches", "wrong_answers", "refused by rsigma", *REASONS)
    return {"rules": len(asked)} | {name: count[name] for name in figures}


def compared(
    program: str, jobs: Sequence[Job], imported: Callable[[Any], Node]
) -> tuple[Figures, list[Job]]:
    """The figures of a row, and each wrong answer as a job about one event."""
    right = answers(program, jobs)
    wrong: list[Job] = []
    matches = 0
    for (original, events), line in zip(jobs, right, strict=True):
        # What is kept in a table is the text of a rule, so that is what is evaluated.
        rule = parse(str(imported(read_json(json.dumps(original)))))
        for event, answer in zip(events, line, strict=True):
            matches += answer == "1"
            if (evaluate(rule, event) is True) != (answer == "1"):
                wrong.append((original, [event]))
    checked = sum(map(len, right))
    figures = {"rules": len(jobs), "answers_checked": checked, "matches": matches}
    return figures | {"wrong_answers": len(wrong)}, wrong


def answers(program: str, jobs: Sequence[Job]) -> list[str]:
    """A line for each job, with a 1 for each event that the library matches."""
    command, folder = built(program)
    with tempfile.TemporaryDirectory() as name:
        asked, answered = Path(name, "jobs.jsonl"), Path(name, "answers.txt")
        lines = [
            json.dumps({"rule": json.dumps(rule), "events": list(map(json.dumps, events))})
            for rule, events in jobs
        ]
        asked.write_text("\n".join(lines) + "\n", encoding="utf-8")
        run([*command, str(asked), str(answered)], folder)
        return answered.read_text(encoding="utf-8").splitlines()


def run(command: Sequence[str], folder: Path) -> None:
    """Run a program of a library, in the folder where it was built."""
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=LIMIT)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Unavailable(f"{command[0]} failed: {said[-1] if said else done.returncode}")


if __name__ == "__main__":
    main()
