"""The `matchwood` command. Each subcommand calls the library and shows what it gave.

Exit codes: 0 fine, 1 findings, 2 misuse.
"""

from matchwood.cli import checking, generating, matching, running, serving  # noqa: F401  (each adds to `app`)
from matchwood.cli.program import app, main

__all__ = ["app", "main"]
