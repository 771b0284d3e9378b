"""Settings come from a file and from the environment, and errors name the setting."""

import re

import pytest

from matchwood.service.settings import Settings, SettingsError


def test_the_environment_goes_before_the_file(tmp_path) -> None:
    file = tmp_path / "service.toml"
    file.write_text('port = 9000\nhost = "::1"\n[limits]\nstreams = 3\nbatch_events = 4\n')
    environment = {
        "MATCHWOOD_PORT": "9001",
        "MATCHWOOD_LIMITS_STREAMS": "5",
        "MATCHWOOD_WEBHOOKS_PRIVATE_ADDRESSES": "true",
        "MATCHWOOD_DATA": "elsewhere",
    }
    found = Settings.load(file, environment)
    assert (found.port, found.host, str(found.data)) == (9001, "::1", "elsewhere")
    assert (found.limits.streams, found.limits.batch_events) == (5, 4)
    assert found.webhooks.private_addresses is True
    assert found.url == "sqlite:///elsewhere/matchwood.db"
    assert found.changed(port=None, host="localhost").port == 9001


@pytest.mark.parametrize(
    ("given", "environment", "said"),
    [
        ({"prot": 1}, {}, "there is no setting prot, did you mean 'port'?"),
        ({"limits": {"stream": 1}}, {}, "there is no setting limits.stream"),
        ({"limits": 3}, {}, "limits must be a table"),
        ({"port": "80"}, {}, "port must be an integer, found '80'"),
        ({"port": True}, {}, "port must be an integer, found True"),
        ({"validity": -1}, {}, "validity must be 0 or more"),
        ({"validity": float("nan")}, {}, "validity must be 0 or more"),
        ({"synchronous": "off"}, {}, "synchronous must be full or normal"),
        (
            {"webhooks": {"private_addresses": 1}},
            {},
            "webhooks.private_addresses must be true or false",
        ),
        ({}, {"MATCHWOOD_PORT": "x"}, "MATCHWOOD_PORT must be an integer, found 'x'"),
        (
            {},
            {"MATCHWOOD_LIMITS_STREAMZ": "5"},
            "MATCHWOOD_LIMITS_STREAMZ: there is no such setting, "
            "did you mean MATCHWOOD_LIMITS_STREAMS?",
        ),
        (
            {},
            {"MATCHWOOD_LIMIT_STREAMS": "5"},
            "MATCHWOOD_LIMIT_STREAMS: there is no such setting, "
            "did you mean MATCHWOOD_LIMITS_STREAMS?",
        ),
        ({}, {"MATCHWOOD_PROT": "80"}, "there is no such setting, did you mean MATCHWOOD_PORT?"),
        ({}, {"MATCHWOOD_WEBHOOKS_PRIVATE_ADDRESSES": "maybe"}, "must be true or false"),
        ({"aliases": {"a": 5}}, {}, "aliases: the aliases of 'a' are a name or several"),
        ({"aliases": {"a*": "b"}}, {}, "aliases: the alias 'b' of 'a*'"),
        ({"keys": [{"name": "a"}]}, {}, "a key has name, role and sha256"),
        ({"keys": [{"name": "a", "role": "x", "sha256": "0" * 64}]}, {}, "the role of key 'a'"),
        (
            {"keys": [{"name": "a", "role": "admin", "sha256": "secret"}]},
            {},
            "64 hexadecimal digits",
        ),
        ({"keys": [{"name": "a", "role": "admin", "sha256": "0" * 64}] * 2}, {}, "the same name"),
    ],
)
def test_mistakes_are_named(given, environment, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        Settings.read(given, environment)


def test_variables_of_others_are_left_alone() -> None:
    variables = {
        "MATCHWOOD_SERVICE_HOST": "10.0.0.1",  # as Kubernetes sets it
        "MATCHWOOD_PORT_8000_TCP_ADDR": "10.0.0.1",
        **{f"MATCHWOOD_{name}": "x" for name in ("COMPILE", "DEVICE", "KEY", "SERVER", "TICKET")},
    }
    assert Settings.read({}, variables) == Settings.read({}, {})


def test_files_that_cannot_be_read_are_named(tmp_path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        Settings.load(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("port = ")
    with pytest.raises(SettingsError, match="is not TOML"):
        Settings.load(bad)
