"""Other engines on our rules and events, each in a process of its own, beside matchwood.

    python -m matchwood.lab.bench.peers [--rules 1000] [--events 1000] [--seconds 5]
        [--peers a-tree,duckdb] [--workloads ABE-Gen,lots]

- event-ruler (Java) and quamina (Go) match events as JSON text: `lots`, `logs` and `detections as
  JSON`.
- a-tree and rsigma-eval (Rust) and rule-engine (Python) match events as objects, one at a time:
  `ABE-Gen`, `audiences` and `detections`.
- DuckDB and Polars evaluate the same rules over a table of the events, one filter per rule.

A peer gets those rules that its language can say, and beside each set of rules there are rows of
matchwood with the same set: one event at a time, and all events as one batch. All work on one core.
`build_seconds` and `events_per_second` are processor time, the latter of the fastest of the passes
that fit into `--seconds`. `peak_mib` is the memory of the process, including its runtime, the
events and the answers. A wrong answer is a pair of an event and a rule about which the peer and
`evaluate` disagree, of `answers_checked` pairs.

The peers' own tools (cargo, Maven and go) fetch them in the versions that the folder `drivers`
names, once per machine, and the extra `bench` brings the Python packages. A row that cannot be had
is left out, and `left_out` says why.

- `two_valued`, `syntaxes`: what rules are for a peer.
- `drivers`, `driver_builds`: programs that run a peer of another language, and how they are built.
- `python_driver`: the same for matchwood and for the peers that are Python packages.
- `rows`: one peer on one workload: its process, its figures, and its wrong answers.
"""
