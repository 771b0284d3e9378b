"""A client of the service, with the names of the library: `Client`, and `AsyncClient`.

It needs httpx: pip install 'matchwood[client]'.
"""

try:
    import httpx as _httpx
except ImportError as error:  # pragma: no cover
    raise ImportError("matchwood.client needs httpx: pip install 'matchwood[client]'") from error

from matchwood.client.answers import Accepted, Delivered, Rule, Ticket
from matchwood.client.asynchronous import AsyncClient, AsyncRules, AsyncSubscription
from matchwood.client.errors import ServiceError
from matchwood.client.synchronous import Client, Rules, Subscription

__all__ = [
    "Accepted",
    "AsyncClient",
    "AsyncRules",
    "AsyncSubscription",
    "Client",
    "Delivered",
    "Rule",
    "Rules",
    "ServiceError",
    "Subscription",
    "Ticket",
]
del _httpx
