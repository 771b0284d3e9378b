"""Rules to a segment: texts or trees in, arrays out, in bulk."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.atoms import Atoms
from matchwood.index.program import Programs, operator_word
from matchwood.index.texts import LEFT, simple, split
from matchwood.language.errors import RuleError
from matchwood.language.text import parse
from matchwood.language.tokens import KEYWORDS
from matchwood.language.tree import Constant, Node
from matchwood.language.values import Family
from matchwood.language.variables import joined
from matchwood.operators.residue import is_costly, residue

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Progress = Callable[[int, int], None]


class Gathered(NamedTuple):
    """The programs of the accepted rules, over atoms, and the rules that were refused."""

    program: Ints
    start: Longs
    accepted: Longs  # which rules of those given
    refused: list[tuple[int, RuleError]]
    costly: dict[int, Node]  # rules that call operators, which the index does not decide


@contextmanager
def no_collection() -> Iterator[None]:
    """Bulk work makes millions of objects that all live on: looking for garbage is waste."""
    enabled = gc.isenabled()
    thread = threading.get_ident()
    if enabled:
        _without_collection.add(thread)
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            _without_collection.discard(thread)  # a fork in between enables it once more


_without_collection: set[int] = set()  # threads that will enable it again


def _collect_in_child() -> None:
    """A thread that a forked process does not have enables nothing there."""
    if _without_collection and threading.get_ident() not in _without_collection:
        gc.enable()
    _without_collection.intersection_update([threading.get_ident()])


os.register_at_fork(after_in_child=_collect_in_child)


def gather(rules: Sequence[object], atoms: Atoms, progress: Progress | None = None) -> Gathered:
    """Programs over `atoms`: texts through the compiled splitter, all else through the parser."""
    with no_collection():
        texts = [rule if isinstance(rule, str) else "" for rule in rules]
        encoded, offsets = _utf8(texts)
        words, ends, spans = split(encoded, offsets)
        literals = _literals(encoded, spans, atoms)
        return _assemble(rules, words, ends, literals, atoms, progress)


def _utf8(texts: list[str]) -> tuple[NDArray[np.uint8], Longs]:
    """All texts as one run of bytes; one that is not valid Unicode is empty, and left."""
    try:
        joined = [text.encode() for text in texts]
    except UnicodeEncodeError:
        joined = [text.encode(errors="ignore") if _valid(text) else b"" for text in texts]
    lengths = np.fromiter(map(len, joined), np.int64, len(joined))
    data = np.frombuffer(b"".join(joined), np.uint8)
    return data, np.r_[0, np.cumsum(lengths)]


def _valid(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _literals(data: NDArray[np.uint8], spans: Longs, atoms: Atoms) -> Ints:
    """The program word of each distinct predicate text; LEFT where the parser refuses it."""
    raw = data.tobytes()
    columns, bounds, values = simple(data, spans)
    words = np.empty(len(spans), np.int64)
    names: dict[bytes, str | None] = {}
    rows = zip(spans.tolist(), columns.tolist(), bounds.tolist(), strict=False)
    numbers = values.tolist()
    after = bounds[1:].tolist()
    ordered = atoms.ordered
    for i, ((low, high), (name_end, op, negated), first) in enumerate(rows):
        if op >= 0:
            key = raw[low:name_end]
            name = names.get(key, "")
            if name == "":
                name = names[key] = _plain_name(key.decode())
            if name is not None:
                atom = ordered(name, op, Family.NUMBER, tuple(numbers[first : after[i]]))
                words[i] = 2 * atom + negated
                continue
        words[i] = _parsed(raw[low:high], atoms)
    return words.astype(np.int32)


def _plain_name(name: str) -> str | None:
    return None if name.partition(".")[0].lower() in KEYWORDS else name


def _parsed(text: bytes, atoms: Atoms) -> int:
    try:
        node = parse(text.decode())
    except RuleError:
        return LEFT
    if node.operands or is_costly(node):
        return LEFT
    return _leaf(node, atoms)


def _leaf(node: Node, atoms: Atoms) -> int:
    if isinstance(node, Constant):
        from matchwood.index.program import FALSE, TRUE

        return operator_word(TRUE if node.value else FALSE, 0)
    return atoms.literal(node)


def _assemble(
    rules: Sequence[object],
    words: Ints,
    ends: Longs,
    literals: Ints,
    atoms: Atoms,
    progress: Progress | None,
) -> Gathered:
    """Split programs with their literals put in; the rules that were left, parsed one by one."""
    is_text = words >= 0
    words[is_text] = literals[words[is_text]]
    bad = np.flatnonzero(words == LEFT)
    left = np.unique(np.searchsorted(ends, bad, side="right") - 1)
    if not len(left):
        return Gathered(words, ends, np.arange(len(rules)), [], {})
    programs = Programs(atoms)
    refused: list[tuple[int, RuleError]] = []
    parsed: list[int] = []
    costly: dict[int, Node] = {}
    for done, rule in enumerate(left.tolist()):
        try:
            tree = parse(rules[rule])
            known = _without_calls(tree, rules[rule])
        except RuleError as error:
            refused.append((rule, error))
            continue
        parsed.append(rule)
        if known is not tree:
            costly[rule] = tree
        programs.add(known)
        if progress is not None and done % 10_000 == 0:
            progress(len(rules) - len(left) + done, len(rules))
    keep = np.ones(len(rules), bool)
    keep[left] = False
    lengths = np.diff(ends)
    kept_words = words[np.repeat(keep, lengths)]
    program = np.r_[kept_words, np.frombuffer(programs.words, np.int32)].astype(np.int32)
    start = np.r_[
        np.cumsum(np.r_[0, lengths[keep]]), np.array(programs.ends[1:], np.int64) + len(kept_words)
    ]
    return Gathered(
        program,
        start,
        np.r_[np.flatnonzero(keep), np.array(parsed, np.int64)].astype(np.int64),
        refused,
        costly,
    )


def _without_calls(tree: Node, given: object) -> Node:
    """What the index knows of a rule: of one that calls operators, when it is true without."""
    if not is_costly(tree):
        return tree
    joined(tree, given if isinstance(given, str) else None)  # refuses what variables may not do
    lower = residue(tree).lower
    return Constant(False) if lower is None else lower
