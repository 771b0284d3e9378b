"""Spark's functions that rules use, and what to write instead of each."""

from __future__ import annotations

# Functions that are the same in both languages.
SAME = frozenset(("startswith", "endswith", "contains", "lower"))

# What rules write like a function, and Spark does not have, or has as an aggregate.
OWN = frozenset(("any", "every", "at_least"))

# What to write instead of a function.
INSTEAD = {
    **dict.fromkeys(
        ("upper", "lcase", "ucase"),
        "to compare without case, write lower(a) = 'text' or a ilike 'text'",
    ),
    **dict.fromkeys(
        ("coalesce", "ifnull", "nvl", "nvl2", "zeroifnull", "nullif"),
        "say what null means: coalesce(a, 0) < 5 is (a < 5 or a is null)",
    ),
    "isnull": "write a is null",
    "isnotnull": "write a is not null",
    "isnan": "NaN is null here: write a is null",
    "nanvl": "NaN is null here: write a is null",
    "equal_null": "write (a = b) is true or (a is null and b is null)",
    "array_contains": "write contains(tags, 'x')",
    "arrays_overlap": "a list satisfies a predicate if any value does: write tags in ('x', 'y')",
    **dict.fromkeys(
        ("exists", "any_match", "filter", "forall", "transform", "aggregate"),
        "exists(a, x -> x > 5) is any(a, it > 5), and forall(a, x -> x.y > 5) is every(a, y > 5)",
    ),
    **dict.fromkeys(
        ("size", "cardinality", "array_size"), "keep the size of a list as an attribute"
    ),
    **dict.fromkeys(
        ("length", "len", "char_length", "character_length", "octet_length"),
        "write a like '___%' for three characters or more, or keep the length as an attribute",
    ),
    **dict.fromkeys(
        ("trim", "ltrim", "rtrim", "btrim"), "trim values before they are events, or use rlike"
    ),
    **dict.fromkeys(
        ("substr", "substring", "left", "right", "substring_index", "split", "split_part"),
        "write startswith(a, 'x'), endswith(a, 'x') or a like '__x%'",
    ),
    **dict.fromkeys(("instr", "locate", "position", "charindex"), "write contains(a, 'x')"),
    **dict.fromkeys(("like", "ilike", "rlike"), "write the operator between: a like 'x%'"),
    **dict.fromkeys(("regexp", "regexp_like"), "write a rlike 'pattern'"),
    **dict.fromkeys(
        ("regexp_extract", "regexp_replace", "regexp_count", "regexp_instr", "regexp_substr"),
        "put the whole condition into one pattern: a rlike 'pattern'",
    ),
    **dict.fromkeys(
        ("cast", "try_cast"),
        "nothing is cast: compare with a literal of the attribute's own family",
    ),
    **dict.fromkeys(
        ("int", "bigint", "smallint", "tinyint", "float", "double", "decimal", "string", "boolean"),
        "nothing is cast: compare with a literal of the attribute's own family",
    ),
    **dict.fromkeys(
        ("date", "to_date", "timestamp", "to_timestamp", "unix_timestamp", "from_unixtime"),
        "strings are read as times where they meet one: a >= date '2026-01-31', or "
        "a >= timestamp '2026-01-31T10:00:00Z'",
    ),
    **dict.fromkeys(
        ("current_date", "current_timestamp", "now", "curdate", "getdate"),
        "a rule knows no present: give events an attribute for their age, or compare with a date",
    ),
    **dict.fromkeys(
        ("year", "month", "day", "dayofmonth", "hour", "minute", "quarter", "trunc", "date_trunc"),
        "compare with the ends: year(a) = 2026 is a >= date '2026-01-01' and "
        "a < date '2027-01-01'; or keep the part as an attribute",
    ),
    **dict.fromkeys(
        ("dayofweek", "weekday", "weekofyear", "dayofyear", "date_format", "extract"),
        "keep that part of the time as an attribute",
    ),
    **dict.fromkeys(
        ("datediff", "date_diff", "date_add", "date_sub", "add_months", "months_between"),
        "work the date out and compare with it: a >= date '2026-01-31'",
    ),
    **dict.fromkeys(
        ("abs", "round", "floor", "ceil", "ceiling", "mod", "pmod", "power", "pow", "sqrt"),
        "compare with the ends, abs(a) < 5 is (a > -5 and a < 5), or keep the result as an "
        "attribute",
    ),
    **dict.fromkeys(("greatest", "least"), "write the comparisons with and, or"),
    **dict.fromkeys(
        ("if", "iff", "decode"), "write (condition and x) or ((condition) is not true and y)"
    ),
    **dict.fromkeys(
        ("concat", "concat_ws", "initcap", "replace", "translate", "reverse", "lpad", "rpad"),
        "compare the parts, or keep the result as an attribute",
    ),
    **dict.fromkeys(
        ("get_json_object", "json_tuple", "from_json", "element_at", "get", "array_position"),
        "nested values are attributes: write a.b",
    ),
    **dict.fromkeys(
        ("map_contains_key", "map_keys", "map_values"),
        "the keys of an object are attributes: write a.key is not null",
    ),
    "find_in_set": "write a in ('x', 'y')",
}
