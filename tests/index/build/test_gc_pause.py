"""Bulk work of several threads pauses the garbage collector, and none leaves it paused."""

import gc
import threading

import pytest

from matchwood.index.build import gc_pause
from matchwood.index.build.gc_pause import collection_paused


def test_the_last_one_to_end_enables_collection():
    first, second = collection_paused(), collection_paused()
    with first:
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_who_has_disabled_it_finds_it_disabled():
    gc.disable()
    try:
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


class SlowCollector:
    """Python's collector, which lets another thread go on right after it was asked for."""

    def __init__(self):
        self.asked, self.go_on = threading.Event(), threading.Event()

    def isenabled(self):
        enabled = gc.isenabled()
        self.asked.set()
        self.go_on.wait(1)
        return enabled

    enable = staticmethod(gc.enable)
    disable = staticmethod(gc.disable)


def test_a_pause_that_begins_while_another_one_ends(monkeypatch: pytest.MonkeyPatch):
    slow = SlowCollector()

    def work():
        with collection_paused():
            pass

    with collection_paused():
        monkeypatch.setattr(gc_pause, "gc", slow)
        thread = threading.Thread(target=work)
        thread.start()
        slow.asked.wait(0.2)  # where it asks, it has found the collector disabled
        monkeypatch.setattr(gc_pause, "gc", gc)
    slow.go_on.set()
    thread.join()
    assert gc.isenabled()
