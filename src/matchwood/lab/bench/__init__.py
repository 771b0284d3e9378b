"""Benchmarks: programs that print a table and, as their last line, the same figures as JSON.

Each program is a module (`peers` is a package) that runs by itself:

    python -m matchwood.lab.bench.engine [--scale small] [--rules 1000000] [--seed 1]

To write one, make a module with

- a docstring that begins with what is measured and shows the command: it is also the help text;
- a `main` that reads its options with `reporting.BenchOptions`, whose sizes have a value to publish
  and a small one to try the program with, and ends with one call of `reporting.report`;
- a check of the answers, by `language.evaluate` or by another way to match.

Names of figures end in their unit and say what they are divided by: `match_p50_ms`,
`events_per_second`, `bytes_per_rule`. A test runs every program at small scale; the Makefile and
docs/benchmarks.md list them.

The programs:

- `engine`, `scaling`, `ranges`, `strings`, `few`: matching, on different rules and events.
- `expressions`: regular expressions, beside a search for each alone.
- `cores`: batches, single events and processes on 1, 2, 4, … cores.
- `gpu`, `gpu_cuda_c`: sweeps on a GPU, beside processors and beside kernels in CUDA C.
- `gpu_host_work`: what the host does before a card can match, for `gpu`.
- `json_events`: events that come as JSON text, beside parsers.
- `constructs`: `lower(a)`, `*`, tests of truth and elements, beside evaluating them one by one.
- `named_lists`: a list with a name of ten million values, and changing it; `named_lists_service`
  and `named_lists_spark` do so there, with the rules of `listed_addresses`.
- `endpoint_logs`: detections over logs, as dicts, Arrow columns and JSON lines.
- `boxes`: the published algorithms for conjunctions of ranges, beside the engine.
- `published`: the published algorithms, beside single matches of the engine; `published_calls`
  compares their orderings of operators that cost time.
- `peers`: other engines on the same rules and events.
- `imported`: imported rules beside the libraries that they come from; `imported_sigma` says why
  rsigma answers otherwise.
- `cold_start`: the first answers on a machine without compiled kernels, and compiling them.
- `parser`, `files`, `updates`: parsing, saving and loading, and changes while events are matched.
- `spark`, `spark_large`, `spark_files`: matching through Spark.
- `service`, `service_match`, `service_steady`, `webhooks`: the service, over HTTP.
- `spark_changes`: rules that change while a stream runs on Spark.
- `soak`, `matcher_soak`: the service, and a matcher, under load for minutes.

What they share:

- `reporting`: options, timing, the table and the JSON line.
- `machine`: the processor and the versions that figures were measured with.
- `processes`: the memory and processor time of a program and the processes that it started.
- `process_memory`: what the memory of a process is made of.
- `kernel`: the kernels of a matcher, without encoding and without ids.
- `pair_checksum`: the pairs of a batch as one number, to compare ways of matching by.
- `scanner`: the compiled Scan that the engine is compared with; `rule_scan` lays rules out for it,
  and `scan_kernels` has the words of a rule and the kernels.
- `spark_plain`: how Spark alone would match.
- `rule_engine_syntax`: rules in the syntax of the package rule-engine.
- `matcher_model`: what a matcher under load must answer.
"""
