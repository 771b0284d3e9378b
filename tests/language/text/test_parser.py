"""The parser keeps no memory of what it parsed before; `test_fixtures` has its cases."""

import pytest

from matchwood import RuleError, parse


def test_parsing_does_not_depend_on_what_was_parsed_before():
    for text in ("a = 1", "a = 1 and b = 2", "a in (1)", "a between 1 and 2"):
        parse(text)
        for end in ("and b", "or b", "xor b", "x", "and"):
            for _ in range(2):
                if text.endswith(")"):
                    continue
                with pytest.raises(RuleError):
                    parse(text + end)
