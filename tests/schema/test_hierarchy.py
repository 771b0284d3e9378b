"""Hierarchies of any depth."""

from matchwood import Schema


def test_deep_hierarchies_are_no_trouble() -> None:
    parents = {str(i): str(i + 1) for i in range(20_000)}
    schema = Schema.from_dict(
        {"attributes": {"a": {"hierarchy": "h"}}, "hierarchies": {"h": parents}}
    )
    assert schema.is_a("a", "0", "20000")
