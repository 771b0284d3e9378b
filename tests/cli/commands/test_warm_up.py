"""warm-up: what it prints."""

import json


def test_warm_up(command) -> None:
    code, out, _ = command("warm-up")
    assert code == 0
    assert out.startswith("warm in ")
    code, out, _ = command("warm-up", "--json")
    assert json.loads(out)["cache"]
