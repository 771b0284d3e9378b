"""Runs all peers on all workloads; the package says what is compared with what."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence

from matchwood.lab.bench import peers
from matchwood.lab.bench.peers.driver_builds import Unavailable
from matchwood.lab.bench.peers.rows import PEERS, ComparedWorkload, Peer, ours, row, rules_for
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.detections import Detections
from matchwood.lab.workloads.logs import Logs
from matchwood.lab.workloads.lots import Lots

Maker = Callable[[int, int, int], ComparedWorkload]


def lots(_: int, events: int, seed: int) -> ComparedWorkload:
    made = Lots(seed=seed)
    return ComparedWorkload(
        "lots", made.texts(), made.events(events), made.json_texts(events), True
    )


def logs(_: int, events: int, seed: int) -> ComparedWorkload:
    made = Logs(seed=seed)
    return ComparedWorkload(
        "logs", made.texts(), made.events(events), made.json_texts(events), True
    )


def detections_as_json(rules: int, events: int, seed: int) -> ComparedWorkload:
    made = Detections(rules=rules, seed=seed)
    lines = made.json_texts(events)
    return ComparedWorkload("detections as JSON", made.texts(), made.events(events), lines, True)


def detections(rules: int, events: int, seed: int) -> ComparedWorkload:
    made = Detections(rules=rules, seed=seed)
    lines = made.json_texts(events)
    return ComparedWorkload("detections", made.texts(), made.events(events), lines, False)


def audiences(rules: int, events: int, seed: int) -> ComparedWorkload:
    made = Audiences(rules=rules, seed=seed)
    objects = made.events(events)
    lines = [json.dumps(event, ensure_ascii=False).encode() for event in objects]
    return ComparedWorkload("audiences", made.texts(), objects, lines, False)


def abe_gen(rules: int, events: int, seed: int) -> ComparedWorkload:
    made = AbeGen(rules=rules, seed=seed)
    objects = made.events(events)
    lines = [json.dumps(event).encode() for event in objects]
    return ComparedWorkload("ABE-Gen", made.texts(), objects, lines, False)


WORKLOADS: dict[str, Maker] = {
    "lots": lots,
    "logs": logs,
    "detections as JSON": detections_as_json,
    "ABE-Gen": abe_gen,
    "audiences": audiences,
    "detections": detections,
}


def main() -> None:
    parser = BenchOptions(peers.__doc__).size("rules", full=1_000, small=50)
    parser.size("events", full=1_000, small=50).size("seconds", full=5, small=1)
    names = tuple(peer.name for peer in PEERS)
    parser.add_argument("--peers", type=chosen_from(names), default=names)
    parser.add_argument("--workloads", type=chosen_from(WORKLOADS), default=tuple(WORKLOADS))
    options = parser.read()
    results: dict[str, Figures] = {}
    left_out: dict[str, str] = {}
    for name in options.workloads:
        workload = WORKLOADS[name](options.rules, options.events, options.seed)
        chosen = [peer for peer in PEERS if peer.name in options.peers]
        compare(workload, chosen, options.seconds, results, left_out)
    sizes = {name: getattr(options, name) for name in ("rules", "events", "seconds")}
    report("peers", {**sizes, "left_out": left_out}, results)


def chosen_from(known: Sequence[str] | dict[str, Maker]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                expected = ", ".join(known)
                raise argparse.ArgumentTypeError(f"found {name!r}, expected one of {expected}")
        return names

    return read


def compare(
    workload: ComparedWorkload,
    chosen: Sequence[Peer],
    seconds: float,
    results: dict[str, Figures],
    left_out: dict[str, str],
) -> None:
    """Add a row per peer, and for each set of rules that peers can say, the rows of matchwood."""

    same_rules: list[frozenset[int]] = []
    for peer in chosen:
        if peer.as_json != workload.as_json:
            continue
        title = f"{workload.name}, {peer.name}"
        try:
            rules = rules_for(peer, workload)
            results[title] = row(peer, workload, rules, seconds)
        except Unavailable as error:
            left_out[title] = str(error)
        else:
            if frozenset(rules) not in same_rules:
                same_rules.append(frozenset(rules))
    for same in same_rules:
        for peer in ours(workload.as_json):
            texts = {i: workload.texts[i] for i in sorted(same)}
            title = f"{workload.name}, {peer.name}"
            if title in results or title in left_out:
                title += f", {len(same):,} rules"
            try:
                results[title] = row(peer, workload, texts, seconds)
            except Unavailable as error:
                left_out[title] = str(error)


if __name__ == "__main__":
    main()
