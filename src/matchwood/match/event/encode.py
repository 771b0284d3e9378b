"""Events to codes: what a segment's rules can tell apart, as small integers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from matchwood.index.build.slots import Slot, reading
from matchwood.kernels.records import MISSING, OTHER, code_of_list
from matchwood.language.aliases import Aliases
from matchwood.language.events import ElementEvent, Event
from matchwood.language.seen import Seen
from matchwood.language.subjects import lower_case, lowered_values
from matchwood.language.tree.subjects import IT, Lowered
from matchwood.language.values import Family, Value, exact, is_text
from matchwood.match.event.spelled_names import SpelledNames

# What patterns are matched against: a string, a list of strings, or a list of any values.
Strings = str | tuple[str, ...] | tuple[Value, ...]

# Characters of the longest string whose code is remembered.
_SHORT = 64

# Floats, and strings, whose codes an attribute remembers.
_KEPT = 4096


class Coder:
    """The codes of one attribute: of its main slot, and of its second one if it has one.

    The second slot is for strings that are read as times or as network addresses.
    """

    __slots__ = (
        "doubles", "exact", "first", "floats", "lowered", "readings", "slot", "sorted", "time",
        "time_slot",
    )  # fmt: skip

    lowers = False  # whether it sees strings in lower case

    def __init__(self) -> None:
        self.slot = -1
        self.doubles: Any = None  # made by `batch.column_codes` when first needed
        self.time_slot = -1
        self.floats: dict[float, int] = {}  # codes of recent floats
        self.readings: dict[str, int] = {}  # codes of recent strings in the second slot
        self.time: Slot | None = None
        self.exact: dict[Family, dict[Any, int]] = {}
        self.sorted: dict[Family, list[Any]] = {}
        self.first: dict[Family, int] = {}
        self.lowered: LoweredCoder | None = None  # of `lower(a)`, on the coder of `a`

    def add(self, number: int, slot: Slot) -> None:
        """Add the slot with this number."""
        if slot.time:
            self.time_slot, self.time = number, slot
            return
        self.slot = number
        for family, constants in slot.constants.items():
            first = slot.first[family]
            self.first[family] = first
            self.sorted[family] = constants
            codes = range(first + 1, first + 1 + 2 * len(constants), 2)
            self.exact[family] = dict(zip(constants, codes, strict=True))

    def code(self, family: Family | None, value: Any) -> int:
        """The code in the main slot of a value that is there."""
        known = self.exact.get(family)  # type: ignore[arg-type]
        if known is None:
            return OTHER
        code = known.get(value)
        if code is not None:
            return code
        return self.first[family] + 2 * bisect_left(self.sorted[family], value)  # type: ignore[index]

    def time_code(self, family: Family | None, value: Any) -> int:
        """The code in the second slot; MISSING for what is neither a time nor an address."""
        if family is Family.STRING and len(value) <= _SHORT:
            code = self.readings.get(value)
            if code is None:
                if len(self.readings) >= _KEPT:
                    self.readings.clear()
                code = self.readings[value] = self._read(family, value)
            return code
        return self._read(family, value)

    def _read(self, family: Family | None, value: Any) -> int:
        assert self.time is not None
        time_value = reading(family, value)
        if time_value is None:
            return MISSING
        code = self.time.code(*time_value)
        return MISSING if code == OTHER else code


class LoweredCoder(Coder):
    """The codes of `lower(a)`: those of strings in lower case; other values have no family."""

    __slots__ = ()

    lowers = True

    def code(self, family: Family | None, value: Any) -> int:
        return super().code(family, lower_case(value)) if family is Family.STRING else OTHER

    def time_code(self, family: Family | None, value: Any) -> int:
        return super().time_code(family, lower_case(value)) if family is Family.STRING else MISSING


def coders(slots: list[Slot]) -> dict[str, Coder]:
    """The coders of a segment by attribute; that of `lower(a)` is `lowered` of that of `a`."""
    by_attribute: dict[str, Coder] = {}
    for number, slot in enumerate(slots):
        subject = slot.attribute
        if isinstance(subject, Lowered):
            base = by_attribute.setdefault(subject.base, Coder())
            base.lowered = base.lowered or LoweredCoder()
            base.lowered.add(number, slot)
        else:
            by_attribute.setdefault(subject, Coder()).add(number, slot)
    return by_attribute


class EncodedEvent:
    """The codes of one event: slots, their codes, and the codes of list values."""

    __slots__ = ("codes", "hits", "list_codes", "list_start", "slots", "strings")

    def __init__(self) -> None:
        self.slots: list[int] = []
        self.codes: list[int] = []
        self.list_start = [0]
        self.list_codes: list[int] = []
        self.strings: list[tuple[str, Strings]] = []
        self.hits: list[int] = []  # opaque atoms that are true, beside those of `strings`

    def put(self, slot: int, code: int) -> None:
        """Add the code of a single value."""
        if slot >= 0 and code != MISSING:
            self.slots.append(slot)
            self.codes.append(code)

    def put_list(self, slot: int, codes: list[int]) -> None:
        """Add the codes of the values of a list."""
        if slot >= 0:
            self.slots.append(slot)
            self.codes.append(code_of_list(len(self.list_start) - 1))
            self.list_codes.extend(codes)
            self.list_start.append(len(self.list_codes))


class AllValues(Protocol):
    """What encodes `*`, the list of all values of an event."""

    def put(self, encoded: EncodedEvent, event: Mapping[str, object] | Event) -> None:
        """Add the list to an encoded event; an event that is no `Event` is flat."""


class Encoding(NamedTuple):
    """How the attributes of events become codes of a segment."""

    coders: dict[str, Coder]  # by attribute
    patterned: set[str]  # attributes that patterns are matched against
    aliases: Aliases | None = None
    spelled: SpelledNames | None = None  # if there are aliases
    everything: AllValues | None = None  # if rules ask for `*`


def encode(
    event: Mapping[str, object] | Event, encoding: Encoding
) -> tuple[EncodedEvent, Event | None]:
    """The codes of an event, and the event itself if it had to be read."""
    by_name, patterned, aliases, spelled, everything = encoding
    encoded = EncodedEvent()
    if type(event) is dict:
        try:
            flat = event if spelled is None else spelled.renamed(event)
        except TypeError:
            flat = None
        if flat is not None and _flat(flat, by_name, patterned, encoded):
            if everything is not None:
                everything.put(encoded, event)
            return encoded, None
    seen = event if isinstance(event, Event) else Event(event, aliases)
    encoded = EncodedEvent()
    if everything is not None:
        everything.put(encoded, seen)
    for name in _attributes(seen, spelled):
        coder = by_name.get(name)
        if coder is None:
            continue
        value = seen[name]
        _put(encoded, name, coder, value, patterned)
        if coder.lowered is not None:
            _put(encoded, Lowered(name), coder.lowered, lowered_values(value), patterned)
    return encoded, seen


def _put(encoded: EncodedEvent, name: str, coder: Coder, value: Seen, patterned: set[str]) -> None:
    if isinstance(value, Value):
        put_single(encoded, coder, value)
        if name in patterned and value.family is Family.STRING:
            encoded.strings.append((name, str(value.value)))
    else:
        put_list(encoded, coder, value)
        if name in patterned:
            encoded.strings.append((name, value))


def _attributes(seen: Event, spelled: SpelledNames | None) -> Iterable[str]:
    """The attributes of an event that rules may ask for."""
    if isinstance(seen, ElementEvent):
        return (*seen.raw, IT)
    if spelled is None:
        return seen.raw
    return dict.fromkeys(name for given in seen.raw for name in spelled.attributes_of(given))


# The families as globals: looking one up in the enum costs more, and `_flat` runs for every event.
_STRING, _NUMBER, _BOOLEAN = Family.STRING, Family.NUMBER, Family.BOOLEAN


def _flat(
    event: dict[str, object], by_name: dict[str, Coder], patterned: set[str], into: EncodedEvent
) -> bool:
    """Encode an event of plain values and lists of strings; False if it holds anything else."""
    slots, codes = into.slots, into.codes
    for name, value in event.items():
        coder = by_name.get(name)
        kind = type(value)
        if coder is None:
            # An attribute that no rule names is not read, but it must be valid and have no parts.
            if kind not in _PLAIN and not (kind is list and _strings(value)):
                return False
            if type(name) is not str or not (name.isascii() or is_text(name)):
                return False
            continue
        if coder.lowered is not None and not _flat_lowered(
            Lowered(name), value, coder.lowered, patterned, into
        ):
            return False
        if kind is str:
            text: str = value  # type: ignore[assignment]
            if not text.isascii() and not is_text(text):
                return False
            code = coder.code(_STRING, text)
            if name in patterned:
                into.strings.append((name, text))
            if coder.time_slot >= 0:
                into.put(coder.time_slot, coder.time_code(_STRING, text))
        elif kind is int:
            code = coder.code(_NUMBER, value)
        elif kind is bool:
            code = coder.code(_BOOLEAN, value)
        elif kind is float:
            if value != value:
                continue
            code = _float_code(coder, value)  # type: ignore[arg-type]
        elif value is None:
            continue
        elif kind is list and coder.time_slot < 0 and _strings(value):
            texts: list[str] = value  # type: ignore[assignment]
            into.put_list(coder.slot, [coder.code(_STRING, text) for text in texts])
            if name in patterned:
                into.strings.append((name, tuple(texts)))
            continue
        else:
            return False
        if coder.slot >= 0:
            slots.append(coder.slot)
            codes.append(code)
    return True


_PLAIN = frozenset((str, int, bool, float, type(None)))


def _flat_lowered(
    name: Lowered, value: object, coder: Coder, patterned: set[str], into: EncodedEvent
) -> bool:
    """Encode a plain value, or a list of strings, in lower case; False if it is anything else."""
    kind = type(value)
    if value is None or value != value:
        return True
    if kind is list and coder.time_slot < 0 and _strings(value):
        texts = tuple(map(lower_case, value))  # type: ignore[call-overload]
        into.put_list(coder.slot, [coder.code(_STRING, text) for text in texts])
        if name in patterned:
            into.strings.append((name, texts))
        return True
    if kind is not str:
        into.put(coder.slot, OTHER)
        return kind in _PLAIN
    text = lower_case(value)  # type: ignore[arg-type]
    into.put(coder.slot, coder.code(_STRING, text))
    if coder.time_slot >= 0:
        into.put(coder.time_slot, coder.time_code(_STRING, text))
    if name in patterned:
        into.strings.append((name, text))
    return True


def _strings(values: Any) -> bool:
    """Whether a list holds only valid strings."""
    return all(type(v) is str and (v.isascii() or is_text(v)) for v in values)


def _float_code(coder: Coder, value: float) -> int:
    code = coder.floats.get(value)
    if code is None:
        if len(coder.floats) >= _KEPT:
            coder.floats.clear()
        code = coder.floats[value] = coder.code(_NUMBER, exact(value))
    return code


def put_single(encoded: EncodedEvent, coder: Coder, value: Value) -> None:
    """Add a single value."""
    if value == (None, None):
        return
    encoded.put(coder.slot, coder.code(value.family, value.value))
    if coder.time_slot >= 0:
        encoded.put(coder.time_slot, coder.time_code(value.family, value.value))


def put_list(encoded: EncodedEvent, coder: Coder, values: tuple[Value, ...]) -> None:
    """Add a list; an element that is null or of an unknown type is there, but has no family."""
    if coder.slot >= 0:
        encoded.put_list(coder.slot, [coder.code(v.family, v.value) for v in values])
    if coder.time_slot >= 0:
        codes = [coder.time_code(v.family, v.value) for v in values]
        encoded.put_list(coder.time_slot, [code for code in codes if code != MISSING])
