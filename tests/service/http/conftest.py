"""Schemathesis for `test_openapi.py`. It takes a second to import, so nobody else is given it."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("schemathesis.pytest.plugin"):
        config.pluginmanager.import_plugin("schemathesis.pytest.plugin")
