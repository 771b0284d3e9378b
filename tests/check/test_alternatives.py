"""Families that a rule asks for beside another one: only those without an alternative are told."""

import pytest

from matchwood.check.alternatives import misfits_without_alternative
from matchwood.language import parse
from matchwood.language.values import Family


def is_number(name, family):
    return family is Family.NUMBER


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("a = 1 or a = '1'", False),
        ("(a = 1 or a = '1') is true", False),
        ("(a = 1 or a = '1') is not true", False),
        ("b > 2 and (a in (1, 2) or a in ('1', '2')) is not true", False),
        ("(a = '1') is not true", True),
        ("not (a = 1 or a = '1')", True),
        ("not (a != 1 and a != '1')", False),
        ("(a != 1 and a != '1') is false", False),
        ("(a = 1 or a = '1') is not false", True),
        ("a = 1 and a = '1'", True),
        ("at_least(1, a = 1, a = '1')", False),
    ],
)
def test_a_family_without_alternative(rule, told):
    assert bool(list(misfits_without_alternative(parse(rule), is_number))) is told
