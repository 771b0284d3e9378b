"""`matchwood warm-up`: compile all kernels before they are needed."""

from __future__ import annotations

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, print_json


@app.command("warm-up")
def warm_up(as_json: AsJson = False) -> None:
    """Compile all kernels now, so that no event waits for it."""
    from matchwood.warm import warm_up

    done = warm_up()
    if as_json:
        cache = None if done.cache is None else str(done.cache)
        print_json({"seconds": round(done.seconds, 3), "cache": cache})
    elif done.cache is None:
        print(f"warm in {done.seconds:.1f} s, for this process only: no cache is writable")
    else:
        print(f"warm in {done.seconds:.1f} s, kept in {done.cache}")
