"""`AsyncClient` offers what `Client` does: the same methods, parameters and results."""

import inspect
import re

import pytest

from matchwood.client.asynchronous import AsyncClient, AsyncServiceRules, AsyncSubscription
from matchwood.client.service_lists import AsyncServiceLists, ServiceLists
from matchwood.client.synchronous import Client, ServiceRules, Subscription

# The methods that stand for `rules[id]`, `lists[name]` and `len(rules)`, which cannot be awaited.
INSTEAD_OF_SYNTAX = {"get", "count"}

PAIRS = [
    (Client, AsyncClient, set()),
    (ServiceRules, AsyncServiceRules, INSTEAD_OF_SYNTAX),
    (Subscription, AsyncSubscription, set()),
    (ServiceLists, AsyncServiceLists, {*INSTEAD_OF_SYNTAX, "remove"}),
]


@pytest.mark.parametrize(("waiting", "awaited", "more"), PAIRS)
def test_the_methods_are_the_same(waiting: type, awaited: type, more: set[str]) -> None:
    assert methods(awaited).keys() == methods(waiting).keys() | more


@pytest.mark.parametrize(("waiting", "awaited", "more"), PAIRS)
def test_parameters_and_results_are_the_same(waiting: type, awaited: type, more: set[str]) -> None:
    for name, method in methods(waiting).items():
        other = getattr(awaited, name)
        assert signature(other) == signature(method), name
        assert inspect.isasyncgenfunction(other) == inspect.isgeneratorfunction(method), name


def test_the_clients_are_made_in_the_same_way() -> None:
    assert signature(AsyncClient) == signature(Client)


def methods(kind: type) -> dict[str, object]:
    return {
        name: value
        for name, value in vars(kind).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def signature(method) -> str:
    """The signature with the names of the classes that wait."""
    return re.sub(r"\bAsync(?=[A-Z])", "", str(inspect.signature(method)))
