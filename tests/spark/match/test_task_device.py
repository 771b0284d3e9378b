"""A task uses the GPU that it was given, unless somebody says otherwise."""

import doctest

import pytest

from matchwood.spark.match import task_device as module
from matchwood.spark.match.task_device import device_of, task_device


def test_documented_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_a_task_that_was_given_a_gpu_uses_it() -> None:
    environment: dict[str, str] = {}
    assert device_of(None, {"gpu": ["2", "3"]}, environment) == "gpu"
    shared = {"CUDA_VISIBLE_DEVICES": "2,3", "MATCHWOOD_GPU_INDEX": "shared"}
    assert environment == shared
    assert device_of(None, {"gpu": ["0"]}, environment) == "gpu"
    assert environment == shared


def test_the_environment_may_say_that_each_process_has_an_index_of_its_own() -> None:
    environment = {"MATCHWOOD_GPU_INDEX": "own"}
    assert device_of(None, {"gpu": ["0"]}, environment) == "gpu"
    assert environment["MATCHWOOD_GPU_INDEX"] == "own"


@pytest.mark.parametrize("asked", ["cpu", "gpu", "auto"])
def test_what_was_asked_for_comes_first(asked: str) -> None:
    assert device_of(asked, {"gpu": ["0"]}, {}) == asked
    assert device_of(asked, {}, {}) == asked


def test_the_environment_of_the_executor_comes_second() -> None:
    assert device_of(None, {"gpu": ["0"]}, {"MATCHWOOD_DEVICE": "cpu"}) is None


def test_other_tasks_use_their_core() -> None:
    environment: dict[str, str] = {}
    assert device_of(None, {}, environment) is None
    assert device_of(None, {"fpga": ["0"]}, environment) is None
    assert environment == {}
    assert task_device(None) is None  # no task at all
