"""What each part of a detection means, in matchwood as to the plain evaluator, event by event."""

from typing import Any

import pytest
from sigma.exceptions import SigmaError

from imports.sigma.conversion import check, converted, of_fields
from matchwood.imports.sigma.misread import ENCODES_ESCAPES, SPLITS_NAMES

# Fields of one selection, events that match it, and events that do not.
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "text regardless of case": (
        {"a": "Admin"},
        [{"a": "ADMIN"}, {"a": ["x", "admin"]}],
        [{"a": "admins"}, {"a": None}, {}, {"b": "admin"}, {"a": []}],
    ),
    "text with the signs of like": (
        {"a": r"50%_\off"},
        [{"a": r"50%_\OFF"}],
        [{"a": r"50%x\off"}, {"a": "50xx_\\off"}],
    ),
    "an empty text": ({"a": ""}, [{"a": ""}], [{}, {"a": None}, {"a": " "}, {"a": 0}]),
    "wildcards": (
        {"a": "a*b?"},
        [{"a": "abc"}, {"a": "A\nx%B_"}],
        [{"a": "ab"}, {"a": "abcd"}, {"a": "xabc"}],
    ),
    "escaped wildcards": (
        {"a": r"a\*b\?\\*"},
        [{"a": "a*b?\\"}, {"a": "A*B?\\x"}],
        [{"a": "axb?\\"}, {"a": "a*bx\\"}, {"a": "a*b?"}],
    ),
    "a number": (
        {"a": 4625},
        [{"a": 4625}, {"a": "4625"}, {"a": 4625.0}, {"a": [1, "4625"]}],
        [{"a": "04625"}, {"a": "4625.0"}, {"a": 46250}, {"a": True}],
    ),
    "text of a number": (
        {"a": "-0.5"},
        [{"a": -0.5}, {"a": "-0.5"}],
        [{"a": -0.05}, {"a": "-0.50"}, {"a": 0.5}],
    ),
    "text that no number has": ({"a": "007"}, [{"a": "007"}], [{"a": 7}, {"a": "7"}]),
    "a small number": ({"a": 1e-07}, [{"a": 1e-07}, {"a": "0.0000001"}], [{"a": 0}]),
    "a truth": (
        {"a": True},
        [{"a": True}, {"a": "TRUE"}, {"a": ["true"]}],
        [{"a": False}, {"a": 1}, {"a": "1"}],
    ),
    "text of a truth": ({"a": "False"}, [{"a": False}, {"a": "FALSE"}], [{"a": 0}, {}]),
    "a pattern of a truth": ({"a": "t*e"}, [{"a": True}, {"a": "There"}], [{"a": False}]),
    "null": (
        {"a": None},
        [{}, {"a": None}, {"b": 1}],
        [{"a": ""}, {"a": 0}, {"a": []}],
    ),
    "values and null": ({"a": ["x", None]}, [{"a": "X"}, {}], [{"a": "y"}]),
    "a list of values": (
        {"a": ["x*", "y", 3, "TRUE"]},
        [{"a": "xx"}, {"a": "Y"}, {"a": 3}, {"a": "3"}, {"a": True}],
        [{"a": "z"}, {"a": 30}, {"a": False}, {}],
    ),
    "all fields": (
        {"a": "x", "b|contains": "y"},
        [{"a": "x", "b": "xyz"}],
        [{"a": "x"}, {"b": "y"}, {"a": "x", "b": "z"}],
    ),
    "contains": (
        {"a|contains": "c:\\"},
        [{"a": "in C:\\windows"}, {"a": "c:\\"}],
        [{"a": "c:/"}, {"a": 5}],
    ),
    "contains with wildcards": ({"a|contains": "b*d"}, [{"a": "abcde"}], [{"a": "bc"}]),
    "startswith": ({"a|startswith": "ab"}, [{"a": "ABC"}, {"a": "ab"}], [{"a": "xab"}]),
    "endswith": ({"a|endswith": "ab"}, [{"a": "xAB"}], [{"a": "abx"}, {}]),
    "contains all": (
        {"a|contains|all": ["xx", "yy"]},
        [{"a": "yyxx"}, {"a": ["axx", "byy"]}],
        [{"a": "xx"}, {"a": ["xx", "x"]}],
    ),
    "cased": ({"a|cased": "Abc"}, [{"a": "Abc"}], [{"a": "abc"}, {"a": "ABC"}]),
    "contains cased": ({"a|contains|cased": "Ab"}, [{"a": "xAbx"}], [{"a": "xabx"}]),
    "a cased truth": ({"a|cased": "true"}, [{"a": True}, {"a": "true"}], [{"a": "True"}]),
    "an expression": (
        {"a|re": "^fo+[a-z]$"},
        [{"a": "foox"}, {"a": ["1", "fox"]}],
        [{"a": "FOOX"}, {"a": "xfoox"}, {}, {"a": 1}],
    ),
    "an expression anywhere": ({"a|re": "b[cd]"}, [{"a": "abce"}], [{"a": "abe"}]),
    "an expression that finds a truth": ({"a|re": "ru"}, [{"a": True}, {"a": "crux"}], [{}]),
    "an expression without case": ({"a|re|i": "foo.bar"}, [{"a": "FOO-BAR"}], [{"a": "foobar"}]),
    "an expression of lines": ({"a|re|m": "^foo$"}, [{"a": "x\nfoo\ny"}], [{"a": "xfoo"}]),
    "an expression across lines": ({"a|re|s": "foo.bar"}, [{"a": "foo\nbar"}], [{"a": "foobar"}]),
    "an expression on one line": ({"a|re": "foo.bar"}, [{"a": "foo-bar"}], [{"a": "foo\nbar"}]),
    "base64": ({"a|base64": "hello"}, [{"a": "aGVsbG8="}], [{"a": "hello"}]),
    "base64 at an offset": (
        {"a|base64offset|contains": "hello"},
        [{"a": "xxaGVsbG8="}, {"a": "IGhlbGxv"}, {"a": "ICBoZWxsbw=="}],
        [{"a": "hello"}],
    ),
    "wide": (
        {"a|wide|base64offset|contains": "hi!"},
        [{"a": "aABpACEA"}],
        [{"a": "aGkh"}],
    ),
    "utf16be": ({"a|utf16be|base64": "hi"}, [{"a": "AGgAaQ=="}], [{"a": "aABpAA=="}]),
    "windash": (
        {"a|windash|contains": " -f "},
        [{"a": "x /F y"}, {"a": "x -f y"}, {"a": "x –f y"}],
        [{"a": "x f y"}],
    ),
    "windash and all": (
        {"a|windash|contains|all": [" -f ", " -g "]},
        [{"a": "x /f /g -g "}],
        [{"a": "x /f "}],
    ),
    "a network": (
        {"a|cidr": "10.0.0.0/8"},
        [{"a": "10.1.2.3"}, {"a": ["::1", "10.0.0.0"]}],
        [{"a": "11.0.0.1"}, {"a": "10"}, {"a": 10}, {"a": "x"}, {}],
    ),
    "a network of IPv6": ({"a|cidr": "fe80::/10"}, [{"a": "fe80::1"}], [{"a": "10.0.0.1"}]),
    "a field exists": (
        {"a|exists": True},
        [{"a": ""}, {"a": 0}, {"a": []}],
        [{}, {"a": None}],
    ),
    "a field does not exist": ({"a|exists": False}, [{}, {"b": 1}], [{"a": ""}, {"a": "x"}]),
    "another field": (
        {"a|fieldref": "b"},
        [{"a": "X", "b": "x"}, {"a": 1, "b": 1.0}, {"a": True, "b": True}],
        [{"a": "x", "b": "y"}, {"a": "x"}, {"b": "x"}, {}, {"a": 1, "b": 2}, {"a": 1, "b": True}],
    ),
    "greater": ({"a|gt": 5}, [{"a": 5.1}, {"a": [1, 6]}], [{"a": 5}, {"a": "6"}, {}, {"a": True}]),
    "at least": ({"a|gte": 5}, [{"a": 5}], [{"a": 4.99}, {}]),
    "less": ({"a|lt": 5}, [{"a": -1}], [{"a": 5}, {}]),
    "at most": ({"a|lte": 5.5}, [{"a": 5.5}], [{"a": 6}, {}]),
    "not a value": ({"a|neq": 5}, [{"a": 6}, {}, {"a": "x"}], [{"a": 5}, {"a": "5"}]),
    "not a pattern": ({"a|contains|neq": "xy"}, [{"a": "x"}, {}, {"a": 1}], [{"a": "axyb"}]),
    "any value": (
        {"a": "*"},
        [{"a": ""}, {"a": 0}, {"a": False}, {"a": ["x"]}],
        [{}, {"a": None}, {"a": []}],
    ),
    "any value but an empty one": ({"a": "?*"}, [{"a": "x"}, {"a": 0}], [{"a": ""}, {}]),
    "a path": (
        {"e.d.a": "x"},
        [{"e": {"d": {"a": "X"}}}, {"e": {"d": [{"a": "y"}, {"a": "x"}]}}],
        [{"e": {"d": "x"}}, {"a": "x"}],
    ),
    "a name with spaces": ({"Source Name": "x"}, [{"Source Name": "x"}], [{"SourceName": "x"}]),
    "a name that is a keyword": ({"is": "x", "*": "y"}, [{"is": "x", "*": "y"}], [{"is": "x"}]),
}


@pytest.mark.parametrize("case", CASES)
def test_selection(case: str) -> None:
    fields, matching, others = CASES[case]
    answers = check(of_fields(fields), [*matching, *others])
    assert answers == [True] * len(matching) + [False] * len(others)
    # Whatever does not match a selection matches its negation, also where a field is missing.
    negated = {"selection": fields, "condition": "not selection"}
    assert check(negated, [*matching, *others]) == [not answer for answer in answers]
    twice = {"selection": fields, "condition": "not (not selection)"}
    assert check(twice, [*matching, *others]) == answers


EVENTS: list[dict[str, Any]] = [
    {"a": "x"},
    {"b": "x"},
    {"a": "x", "b": "x"},
    {"a": "x", "b": "y", "c": 1},
    {"c": 1},
    {"a": ["x", "y"], "c": [1, 2]},
    {"d": {"e": "xx yy"}},
    {},
]
A = {"a": "x"}
B = {"b": "x"}
C = {"c": 1}
CONDITIONS: list[tuple[dict[str, Any], list[bool]]] = [
    ({"s": A, "f": B, "condition": "s and not f"}, [1, 0, 0, 1, 0, 1, 0, 0]),
    ({"s_1": A, "s_2": B, "condition": "1 of s_*"}, [1, 1, 1, 1, 0, 1, 0, 0]),
    ({"s_1": A, "s_2": B, "condition": "all of s_*"}, [0, 0, 1, 0, 0, 0, 0, 0]),
    ({"s_1": A, "s_2": B, "condition": "not 1 of s_*"}, [0, 0, 0, 0, 1, 0, 1, 1]),
    ({"s_1": A, "s_2": B, "condition": "not all of them"}, [1, 1, 0, 1, 1, 1, 1, 1]),
    ({"s": [A, C], "condition": "s"}, [1, 0, 1, 1, 1, 1, 0, 0]),
    ({"s": [{**A, **B}, C], "condition": "s"}, [0, 0, 1, 1, 1, 1, 0, 0]),
    ({"s": A, "t": C, "condition": ["s and t", "not s and not t"]}, [0, 1, 0, 1, 0, 1, 1, 1]),
    ({"s": A, "f": B, "g": C, "condition": "s and not (f or not g)"}, [0, 0, 0, 1, 0, 1, 0, 0]),
    ({"k": ["xx"], "condition": "k"}, [0, 0, 0, 0, 0, 0, 1, 0]),
    ({"k": ["xx", "Y"], "condition": "k"}, [0, 0, 0, 1, 0, 1, 1, 0]),
    ({"k": ["xx", "Y"], "condition": "not k"}, [1, 1, 1, 0, 1, 0, 0, 1]),
    ({"k": {"|all": ["xx", "Y"]}, "condition": "k"}, [0, 0, 0, 0, 0, 0, 1, 0]),
    ({"k": {"|re": "^x+$"}, "condition": "k"}, [1, 1, 1, 1, 0, 1, 0, 0]),
    ({"k": {"|cased": "X"}, "condition": "k"}, [0, 0, 0, 0, 0, 0, 0, 0]),
    ({"k": ["x? y"], "condition": "k"}, [0, 0, 0, 0, 0, 0, 1, 0]),
    ({"k": {"|windash": ["x -y", "XX"]}, "condition": "k"}, [0, 0, 0, 0, 0, 0, 1, 0]),
]


@pytest.mark.parametrize(("detection", "matching"), CONDITIONS)
def test_condition(detection: dict[str, Any], matching: list[int]) -> None:
    assert check(detection, EVENTS) == [bool(one) for one in matching]


REFUSED: list[tuple[dict[str, Any], str]] = [
    (of_fields({"a|contains": "44"}), "a: the pattern '*44*' also matches numbers as text"),
    (of_fields({"a|startswith": "10."}), "a: the pattern '10.*' also matches numbers"),
    (of_fields({"a": "?"}), "a: the pattern '?' also matches numbers"),
    (of_fields({"a": "??*"}), "also matches numbers"),
    (of_fields({"a|contains": "-"}), "also matches numbers"),
    (of_fields({"a|re": "^[0-9]+$"}), "a: the regular expression '^[0-9]+$' also matches numbers"),
    (of_fields({"a|re": "x*|y"}), "also matches numbers"),
    ({"k": [1337], "condition": "k"}, "keyword: the pattern '*1337*' also matches numbers"),
    (of_fields({"a|re": "(?=x)y"}), "invalid perl operator"),
    (of_fields({"a|re|startswith": "x"}), "selection.a: a regular expression is found anywhere"),
    (of_fields({"a|fieldref|contains": "b"}), "a: it asks whether the value of 'b' is a part"),
    (of_fields({"a|expand": "%users%"}), "a: the placeholder %users% has no values"),
    (of_fields({"a|re|expand": "x%users%"}), "a: the placeholder %users% has no values"),
    (of_fields({"a|hour": 5}), "a: it asks for the hour of a time"),
    (of_fields({"a|hour|gte": 5}), "a: it asks for the hour of a time"),
    ({"s": A, "condition": "s and not 1 of f_*"}, "condition: '1 of f_*' names no detection"),
    ({"s": A, "timeframe": "5m", "condition": "s"}, "timeframe: a correlation is about several"),
    ({"s": A, "condition": "s | count() > 5"}, "pipe syntax"),
    ({"s": A, "condition": "t"}, "Detection 't' not defined"),
]


@pytest.mark.parametrize(("detection", "reason"), REFUSED)
def test_refused(detection: dict[str, Any], reason: str) -> None:
    with pytest.raises(SigmaError) as refusal:
        converted(detection)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("fields", "text", "matching"),
    [
        ({"a|contains": "44"}, "a ilike '%44%'", [{"a": "1443"}]),
        ({"a|re": "^[0-9]+$"}, "a rlike '^[0-9]+$'", [{"a": "12"}]),
        ({"a": "?"}, "a ilike '_'", [{"a": "é"}]),
        ({"": 1337}, "* ilike '%1337%' or * in (1337, '1337')", [{"b": 1337}, {"b": "x1337"}]),
    ],
)
def test_patterns_meant_for_text(fields: dict, text: str, matching: list[dict]) -> None:
    assert converted(of_fields(fields), text_patterns=True) == text
    assert all(check(of_fields(fields), matching, text_patterns=True))


def test_predicates_of_one_field_become_one() -> None:
    fields = {"a|endswith": [r"\cmd.exe", "x"], "b": [1, "2", "3x"], "c|contains|all": ["p", "q"]}
    assert converted(of_fields(fields)) == (
        r"a ilike any ('%\\cmd.exe', '%x') and (b in (1, '1', 2, '2') or b ilike '3x') "
        "and c ilike all ('%p%', '%q%')"
    )


@pytest.mark.parametrize(
    ("detection", "is_misread", "text"),
    [
        (of_fields({"a|base64|cased": r"a\*"}), ENCODES_ESCAPES, "a = 'YSo='"),
        (of_fields({"a|base64|cased": "é?"}), ENCODES_ESCAPES, None),
        (of_fields({"a|base64offset|cased": "é"}), ENCODES_ESCAPES, "a in ('w6', 'Op', 'Dq')"),
        (of_fields({"a|utf16|base64|cased": "x"}), ENCODES_ESCAPES, "a = '//54AA=='"),
        ({"x": A, "notx": B, "condition": "notx"}, SPLITS_NAMES, "b ilike 'x'"),
        ({"x": A, "notx": B, "condition": "1 of notx*"}, False, "b ilike 'x'"),
    ],
)
def test_misread_by_some_versions_of_pysigma(
    detection: dict[str, Any], is_misread: bool, text: str | None
) -> None:
    """It is refused with these versions, and said exactly with the others."""
    if text is None or is_misread:
        with pytest.raises(SigmaError):
            converted(detection)
    else:
        assert converted(detection) == text
