"""Damaged files are refused when they are loaded, or do no harm."""

import logging
import random
from pathlib import Path

import pytest

from matcher.expected import assert_right
from matchwood import Matcher
from matchwood.index.file.array_file import IndexFileError, read, write

RULES = {f"rule {n}": f"a = {n % 5} and (name like '%{n}%' or b > {n})" for n in range(120)}
EVENTS = [{"a": n % 5, "b": n, "name": f"x{n}"} for n in range(8)] + [{}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    matcher = Matcher(RULES)
    matcher.update({f"rule {n}": "a = 1" for n in range(100, 140)})
    matcher.add("best", "a = 2", tags={"t"}, priority=5)
    del matcher["rule 3"]
    matcher.save(tmp_path / "rules.mw")
    return tmp_path / "rules.mw"


@pytest.mark.slow
@pytest.mark.parametrize("ids", ["strings", "integers"])
def test_every_flipped_bit_is_found_by_load(path: Path, tmp_path: Path, ids: str) -> None:
    if ids == "integers":
        Matcher(enumerate(RULES.values())).save(path)
    content = path.read_bytes()
    chance = random.Random(ids)
    damaged = tmp_path / "damaged.mw"
    for _ in range(400):
        changed = bytearray(content)
        changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(changed)
        with pytest.raises(IndexFileError, match=r"damaged\.mw (is|was|has)"):
            Matcher.load(damaged)


def flipped(path: Path, name: str) -> Path:
    """The file with one bit flipped in an array."""
    _, arrays = read(path)
    content = bytearray(path.read_bytes())
    at = content.index(arrays[name].tobytes())
    content[at + arrays[name].nbytes // 2] ^= 4
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["0.rules.data", "0.rules.offsets", "0.ids.data", "0.ids.offsets"])
def test_trusted_rules_that_are_damaged_are_found_when_they_are_needed(
    path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    matcher = Matcher.load(flipped(path, name), verify=False)
    if name.startswith("0.ids"):
        with pytest.raises(IndexFileError, match=f"its array '{name}' is damaged"):
            matcher["new"] = "a = 1"
        return
    with pytest.raises(IndexFileError, match=f"its array '{name}' is damaged"):
        _ = matcher["rule 50"]
    before = {rule_id: RULES[rule_id] for rule_id in matcher.match({"a": 0, "b": 99})}
    with caplog.at_level(logging.ERROR):
        for number in range(200):  # so that parts are merged, and a merge would have to read it
            matcher.update({f"new {number}": "a = 0"})
        matcher.join()
    assert "is left as it is" in caplog.text
    assert name in caplog.text
    assert set(before) <= set(matcher.match({"a": 0, "b": 99}))
    assert len(matcher.match({"a": 0})) >= 200
    with pytest.raises(IndexFileError, match="is damaged"):
        matcher.save(path)
    with pytest.raises(IndexFileError, match="is damaged"):
        matcher.compact()
    assert matcher.remove([*before, "new 7"]) == len(before) + 1


def test_a_rule_that_is_forged_is_not_merged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The checksums are right: somebody forged the file."""
    meta, arrays = read(path)
    texts = arrays["0.rules.data"].copy()
    texts[:3] = list(b"= =")
    write(path, meta, {**arrays, "0.rules.data": texts})
    matcher = Matcher.load(path)
    known = dict.fromkeys((f"new {n}" for n in range(200)), "a = 0")
    with caplog.at_level(logging.ERROR):
        for rule_id, rule in known.items():
            matcher.update({rule_id: rule})
        matcher.join()
    assert "is left as it is" in caplog.text
    assert set(known) <= set(matcher.match({"a": 0}))
    assert len(matcher) == 340


def test_an_undamaged_file_is_loaded(path: Path) -> None:
    known = RULES | {f"rule {n}": "a = 1" for n in range(100, 140)} | {"best": "a = 2"}
    del known["rule 3"]
    assert_right(Matcher.load(path), known, EVENTS)
    assert_right(Matcher.load(path, verify=False), known, EVENTS)
