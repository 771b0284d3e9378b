"""Workloads: seeded generators of rules and of the events to match them against.

What a rule or an event is depends on the seed and its number alone, so that any part of a workload
can be made by itself, by any process. `catalogue` has those that commands and experiments know by
name:

- `abe_gen`: ABE-Gen, the workload of the A-Tree paper.
- `ads`: display advertisements, fitted to what the A-Tree paper says of its own.
- `fontoura`: advertising contracts in the manner of Fontoura et al. 2010.
- `le_subscribe`: the subscriptions of Fabret et al. 2000.
- `dexin_conjunctions`: conjunctions over all attributes, as DEXIN is compared on.
- `overlapping`: subscriptions that share expensive predicates (Liu et al. 2007).
- `audiences`: advertising audiences, rules that people can read.

Others are used by benchmarks and tests: `half_ranges` (conjunctions of wide ranges), `string_rules`
(detections over text), and, with events as JSON text, `lots` (city lots), `logs` (requests) and
`detections` (processes). `endpoint_logs` has detections over logs of several kinds, with lists of
patterns and tests of truth. `random_patterns` (event patterns of EventBridge), `random_logic`
(expressions of JSONLogic) and `random_detections` (of Sigma) are for the tests of imports.
`predicate_pool` and `drawing` are what generators draw from; `spark_tables` makes the rules and
events of a workload on Spark, and `table_files` writes the same tables from this process.
"""
