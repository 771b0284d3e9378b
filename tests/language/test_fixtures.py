"""Cases in plain text, two lines each: a new one is two lines in a file of `fixtures`."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy
import pytest

from matchwood.language import EventError, RuleError, evaluate, from_json, parse, to_json

FIXTURES = Path(__file__).parent / "fixtures"
NEW_LINE = "⏎"
TRUTHS = {True: "true", False: "false", None: "undefined"}
# What JSON lacks in events.
SPELLED = {
    "$bytes": str.encode,
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$decimal": Decimal,
    "$duration": lambda seconds: timedelta(seconds=seconds),
    "$float32": numpy.float32,
    "$set": set,
}


def cases(name):
    numbered = enumerate((FIXTURES / f"{name}.txt").read_text("utf-8").split("\n"), 1)
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    assert len(lines) % 2 == 0, f"{name}.txt: a case has two lines"
    return [
        pytest.param(given.replace(NEW_LINE, "\n"), expected, id=f"{name}.txt:{number}")
        for (number, given), (_, expected) in zip(lines[::2], lines[1::2], strict=True)
    ]


def spelled(value):
    key = next(iter(value), None)
    return SPELLED[key](value[key]) if key in SPELLED else value


@pytest.mark.parametrize(("text", "expected"), cases("parsing"))
def test_parsing(text, expected):
    tree = parse(text)
    form = to_json(tree)
    assert json.dumps(form, ensure_ascii=False) == expected
    assert from_json(expected) == from_json(form) == tree
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(("text", "expected"), cases("printing"))
def test_printing(text, expected):
    tree = parse(text)
    assert str(tree) == expected
    assert parse(expected) == tree


@pytest.mark.parametrize(("text", "expected"), cases("errors"))
def test_errors(text, expected):
    with pytest.raises(RuleError) as caught:
        parse(text)
    error = caught.value
    assert f"{error.line}:{error.column} {error.reason}" == expected
    line, caret = error.caret().split("\n")
    assert text.split("\n")[error.line - 1].rstrip() == line
    assert caret == " " * (error.column - 1) + "^"


@pytest.mark.parametrize(("text", "expected"), cases("evaluation"))
def test_evaluation(text, expected):
    event, _, truth = expected.rpartition(" => ")
    try:
        found = TRUTHS[evaluate(parse(text), json.loads(event, object_hook=spelled))]
    except (EventError, RuleError) as error:
        found = f"{type(error).__name__}: {error}"
    assert found == truth


def test_there_are_cases_enough():
    names = ("parsing", "printing", "errors", "evaluation")
    assert sum(len(cases(name)) for name in names) >= 150
