"""Ctrl-C while a pipeline runs.

PySpark's own handler calls Java from within the signal, in the middle of whatever call the main
thread is waiting for, and breaks its connection. Here the signal is only noted; jobs are cancelled
from another thread, which has a connection of its own.
"""

from __future__ import annotations

import signal
import threading
import uuid
from types import FrameType
from typing import Any

from pyspark.sql import SparkSession

from matchwood.spark.session import is_connect


class Interrupt:
    """Notes interrupts of the process; `with` takes them over from PySpark."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before: Any = None
        self.group = f"matchwood {uuid.uuid4().hex}"  # of the jobs that are cancelled
        self.times = 0
        self.cancels = True  # whether an interrupt cancels the jobs that are running

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # others cannot have handlers
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.times += 1
        if self.cancels:
            threading.Thread(target=self._cancel, daemon=True).start()

    def _cancel(self) -> None:
        if is_connect(self._spark):
            self._spark.interruptAll()
        else:
            self._spark.sparkContext.cancelJobGroup(self.group)
