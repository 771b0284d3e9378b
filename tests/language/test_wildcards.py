"""Pieces of `like` patterns are found at their first position, in each of the three ways."""

import random
import re

import pytest

from matchwood.language import wildcards


@pytest.mark.parametrize("short", [1, 256])
def test_pieces_are_found_where_they_are(short, monkeypatch):
    monkeypatch.setattr(wildcards, "SHORT", short)
    chance = random.Random(1)
    for _ in range(300):
        value = "".join(chance.choice("ab") for _ in range(chance.randrange(1, 400)))
        start = chance.randrange(len(value))
        length = chance.randrange(1, len(value) - start + 1)
        piece = "".join(chance.choice((c, "_")) for c in value[start : start + length])
        expected = re.compile(piece.replace("_", ".")).search(value)
        piece = piece.replace("_", wildcards.ANY)
        assert expected is not None
        assert wildcards.find(value, piece, 0, len(value)) == expected.start()
