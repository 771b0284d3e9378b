"""Operators for a service of the tests."""

from collections.abc import Mapping

from matchwood import operator


@operator("boats")
def boats(event: Mapping[str, object], image: str) -> list[int]:
    return [len(image)]
