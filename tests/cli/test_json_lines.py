"""JSON lines of the command `match`, while rules are evaluated and once they are built."""

import json

from matchwood import Matcher
from matchwood.cli.event_chunks import Rejects
from matchwood.cli.json_lines import matched_lines
from matchwood.match.store import part_store
from matchwood.tables import formats

RULES = {"c": "a = 1 and b = 2", "a": "b = 2", "d": "a = 1 or c = 3", "b": "a = 1"}
LINES = 600


def test_rules_are_built_between_blocks_once_kernels_are_there(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    events = [{"a": number % 3, "b": number % 5} for number in range(LINES)]
    path.write_text("\n".join(map(json.dumps, events)))
    matcher = Matcher()
    for rule_id, rule in RULES.items():
        matcher[rule_id] = rule
    monkeypatch.setattr(formats, "PIECE", 1_000)
    asked = iter([False] * 3)  # kernels are there when this is asked for the fourth time
    monkeypatch.setattr(part_store, "kernels_ready", lambda: next(asked, True))
    monkeypatch.setattr(part_store, "WORTH_BUILDING", 1)
    found, orders = [[] for _ in events], []
    rejects = Rejects(str(path), None)
    for lines in matched_lines(matcher, str(path), None, rejects, tags=None, limit=None, threads=1):
        orders.append(lines.ids.to_pylist())
        for event, rule in zip(lines.events.tolist(), lines.rules.tolist(), strict=True):
            found[lines.first + event].append(orders[-1][rule])
    assert [sorted(ids) for ids in found] == [sorted(matcher.match(event)) for event in events]
    assert orders[0] == list(RULES)
    assert orders[-1] != orders[0]
