"""API keys and tickets: random secrets, stored as hashes only and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Key

# The caller's key where no keys are configured: everybody may do everything.
NO_KEYS = Key("", "admin", "")


def new_secret(prefix: str) -> str:
    """A random secret of 192 bits, as text whose prefix says what it is for.

    >>> new_secret("ticket")[:7], len(new_secret("ticket"))
    ('ticket_', 39)
    """
    return f"{prefix}_{secrets.token_urlsafe(24)}"


def hashed(secret: str) -> bytes:
    """The hash that is stored. The secrets are too long to guess, so a fast hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def matches_hash(secret: str, stored: bytes) -> bool:
    return hmac.compare_digest(hashed(secret), stored)


class Keys:
    """The configured keys, and what each permits."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = [(bytes.fromhex(key.sha256), key) for key in keys]

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, secret: str | None) -> Key | None:
        """The key with this secret; all keys are compared, so that timing reveals nothing."""
        if not self._keys:
            return NO_KEYS
        if secret is None:
            return None
        sent_hash = hashed(secret)
        matching = None
        for stored, key in self._keys:
            if hmac.compare_digest(sent_hash, stored):
                matching = key
        return matching

    def require(self, secret: str | None, *roles: str) -> Key:
        """The key of a request, whose role must be one of `roles` or admin."""
        key = self.of(secret)
        if key is None:
            raise RequestProblem("unauthenticated", "send a key as `Authorization: Bearer KEY`")
        if key.role != "admin" and key.role not in roles:
            needed = " or ".join(dict.fromkeys((*roles, "admin")))
            detail = f"this requires a key of role {needed}, found {key.role}"
            raise RequestProblem("forbidden", detail)
        return key

    def is_admin(self, secret: str | None) -> bool:
        """Whether the secret is an administrator's key; if no keys are configured, none is."""
        key = self.of(secret)
        return bool(self._keys) and key is not None and key.role == "admin"
