"""`matchwood package-env`: what `spark-submit --archives` sends to executors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, misuse, print_json


@app.command("package-env")
def package_env(
    output: Annotated[Path, typer.Option(metavar="FILE", help="The archive to write.")] = Path(
        "matchwood-env.tar.gz"
    ),
    as_json: AsJson = False,
) -> None:
    """Pack matchwood, what it needs, and its kernels for executors that lack them."""
    from matchwood.spark.packed_environment import pack_environment
    from matchwood.warm import warm_up

    try:
        warm_up()
        packed = pack_environment(output)
    except (OSError, ValueError) as error:
        misuse(str(error))
    if as_json:
        print_json({"archive": str(output), **packed._asdict()})
        return
    print(
        f"{packed.packages} packages and {packed.kernels} kernels in {output}, "
        f"{packed.bytes / 2**20:,.0f} MiB"
    )
