"""Operators for a service of the tests."""

from collections.abc import Mapping
from time import thread_time

from matchwood import operator


@operator("boats")
def boats(event: Mapping[str, object], image: str) -> list[int]:
    return [len(image)]


@operator("counted_boats")
def counted_boats(event: Mapping[str, object], image: str) -> bool:
    """Takes a quarter of a second of processor time."""
    end = thread_time() + 0.25
    while thread_time() < end:
        pass
    return "boat" in image
