"""The `matchwood` command. Each subcommand calls the library and shows what it gave.

Exit codes: 0 fine, 1 findings, 2 misuse.
"""

# each adds its commands to `app`
from matchwood.cli import (  # noqa: F401
    benchmarking,
    checking,
    generating,
    matching,
    running,
    serving,
    subscribing,
)
from matchwood.cli.program import app, main

__all__ = ["app", "main"]
