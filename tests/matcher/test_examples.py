"""Every public method and property of `Matcher` has an example, and the examples run."""

import doctest
import inspect

import pytest

from matchwood import matcher
from matchwood.match.store import snapshot

PUBLIC = [name for name in dir(matcher.Matcher) if not name.startswith("_")]


def test_there_are_methods_and_properties():
    assert {"match", "match_batch", "update", "items", "load", "calls_operators"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    documented = inspect.getattr_static(matcher.Matcher, name)
    documented = getattr(documented, "__func__", documented)
    assert doctest.DocTestParser().get_examples(documented.__doc__ or ""), name


@pytest.mark.parametrize("module", [matcher, snapshot])
def test_the_examples_run(module):
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed
