"""The position of a value in JSON text, by its path."""

import pytest

from matchwood.language.json.location import locate

TEXT = '{"and": [true, {"attr": "a,]}", "op": "=", "op": "<"}], "x\\u0041": {"y": []}}'


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), "{"),
        (("and",), "["),
        (("and", 0), "true"),
        (("and", 1, "attr"), '"a,]}"'),
        (("and", 1, "op"), '"<"'),
        (("xA", "y"), "[]"),
    ],
)
def test_position(path: tuple[str | int, ...], value: str) -> None:
    assert TEXT[locate(TEXT, path) :].startswith(value)


@pytest.mark.parametrize("path", [("or",), ("and", 5), ("and", 0, "attr")])
def test_what_is_not_there_is_at_the_start(path: tuple[str | int, ...]) -> None:
    assert locate(TEXT, path) == 0
