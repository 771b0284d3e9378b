"""Parts to a file and back: arrays as they are, constants as JSON, texts and ids packed.

A file is verified before it is used: checksums, and everything that kernels use as an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import islice
from operator import lt
from typing import Any, overload

import numpy as np

from matchwood.index.build.arrange import Arranged
from matchwood.index.build.packed_atoms import PackedAtoms
from matchwood.index.build.segment import Segment
from matchwood.index.build.slots import Slot
from matchwood.index.file.array_file import (
    FileArrays,
    IndexFileError,
    Name,
    pack_strings,
    read,
    unpack_string,
    unpack_strings,
    write,
)
from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.text.parser import MAX_TEXT, parse_canonical
from matchwood.language.tree import Node
from matchwood.language.tree.subjects import EVERYTHING, Lowered
from matchwood.language.values import Family, Literal, Time
from matchwood.match.batch.sweep.whole_program import STORED, WholeProgram, program_from
from matchwood.match.parts.context import Context
from matchwood.match.parts.part import Part
from matchwood.match.parts.rule_columns import RuleColumns

# What the header of a file says that it holds.
FILE_KIND = "matchwood rules"

# The version of the rule language that the texts are in.
LANGUAGE = 1


class PackedStrings(Sequence[str]):
    """Strings of a file, unpacked as they are read; the first access verifies their checksums."""

    def __init__(self, arrays: FileArrays, name: str) -> None:
        self._arrays = arrays
        self._name = name

    def _parts(self) -> tuple[Any, Any]:
        offsets, data = f"{self._name}.offsets", f"{self._name}.data"
        return self._arrays.verify(offsets), self._arrays.verify(data)

    def __len__(self) -> int:
        return len(self._arrays[f"{self._name}.offsets"]) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return self.all()[index]
        return unpack_string(*self._parts(), range(len(self))[index])

    def all(self) -> list[str]:
        """All strings, unpacked."""
        return unpack_strings(*self._parts())


def save(path: Name, parts: Sequence[Part]) -> None:
    """Write all parts into one file."""
    arrays: dict[str, Any] = {}
    described = []
    for number, part in enumerate(parts):
        for name, array in _named(part.segment).items():
            arrays[f"{number}.{name}"] = array
        for name, array in part.program.stored().items():
            arrays[f"{number}.sweep.{name}"] = array
        described.append(_describe(part, f"{number}", arrays))
    write(path, {"kind": FILE_KIND, "language": LANGUAGE, "parts": described}, arrays)


def _named(segment: Segment) -> dict[str, Any]:
    tree = {f"tree.{name}": array for name, array in segment.tree._asdict().items()}
    return tree | {f"atoms.{name}": array for name, array in segment.packed._asdict().items()}


def _describe(part: Part, prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    details = part.details
    texts = [rule if isinstance(rule, str) else str(parse(rule)) for rule in details.rules]
    numbers = details.ids.dtype == np.int64
    packed = {"rules": texts}
    if numbers:
        arrays[f"{prefix}.ids"] = details.ids
    else:
        packed["ids"] = [str(rule_id) for rule_id in details.ids.tolist()]
    if details.data is not None:
        packed["data"] = details.data_at(np.arange(len(details)))
    for name, strings in packed.items():
        offsets, data = pack_strings(strings)
        arrays[f"{prefix}.{name}.offsets"], arrays[f"{prefix}.{name}.data"] = offsets, data
    if details.priority is not None:
        arrays[f"{prefix}.priority"] = details.priority
    if len(part.alive):
        arrays[f"{prefix}.alive"] = part.alive
    if len(part.segment.costly):
        arrays[f"{prefix}.costly"] = part.segment.costly
    integers = not numbers and any(isinstance(rule_id, int) for rule_id in details.ids[:1])
    return {
        "rules": part.segment.rules,
        "slots": [_slot_to_json(slot) for slot in part.segment.slots],
        "opaque": [str(node) for node in part.segment.opaque],
        "tags": {str(ordinal): sorted(tags) for ordinal, tags in details.tags.items()},
        "integers": bool(integers),
        "operators": list(part.segment.operators),
    }


def load(path: Name, context: Context, verify: bool = True) -> list[Part]:
    """The parts of a file; raises IndexFileError if it cannot be used.

    Without `verify` the file is trusted.
    """
    meta, arrays = read(path, verify=False)
    if not verify:
        return _parts(path, meta, arrays, context, verify)
    with ThreadPoolExecutor(1) as beside:  # kernels release the GIL
        verified = beside.submit(arrays.verify_all)
        try:
            return _parts(path, meta, arrays, context, verify)
        finally:
            verified.result()  # damage is reported before anything else that is wrong


def _parts(
    path: Name, meta: Mapping[str, Any], arrays: FileArrays, context: Context, verify: bool
) -> list[Part]:
    if meta.get("kind") != FILE_KIND:
        raise IndexFileError("holds no rules", path)
    if meta.get("language", 0) > LANGUAGE:
        raise IndexFileError("was made by a newer matchwood: its rule language is newer", path)
    try:
        return [
            _part(described, f"{number}", arrays, context, verify)
            for number, described in enumerate(meta["parts"])
        ]
    except IndexFileError as error:
        raise IndexFileError(error.problem, path) from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuleError) as error:
        raise IndexFileError(f"is not as matchwood writes files: {error}", path) from error


def _predicate(text: str) -> Node:
    """What is evaluated on demand; rewritten, its text may be longer than that of a rule."""
    return parse(text) if len(text) <= MAX_TEXT // 4 else parse_canonical(text)


def _part(
    described: Mapping[str, Any], prefix: str, arrays: FileArrays, context: Context, verify: bool
) -> Part:
    slots = [_slot_from_json(slot) for slot in described["slots"]]
    tree = Arranged(*(arrays[f"{prefix}.tree.{name}"] for name in Arranged._fields))
    atoms = PackedAtoms(*(arrays[f"{prefix}.atoms.{name}"] for name in PackedAtoms._fields))
    opaque = [_predicate(text) for text in described["opaque"]]
    rules = int(described["rules"])
    costly = np.array(arrays.get(f"{prefix}.costly", []), np.int32)
    if len(costly) and not (costly[0] >= 0 and costly[-1] < rules and (np.diff(costly) > 0).all()):
        raise IndexFileError("names rules with calls that it does not have")
    names = [str(name) for name in described.get("operators", ())]
    segment = Segment(slots, atoms, opaque, tree, rules, costly, names)
    with ThreadPoolExecutor(1) as beside:
        swept = beside.submit(_program, segment, f"{prefix}.sweep.", arrays, verify)
        if verify:
            from matchwood.index.file.validate import validate

            validate(tree, atoms, segment.codes, rules, len(opaque))
    texts = PackedStrings(arrays, f"{prefix}.rules")
    ids: Any = arrays.get(f"{prefix}.ids")
    if ids is None:
        ids = PackedStrings(arrays, f"{prefix}.ids")
    priority = arrays.get(f"{prefix}.priority")
    tags = {int(ordinal): frozenset(tags) for ordinal, tags in described["tags"].items()}
    data = None
    if f"{prefix}.data.offsets" in arrays:
        data = PackedStrings(arrays, f"{prefix}.data")
    counts = {"rules": len(texts), "ids": len(ids), "data": rules if data is None else len(data)}
    for name, count in counts.items():
        if count != rules:
            raise IndexFileError(f"has {count} {name} for {rules} rules")
    if isinstance(ids, np.ndarray) and (ids.dtype != np.int64 or ids.ndim != 1):
        raise IndexFileError("has ids that are no integers")
    if priority is not None and (priority.dtype != np.float64 or priority.shape != (rules,)):
        raise IndexFileError(f"has priorities that are not those of {rules} rules")
    if not all(0 <= ordinal < rules for ordinal in tags):
        raise IndexFileError("has tags of rules that it does not have")
    columns = RuleColumns(ids, texts, tags, priority, bool(described["integers"]), data)
    alive = arrays.get(f"{prefix}.alive")
    alive = np.empty(0, np.uint8) if alive is None else np.array(alive, np.uint8)
    if len(alive) not in (0, rules):
        raise IndexFileError(f"says of {len(alive)} rules whether they are there, of {rules}")
    return Part(segment, columns, context, alive=alive, program=swept.result())


def _program(
    segment: Segment, prefix: str, arrays: Mapping[str, Any], verify: bool
) -> WholeProgram:
    """The program of a sweep; files of earlier versions have none."""
    if f"{prefix}runs" not in arrays:
        return WholeProgram(segment)
    stored = {name: arrays[prefix + name] for name in STORED}
    return WholeProgram(segment, program_from(stored, segment, verify))


def _slot_to_json(slot: Slot) -> dict[str, Any]:
    constants = {
        str(family): [_constant_to_json(value) for value in values]
        for family, values in slot.constants.items()
    }
    described = {"attribute": slot.attribute, "time": slot.time, "constants": constants}
    if isinstance(slot.attribute, Lowered):
        described |= {"attribute": slot.attribute.base, "lower": True}
    return described | ({"all": True} if slot.attribute == EVERYTHING else {})


def _constant_to_json(value: Literal) -> Any:
    if isinstance(value, Time):
        return value.ns
    return {"decimal": str(value)} if isinstance(value, Decimal) else value


def _slot_from_json(slot: Mapping[str, Any]) -> Slot:
    name = str(slot["attribute"])
    subject = Lowered(name) if slot.get("lower") else EVERYTHING if slot.get("all") else name
    made = Slot(subject, bool(slot["time"]))
    for name, values in slot["constants"].items():
        constants = _constants_from_json(Family(name), values)
        if not all(map(lt, constants, islice(constants, 1, None))):
            raise IndexFileError(f"has constants of {made.attribute!r} out of order")
        made.constants[Family(name)] = constants
    made.seal()
    return made


def _constants_from_json(family: Family, values: list[Any]) -> list[Any]:
    """Constants as they were saved; nearly all are of one plain type, and need no conversion."""
    kinds = set(map(type, values))
    if family is Family.NUMBER and kinds <= {int, dict}:
        decimals = dict in kinds
        return [_number_from_json(value) for value in values] if decimals else values
    wanted = {Family.STRING: str, Family.BOOLEAN: bool, Family.TIME: int}.get(family)
    if wanted is None or not kinds <= {wanted}:
        raise IndexFileError("has a constant of the wrong family")
    return [Time(value) for value in values] if family is Family.TIME else values


def _number_from_json(value: Any) -> int | Decimal:
    if isinstance(value, int):
        return value
    number = Decimal(value["decimal"])
    if not number.is_finite():
        raise IndexFileError("has a constant that is not finite")
    return number
