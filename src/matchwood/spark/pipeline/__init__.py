"""A pipeline file: rules, events and sinks in TOML, checked, run and reported.

    pipeline.toml ─ Pipeline ─ preflight: open sources, check sinks
                                   │
             ┌─────────────────────┴──────────────┐
             ▼ batch                              ▼ stream
    compile, match, count, write            start, wait, count
             └─────────────────────┬──────────────┘
                                   ▼
                     Summary ─ summary.json, page.html

pipeline_file       the keys that a file may have, and reading it (without PySpark)
toml_lines          the line of each key, for error messages
preflight           errors that would otherwise stop a run half-way
pipeline_run        `run`, stage by stage
program             what spark-submit starts
stream_run          a run whose events are a stream
stream_metrics      its figures for Prometheus
file_output         matches that workers write to files, and the driver puts in place
interrupt           what Ctrl-C does meanwhile
summary             the figures of a run
report_page         the figures as a page of plots
"""
