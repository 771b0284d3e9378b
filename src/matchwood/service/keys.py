"""Keys and tickets: random secrets of which only hashes are kept, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

from matchwood.service.problems import Problem
from matchwood.service.settings import Key

NO_KEYS = Key("", "admin", "")  # who calls where no keys are configured


def new_secret(prefix: str) -> str:
    """A random secret of 192 bits, as text that says what it is.

    >>> new_secret("ticket")[:7], len(new_secret("ticket"))
    ('ticket_', 39)
    """
    return f"{prefix}_{secrets.token_urlsafe(24)}"


def hashed(secret: str) -> bytes:
    """The hash that is kept; such secrets are too long to be guessed, so a quick one will do."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def is_secret_of(secret: str, kept: bytes) -> bool:
    return hmac.compare_digest(hashed(secret), kept)


class Keys:
    """The keys of a service, and what each may do."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = [(bytes.fromhex(key.sha256), key) for key in keys]

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, secret: str | None) -> Key | None:
        """The key that a secret is; every key is compared, whichever it is."""
        if not self._keys:
            return NO_KEYS
        if secret is None:
            return None
        given = hashed(secret)
        found = None
        for kept, key in self._keys:
            if hmac.compare_digest(given, kept):
                found = key
        return found

    def require(self, secret: str | None, *roles: str) -> Key:
        """The key of a request, which must have one of the roles, or be an administrator's."""
        key = self.of(secret)
        if key is None:
            raise Problem("unauthenticated", "send a key as `Authorization: Bearer KEY`")
        if key.role != "admin" and key.role not in roles:
            needed = " or ".join(dict.fromkeys((*roles, "admin")))
            raise Problem("forbidden", f"this needs a key of role {needed}, found {key.role}")
        return key

    def is_admin(self, secret: str | None) -> bool:
        """Whether it is the key of an administrator: without keys, nobody's is."""
        key = self.of(secret)
        return bool(self._keys) and key is not None and key.role == "admin"
