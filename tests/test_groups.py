"""Tests that share a session of Spark, or kernels, are run by one process of pytest-xdist."""

import pytest


def test_tests_of_a_group_go_to_one_process(request: pytest.FixtureRequest) -> None:
    if not hasattr(request.config, "workerinput"):
        pytest.skip("these tests are run by one process anyway")
    if not request.config.option.loadgroup:
        pytest.skip("tests are not dealt out by groups")
    grouped = [item for item in request.session.items if item.get_closest_marker("xdist_group")]
    astray = [item.nodeid for item in grouped if "@" not in item.nodeid]
    assert grouped
    assert astray == []
