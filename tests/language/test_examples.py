"""Every public name of the language has a docstring that starts with a sentence, and an example.

The examples themselves are run by `tests/test_docs.py`.
"""

import inspect

import pytest

from matchwood import language, schema

NAMES = [(module, name) for module in (language, schema) for name in module.__all__]
METHODS = [
    (schema.Schema, name)
    for name, member in inspect.getmembers(schema.Schema)
    if not name.startswith("_") and callable(member)
]


@pytest.mark.parametrize(("owner", "name"), [*NAMES, *METHODS])
def test_has_an_example(owner: object, name: str) -> None:
    text = inspect.getdoc(getattr(owner, name)) or ""
    assert text.split("\n\n")[0].rstrip().endswith((".", ".)")), "the docstring is no sentence"
    assert ">>> " in text
