"""Where a task matches: on the GPU that Spark gave to it, or on its core."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence

from matchwood.match.batch.gpu.card import DEVICE_VARIABLE, GPU, VISIBLE_CARDS
from matchwood.match.batch.gpu.card_access import INDEX_VARIABLE, SHARED

# The name by which Spark knows GPUs, as in `spark.task.resource.gpu.amount`.
RESOURCE = "gpu"


def task_device(asked: str | None) -> str | None:
    """The device for the task that this process runs, if `asked` is that of the pipeline."""
    from pyspark import TaskContext

    context = TaskContext.get()
    resources = context.resources() if context is not None else {}
    given = {name: resource.addresses for name, resource in resources.items()}
    return device_of(asked, given, os.environ)


def device_of(
    asked: str | None,
    given: Mapping[str, Sequence[str]],
    environment: MutableMapping[str, str],
) -> str | None:
    """The device that was asked for. If none was, neither by the environment, it is a GPU for a
    task that was given one, and None, the default, for others.

    A process whose environment does not say which cards it sees is shown those of its first task,
    and shares the indexes on them with the other tasks of its machine.

    >>> seen = {}
    >>> device_of(None, {"gpu": ["1"]}, seen), seen
    ('gpu', {'CUDA_VISIBLE_DEVICES': '1', 'MATCHWOOD_GPU_INDEX': 'shared'})
    >>> device_of("cpu", {"gpu": ["1"]}, {}), device_of(None, {}, {})
    ('cpu', None)
    """
    cards = given.get(RESOURCE)
    if cards:
        environment.setdefault(VISIBLE_CARDS, ",".join(cards))
        environment.setdefault(INDEX_VARIABLE, SHARED)
        if asked is None and not environment.get(DEVICE_VARIABLE):
            return GPU
    return asked
