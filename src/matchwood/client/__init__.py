"""Clients of the service: `Client`, and `AsyncClient` for asyncio.

They have the names of the library, and raise its errors. They need httpx:
pip install 'matchwood[client]'.

    Client.match(event) ── service_calls.match ──▶ ServiceCall ── httpx ──▶ service
           ids ◀── service_calls.ids_of ◀── answer, or an exception of service_error

service_lists  lists with names, for both clients
synchronous    `Client`, its rules and its subscriptions
asynchronous   the same, awaited
service_calls  what each method sends, and how its answer is read; for both clients
answer_types   the values that methods return
event_stream   server-sent events, and how a stream that ended is resumed
readiness      waiting until a service is ready
service_error  refusals of the service as exceptions
"""

try:
    import httpx as _httpx
except ImportError as error:  # pragma: no cover
    raise ImportError("matchwood.client needs httpx: pip install 'matchwood[client]'") from error

from matchwood.client.answer_types import Accepted, Delivered, Rule, StoredList, Ticket
from matchwood.client.asynchronous import AsyncClient, AsyncServiceRules, AsyncSubscription
from matchwood.client.service_error import ServiceError
from matchwood.client.service_lists import AsyncServiceLists, ServiceLists
from matchwood.client.synchronous import Client, ServiceRules, Subscription

__all__ = [
    "Accepted",
    "AsyncClient",
    "AsyncServiceLists",
    "AsyncServiceRules",
    "AsyncSubscription",
    "Client",
    "Delivered",
    "Rule",
    "ServiceError",
    "ServiceLists",
    "ServiceRules",
    "StoredList",
    "Subscription",
    "Ticket",
]
del _httpx
