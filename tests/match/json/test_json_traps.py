"""What JSON text may hide, one trap each: answers are those of `json.loads` and `match`."""

import json

import pyarrow as pa
import pytest

from matchwood import EventError, Matcher, Schema
from matchwood.match.search.json_texts import blocks_of

RULES = {
    "o.x": "o.x = 1",
    "o.y": "o.y = 2",
    "o": "o is not null",
    "a1": "a = 1",
    "over": "a = 9007199254740993",
    "under": "a = 9007199254740992",
    "large": "a = 18446744073709551616",
    "above": "a > 1",
    "null": "a is null",
    "text": "s = 'é\"/😀'",
    "empty": "s = ''",
    "prices": "items.price = 3",
    "no price": "items.price != 3",
    "items": "items is not null",
    "dotted": "`p.q` = 1",
    "pattern": "s like '%ell%'",
}


@pytest.fixture(scope="module")
def matcher():
    return Matcher(RULES)


def same(matcher, text):
    """The answer for a text, single and in a batch, which is that of `json.loads` and `match`."""
    raw = text if isinstance(text, bytes) else text.encode()
    ids = sorted(matcher.match_json(raw))
    assert ids == sorted(matcher.match(json.loads(raw.decode().removeprefix("\ufeff"))))
    assert sorted(matcher.match_json_batch([raw])["rule_id"].to_pylist()) == ids
    if not raw.startswith(b"\xef"):
        assert sorted(matcher.match_json(raw.decode())) == ids
    assert sorted(matcher.match_json(bytearray(raw))) == ids
    assert sorted(matcher.match_json(memoryview(raw))) == ids
    return ids


def refused(matcher, text, reason):
    with pytest.raises(EventError, match=reason):
        matcher.match_json(text)
    rejects = []
    assert not matcher.match_json_batch([text, b"{}"], rejects=rejects).filter([False]).num_rows
    assert [rejected.line for rejected in rejects] == [1]


def test_the_last_of_repeated_keys_counts(matcher):
    assert "a1" in same(matcher, '{"a": 2, "a": 1}')
    assert "a1" not in same(matcher, '{"a": 1, "a": 2}')
    assert "a1" not in same(matcher, '{"a": 1, "\\u0061": 2}')
    assert "null" in same(matcher, '{"a": 1, "a": null}')


def test_a_repeated_object_drops_the_first(matcher):
    ids = same(matcher, '{"o": {"x": 1}, "o": {"y": 2}}')
    assert "o.y" in ids
    assert "o.x" not in ids
    assert "o.x" not in same(matcher, '{"o": {"x": 1}, "o": 5}')


def test_objects_of_a_list_may_have_the_same_keys(matcher):
    assert "prices" in same(matcher, '{"items": [{"price": 1}, {"price": 3}, {"name": 2}]}')
    assert "prices" not in same(matcher, '{"items": [{"price": 3, "price": 1}]}')


def test_an_attribute_spelt_two_ways(matcher):
    refused(matcher, b'{"p": {"q": 1}, "p.q": 2}', "two ways")
    refused(matcher, b'{"un": {"asked": 1}, "un.asked": 2}', "two ways")
    refused(matcher, b'{"un": {"asked": 1}, "un\\u002easked": 2}', "two ways")
    assert "dotted" in same(matcher, '{"p.q": 1, "un.asked": 2}')
    assert "dotted" in same(matcher, '{"p": {"q": 1}, "un.asked": 2}')


@pytest.mark.parametrize("spelt", ["9007199254740993", "9007199254740992", "9007199254740993.0"])
def test_around_two_to_the_53(matcher, spelt):
    expected = {"over"} if spelt == "9007199254740993" else {"under"}
    assert {"over", "under"} & set(same(matcher, f'{{"a": {spelt}}}')) == expected


def test_two_to_the_64(matcher):
    assert "large" in same(matcher, '{"a": 18446744073709551616}')
    assert "large" not in same(matcher, '{"a": 18446744073709551617}')


def test_a_fraction_that_a_double_does_not_hold(matcher):
    assert "a1" in same(matcher, '{"a": 1.00000000000000000001}')
    assert "a1" in same(matcher, '{"a": 0.99999999999999999999}')
    assert "a1" not in same(matcher, '{"a": 1.0000000000000002}')


@pytest.mark.parametrize("spelt", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1e-400"])
def test_numbers_at_the_ends(matcher, spelt):
    ids = same(matcher, f'{{"a": {spelt}, "unasked": {spelt}}}')
    assert ("above" in ids) == (spelt in ("1e400", "Infinity"))
    assert ("null" in ids) == (spelt == "NaN")


def test_integers_that_python_refuses(matcher):
    refused(matcher, b'{"unasked": ' + b"1" * 5000 + b"}", "cannot be read|can be read")


def test_lone_surrogates(matcher):
    refused(matcher, b'{"s": "\\ud800"}', "Unicode")
    refused(matcher, b'{"\\udc00": 1}', "Unicode")
    assert "a1" in same(matcher, '{"a": 1, "unasked": "\\ud83d\\ud83d"}')
    assert "text" in same(matcher, '{"s": "\\u00e9\\"\\/\\ud83d\\ude00"}')


@pytest.mark.parametrize(
    "wrong", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"]
)
def test_what_is_not_utf_8_in_what_is_skipped(matcher, wrong):
    refused(matcher, b'{"a": 1, "unasked": "' + wrong + b'"}', "not UTF-8: .* at byte 21")
    refused(matcher, b'{"a": 1, "' + wrong + b'": 1}', "not UTF-8")
    refused(matcher, b'{"a": 1, "unasked": [{"' + wrong + b'": 1}]}', "not UTF-8")


def test_a_byte_order_mark(matcher):
    assert "a1" in same(matcher, b'\xef\xbb\xbf{"a": 1}')
    assert "a1" in matcher.match_json('\ufeff{"a": 1}')
    assert matcher.match_json_batch(b'\xef\xbb\xbf{"a": 1}\n{"a": 1}')["event"].to_pylist()[-1] == 1


def test_depth(matcher):
    for levels in (10, 31, 32, 33, 60, 61, 98):
        same(matcher, '{"a": 1, "unasked": ' + '{"b": ' * levels + "1" + "}" * levels + "}")
    same(matcher, '{"a": 1, "unasked": ' + "[" * 300 + "]" * 300 + "}")
    same(matcher, '{"items": ' + '[{"price": ' * 40 + "3" + "}]" * 40 + "}")
    deep = b'{"unasked": ' + b'{"b": ' * 100 + b"1" + b"}" * 101
    refused(matcher, deep, "at most 100 deep")
    refused(matcher, b'{"unasked": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested|deep|JSON")


def test_nulls_and_empty_lists_in_lists(matcher):
    assert "no price" in same(matcher, '{"items": [{"price": null}, {"price": []}]}')
    assert "prices" in same(matcher, '{"items": [null, [], {"price": [null, [3], 3]}]}')
    assert "no price" in same(matcher, '{"items": [{"price": [[3]]}]}')
    assert "no price" not in same(matcher, '{"items": []}')
    assert "items" in same(matcher, '{"items": [[{"price": 3}]]}')


def test_null_in_a_list_is_an_element_of_which_is_asked_on_demand():
    rules = ["not contains(items.name, s)", "items.price not in list 'some'", "items.price > a"]
    matcher = Matcher(dict(enumerate(rules)), lists={"some": [3]})
    assert same(matcher, '{"items": [{"name": null, "price": null}], "s": "x", "a": 1}') == [0, 1]
    assert same(matcher, '{"items": {"name": null, "price": null}, "s": "x", "a": 1}') == []
    assert same(matcher, '{"items": [{"name": null}, {"name": "xy"}], "s": "x"}') == [0]


def test_all_values_of_an_event():
    rules = {"x": "* = 'x'", "five": "* = 5", "not x": "not (* = 'x')", "ell": "* like '%ell%'"}
    matcher = Matcher(rules | {"a": "a = 1", "starred": "`*` = 7", "any": "any(items, * = 5)"})
    assert same(matcher, '{"unasked": {"deep": [[{"n": "x"}], 5]}, "a": 1}') == ["a", "five", "x"]
    assert same(matcher, '{"x": {"x": []}, "y": [null, {}]}') == []
    assert same(matcher, '{"*": 7, "t": "h\\u0065llo"}') == ["ell", "not x", "starred"]
    # of repeated keys the last counts, also where no rule asks for them, however they are spelt
    assert same(matcher, '{"q": {"r": "x", "s": 1, "r": 2}}') == ["not x"]
    assert same(matcher, '{"q": {"r": "x", "s": 1, "\\u0072": 2}}') == ["not x"]
    assert same(matcher, '{"q": [{"r": "x"}, {"r": 2}], "r": 5}') == ["five", "x"]
    many = ", ".join(f'"k{n}": {n}' for n in range(9_000))
    assert same(matcher, f'{{{many}, "last": "x"}}') == ["five", "x"]
    part = matcher.store.snapshot.parts[0]
    assert part.json.match(b'{"unasked": [{"b": "x"}, {"b": 5}]}', part.keep(None)) is not None


@pytest.mark.slow  # without compiled kernels
def test_texts_of_new_strings_alone_are_scanned():
    part = Matcher({1: "* like '%ell%'"}).store.snapshot.parts[0]
    lines = [json.dumps({f"k{k}": f"new {n} {k}" for k in range(100)}) for n in range(300)]
    [block] = blocks_of("\n".join(lines))
    end = 0
    while end < len(lines):
        rows, end = part.json.scan(block.texts, end, len(lines))
        part.json.finished(rows)
    assert not block.texts.left_out.any()


@pytest.mark.parametrize("text", ['{"a": 1}', '{"s": ""}', '{"a": 12345678}', '{"s": "hello"}'])
def test_values_that_end_with_the_buffer(matcher, text):
    same(matcher, text)
    for end in range(len(text)):
        refused(matcher, text[:end].encode(), "not JSON")
    same(matcher, text + " \r\n\t")
    refused(matcher, text.encode() + b"\x0b", "not JSON")
    refused(matcher, text.encode() + b"{}", "Extra data")


def test_a_broken_line_does_not_swallow_the_next(matcher):
    rejects = []
    lines = b'{"a": 1\n,"s": ""}\n\n{"a": 1}\r\n  \n{"s": "\n"}\n{"a": 1}'
    table = matcher.match_json_batch(lines, rejects=rejects)
    assert [rejected.line for rejected in rejects] == [1, 2, 6, 7]
    assert rejects[0].text == '{"a": 1'
    assert "column" in rejects[0].reason
    ones = [event for event, rule in pairs(table) if rule == "a1"]
    assert ones == [2, 5]


def pairs(table):
    return sorted(zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True))


def test_texts_in_every_form(matcher, tmp_path):
    lines = b'{"a": 1}\n{"s": "hello"}\n{"items": [{"price": 3}]}\n'
    texts = lines.decode().splitlines()
    answer = pairs(matcher.match_json_batch(lines))
    path = tmp_path / "events.jsonl"
    path.write_bytes(lines)
    with path.open("rb") as file:
        assert pairs(matcher.match_json_batch(file)) == answer
    column = pa.array(["{}", *texts])
    forms = [
        path, lines.decode(), bytearray(lines), texts, [text.encode() for text in texts],
        column[1:], column[1:].cast(pa.large_string()), column[1:].cast(pa.binary()),
        column[1:].cast(pa.string_view()), pa.chunked_array([texts[:1], texts[1:]]),
    ]  # fmt: skip
    for form in forms:
        assert pairs(matcher.match_json_batch(form)) == answer
    assert matcher.match_json_batch([]).num_rows == 0
    rejects = []
    matcher.match_json_batch(pa.array([None, "{}"]), rejects=rejects)
    assert [rejected.line for rejected in rejects] == [1]
    with pytest.raises(TypeError, match="bytes or a string"):
        matcher.match_json_batch([5])
    with pytest.raises(TypeError, match="strings or bytes"):
        matcher.match_json_batch(pa.array([5]))
    with pytest.raises(EventError, match="line 2: not JSON"):
        matcher.match_json_batch(b"{}\n{")


def test_parts_pending_rules_deletions_tags_and_limits():
    matcher = Matcher({number: f"a >= {number}" for number in range(50)})
    matcher.update({100 + number: f"b.c = 'v{number}'" for number in range(50)})
    matcher.add(1000, "s like '%ell%'", tags={"t"}, priority=5)
    matcher.add(1001, "a = 7", tags={"t"}, priority=9)
    del matcher[3]
    for _ in range(2):  # with pending rules, and when they are built
        text = b'{"a": 7, "b": {"c": "v3"}, "s": "hello"}'
        event = json.loads(text)
        assert sorted(matcher.match_json(text)) == sorted(matcher.match(event))
        assert matcher.match_json(text, limit=2) == matcher.match(event, limit=2) == [1001, 1000]
        assert sorted(matcher.match_json(text, tags=["t"])) == [1000, 1001]
        table = matcher.match_json_batch([text] * 3, tags=["t"], limit=1)
        assert pairs(table) == [(0, 1001), (1, 1001), (2, 1001)]
        matcher.join()
        matcher.compact()
    del matcher[1001]
    assert matcher.match_json(text, tags=["t"]) == [1000]


def test_rules_that_need_the_event_itself():
    rules = {1: "a = b", 2: "big(a) and s = 'x'", 3: "when > date '2024-01-01'", 4: "a = 5"}
    matcher = Matcher(rules, operators={"big": lambda value: value > 4})
    text = b'{"a": 5, "b": 5.0, "s": "x", "when": "2025-01-01"}'
    assert sorted(matcher.match_json(text)) == [1, 2, 3, 4]
    assert [rule for _, rule in pairs(matcher.match_json_batch([text, b"{}"]))] == [1, 2, 3, 4]


def test_an_enforced_schema():
    schema = Schema.from_dict({"attributes": {"a": "number"}})
    matcher = Matcher({1: "a = 1"}, schema=schema, enforce=True)
    assert matcher.match_json(b'{"a": 1}') == [1]
    with pytest.raises(EventError):
        matcher.match_json(b'{"a": "x"}')
    rejects = []
    table = matcher.match_json_batch([b'{"a": "x"}', b'{"a": 1}'], rejects=rejects)
    assert pairs(table) == [(1, 1)]
    assert rejects[0].line == 1


def test_no_rules():
    assert Matcher().match_json(b'{"a": 1}') == []
    with pytest.raises(EventError, match=r"not JSON: .* at line 2, column 1"):
        Matcher().match_json(b'{"a": 1,\n}')
    with pytest.raises(EventError, match="an event is an object, found list"):
        Matcher().match_json(b"[]")
