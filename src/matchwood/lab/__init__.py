"""The laboratory: published algorithms, workloads, benchmarks and the papers' experiments.

Nothing outside this package imports it, except the commands that start it (`matchwood bench`,
`matchwood generate`). Inside, imports go one way:

    workloads ── papers ── bench ── experiments
    rules and    other     how fast  the figures of the papers, run again,
    events to    ways to   the       with the published algorithms and the
    match        match     engine is engine as contestants

- `workloads`: seeded generators of rules and events.
- `papers`: algorithms as they were published, behind one protocol.
- `bench`: programs that measure the engine, Spark and the service, and what they share.
- `experiments`: definitions of the papers' figures, what runs them, and the report page.
"""
