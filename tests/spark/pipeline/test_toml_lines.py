"""The line of a key of a TOML file is where it first occurs."""

import tomllib
from textwrap import dedent

from matchwood.spark.pipeline.toml_lines import key_lines


def test_lines_of_keys():
    text = dedent("""\
        # a = 1
        top = 1  # b = 2
        [events]
        "quoted.key" = "x = 1"
        'literal' = 'it [is]'
        dotted . key = 1.5
        keep = [
          "key = 1",  # ]
          { in = 1 },
        ]
        text = \"\"\"
        [no]
        no = "1"
        \"\"\"
        options = { header = true, in = { sep = ',' } }
        day = 1979-05-27T07:32:00Z
        [ "a" . b ]
        c = {}
        d = []
        [[list]]
        e = '''
        f = 1'''
        g = 2
        """)
    tomllib.loads(text)
    lines = key_lines(text)
    assert {".".join(path): line for path, line in lines.items() if "in" not in path} == {
        **{"top": 2, "events": 3, "events.quoted.key": 4, "events.literal": 5},
        **{"events.dotted": 6, "events.dotted.key": 6, "events.keep": 7, "events.text": 11},
        **{"events.options": 15, "events.options.header": 15, "events.day": 16},
        **{"a": 17, "a.b": 17, "a.b.c": 18, "a.b.d": 19, "list": 20, "list.e": 21, "list.g": 23},
    }
    assert lines["events", "options", "in", "sep"] == 15
