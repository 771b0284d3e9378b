"""The publish/subscribe service: rules and subscriptions over HTTP, stored in a database.

`create_app` makes the HTTP application from `Settings`; `matchwood serve` runs it.

The way of an event:

    publisher ── POST /events ──▶ http ──▶ delivery.acceptance
                                                │ matched with rules.rule_index,
                                                ▼ stored by storage.writer
                                            database
                                                │ after the commit
                                                ▼
    subscriber ◀── stream, poll or webhook ── delivery.outbox
        └──────── acknowledges ──▶ delivery.cursors ──▶ database

Layers, from the top; a layer imports only those below it:

http/         routes, models, middleware, and the application
service       all parts put together, started and stopped
replica       a process that follows the rules of a service, and only matches
housekeeping  work that is repeated beside requests; matching_service: what both have in common
delivery/     the way of an event from its acceptance to its subscribers
rules/        rules, subscriptions and the event schema, in memory and in the database
storage/      the database, the lock on it, the threads that write and read
settings, problems, nesting, rates, keys, limits, loading, metrics, logs, times

`page/` has the static files of the page at `/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchwood.service.http.app import create_app
    from matchwood.service.settings import Settings

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> Any:
    """Import both when they are first used, since they import FastAPI."""
    if name == "create_app":
        from matchwood.service.http.app import create_app

        return create_app
    if name == "Settings":
        from matchwood.service.settings import Settings

        return Settings
    raise AttributeError(f"module 'matchwood.service' has no attribute {name!r}")
