"""The publish/subscribe service: rules and subscriptions over HTTP, kept in a database.

`create_app` makes the HTTP application of some `Settings`; `matchwood serve` runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matchwood.service.app import create_app
    from matchwood.service.settings import Settings

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> Any:
    """Both are imported when they are first used: they bring FastAPI."""
    if name == "create_app":
        from matchwood.service.app import create_app

        return create_app
    if name == "Settings":
        from matchwood.service.settings import Settings

        return Settings
    raise AttributeError(f"module 'matchwood.service' has no attribute {name!r}")
