"""The built-in calls, and what they take. Any other name is an operator that a user registers."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from functools import lru_cache

from matchwood.language.errors import RuleError
from matchwood.language.names import SPECIAL_CALLS, is_name, reserved
from matchwood.language.tree.arithmetic import Attribute, Variable
from matchwood.language.tree.subjects import Everything
from matchwood.language.values import Family, family_of

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Characters of the longest text whose address is cached.
_LONGEST_CACHED = 64

# Built-in calls whose second argument is a string.
TAKES_STRING = ("startswith", "endswith", "isa", "in_network")
BUILT_IN = (*TAKES_STRING, "contains")

# Built-in calls whose first argument may be `*`.
TAKES_EVERYTHING = ("contains", "startswith", "endswith")


def check_call(name: str, arguments: tuple[object, ...]) -> None:
    """Raise a RuleError for a name or arguments that a call cannot have."""
    if not is_name(name):
        raise RuleError(f"the name of an operator is letters, digits and _, found {name!r}")
    if reserved(name.lower()):
        raise RuleError(f"the name of an operator is not a keyword, found {name!r}")
    if name.lower() in SPECIAL_CALLS:
        raise RuleError(f"{name!r} has a meaning of its own in rules and is no name of an operator")
    if name not in BUILT_IN:
        if any(isinstance(a, Attribute) and isinstance(a.name, Everything) for a in arguments):
            raise RuleError(f"'*' is no argument of {name}: an operator takes attributes")
        return
    if len(arguments) != 2:
        raise RuleError(f"{name} takes 2 arguments, found {len(arguments)}")
    subject, other = arguments
    if isinstance(other, Attribute) and isinstance(other.name, Everything):
        raise RuleError(f"'*' is the first argument of {name}, not the second")
    everything = isinstance(subject, Attribute) and isinstance(subject.name, Everything)
    if everything and name not in TAKES_EVERYTHING:
        raise RuleError(f"'*' is no argument of {name}: use it with {', '.join(TAKES_EVERYTHING)}")
    if not isinstance(subject, Attribute):
        raise RuleError(f"the first argument of {name} is an attribute")
    if isinstance(other, Variable):
        raise RuleError(f"{name} binds no variables")
    if name == "contains":
        return
    if isinstance(other, Attribute) or family_of(other) is not Family.STRING:  # type: ignore[arg-type]
        raise RuleError(f"the second argument of {name} is a string in single quotes")
    if name == "in_network":
        network(str(other))


def check_operator(name: str, operators: Collection[str]) -> None:
    """Raise a RuleError for an operator that is not registered."""
    if name not in operators:
        known = ", ".join(sorted((*BUILT_IN, *operators)))
        raise RuleError(f"no operator is registered as {name!r}; there are {known}")


@lru_cache(maxsize=65536)
def network(text: str) -> Network:
    """The network that `in_network` names; a RuleError says what is wrong with its text.

    >>> network("10.0.0.0/8").num_addresses
    16777216
    """
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        try:
            meant = ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise RuleError(f"in_network takes a network like '10.0.0.0/8': {error}") from None
        raise RuleError(f"{text!r} has host bits set: write '{meant}' for the network") from None


def address(text: str) -> Address | None:
    """The IP address that a value spells; None if it is not one."""
    return _address(text) if len(text) <= _LONGEST_CACHED else _address.__wrapped__(text)


@lru_cache(maxsize=65536)
def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
