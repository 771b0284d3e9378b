"""The `matchwood` program. Each command calls the library and shows the result.

Exit codes: 0 if all is well, 1 for findings, 2 for misuse, 3 if a run or the service fails.

    commands/          one module per command
    entry_point        `main`: runs a command, and turns errors into sentences
    arguments          arguments and options that several commands take
    rule_loading       rules, schemas and operators for a command
    event_chunks       events in pieces that fit into memory
    match_output       matches as JSON lines or Parquet
    json_lines         events that are JSON lines, matched as they are
    spark_session      PySpark for a command
    service_client     a service for a command
    progress           how far long work has come
    standard_streams   standard streams that are closed, full or no longer read
"""

# Each module adds its command to `app`.
from matchwood.cli.commands import (  # noqa: F401
    bench,
    build,
    check,
    explain,
    generate,
    import_rules,
    key,
    match,
    package_env,
    publish,
    run,
    serve,
    stats,
    subscribe,
    test,
    warm_up,
    watch,
)
from matchwood.cli.entry_point import app, main

__all__ = ["app", "main"]
