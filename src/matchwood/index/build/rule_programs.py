"""The programs of many rules, given as texts or trees, over one table of atoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.gc_pause import collection_paused
from matchwood.index.build.integer_predicate_kernels import read_integer_predicates
from matchwood.index.build.program import Programs, constant_word
from matchwood.index.build.text_kernels import LEFT
from matchwood.index.build.texts import split
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import pack_literal
from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.language.joins import joined
from matchwood.language.names import KEYWORDS
from matchwood.language.tree import Constant, Node
from matchwood.language.values import Family
from matchwood.operators.residue import is_costly, residue

Progress = Callable[[int, int], None]


class GatheredPrograms(NamedTuple):
    """The programs of the accepted rules, over atoms, and the rules that were refused."""

    program: Int32Array  # the words of all programs
    start: Int64Array  # bounds of each program
    accepted: Int64Array  # positions of the accepted rules among those given
    refused: list[tuple[int, RuleError]]  # positions of the others, and why
    costly: dict[int, Node]  # rules that call operators, which the index alone cannot decide


def gather(
    rules: Sequence[object], atoms: AtomTable, progress: Progress | None = None
) -> GatheredPrograms:
    """The programs of rules; texts go through the compiled splitter, others through the parser."""
    with collection_paused():
        texts = [rule if isinstance(rule, str) else "" for rule in rules]
        encoded, offsets = _utf8(texts)
        words, ends, spans = split(encoded, offsets)
        literals = _literals(encoded, spans, atoms)
        return _assemble(rules, words, ends, literals, atoms, progress)


def _utf8(texts: list[str]) -> tuple[NDArray[np.uint8], Int64Array]:
    """All texts as one run of bytes; one that is not valid Unicode is empty, so that it is left to
    the parser."""
    try:
        joined = [text.encode() for text in texts]
    except UnicodeEncodeError:
        joined = [text.encode(errors="ignore") if _valid(text) else b"" for text in texts]
    lengths = np.fromiter(map(len, joined), np.int64, len(joined))
    data = np.frombuffer(b"".join(joined), np.uint8)
    return data, np.r_[0, np.cumsum(lengths)]


def _valid(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _literals(data: NDArray[np.uint8], spans: Int64Array, atoms: AtomTable) -> Int32Array:
    """The program word of each distinct predicate text; LEFT where the parser refuses it."""
    raw = data.tobytes()
    columns, bounds, values = read_integer_predicates(data, spans)
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
                words[i] = pack_literal(atom, negated)
                continue
        words[i] = _parsed(raw[low:high], atoms)
    return words.astype(np.int32)


def _plain_name(name: str) -> str | None:
    return None if name.partition(".")[0].lower() in KEYWORDS else name


def _parsed(text: bytes, atoms: AtomTable) -> int:
    try:
        node = parse(text.decode())
    except RuleError:
        return LEFT
    if node.operands or is_costly(node):
        return LEFT
    return _leaf(node, atoms)


def _leaf(node: Node, atoms: AtomTable) -> int:
    if isinstance(node, Constant):
        return constant_word(node)
    return atoms.literal(node)


def _assemble(
    rules: Sequence[object],
    words: Int32Array,
    ends: Int64Array,
    literals: Int32Array,
    atoms: AtomTable,
    progress: Progress | None,
) -> GatheredPrograms:
    """Put literals into the split programs, and parse the rules that were left one by one."""
    is_text = words >= 0
    words[is_text] = literals[words[is_text]]
    bad = np.flatnonzero(words == LEFT)
    left = np.unique(np.searchsorted(ends, bad, side="right") - 1)
    if not len(left):
        return GatheredPrograms(words, ends, np.arange(len(rules)), [], {})
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
    return GatheredPrograms(
        program,
        start,
        np.r_[np.flatnonzero(keep), np.array(parsed, np.int64)].astype(np.int64),
        refused,
        costly,
    )


def _without_calls(tree: Node, rule: object) -> Node:
    """What the index decides of a rule: for one that calls operators, when it is true without."""
    if not is_costly(tree):
        return tree
    joined(tree, rule if isinstance(rule, str) else None)  # refuses misuse of variables
    lower = residue(tree).lower
    return Constant(False) if lower is None else lower
