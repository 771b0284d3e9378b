"""Where the text of a rule first names an attribute or a variable."""

from matchwood.language.text.tokens import find_attribute, find_variable


def test_attributes_are_found_outside_strings_and_comments() -> None:
    text = "name = 'age' -- age\n and user . age > 1 and `age` < 5"
    assert find_attribute(text, "age") == text.index("`age`")
    assert find_attribute(text, "user.age") == text.index("user . age")
    assert find_attribute("`a``b` = 1", "a`b") == 0
    assert find_attribute(text, "other") is None


def test_variables_are_found_outside_strings() -> None:
    text = "f('?x', ?xy) and ?x > 1"
    assert find_variable(text, "x") == text.index("?x > 1")
    assert find_variable(text, "y") is None
