"""The programs of many rules, given as texts or trees, over one table of atoms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.gc_pause import collection_paused
from matchwood.index.build.index_form import index_form
from matchwood.index.build.integer_predicate_kernels import (
    NAME_END,
    NAME_HASH,
    NEGATED,
    PREDICATE,
    read_integer_predicates,
)
from matchwood.index.build.predicate_text_kernels import (
    TEXT_HASH,
    TEXT_START,
)
from matchwood.index.build.predicate_text_kernels import (
    replace_numbers as put_literals,
)
from matchwood.index.build.program import Programs, constant_word
from matchwood.index.build.slots import pack_axis
from matchwood.index.build.text_kernels import LEFT
from matchwood.index.build.texts import merged_texts, split, utf8_of
from matchwood.kernels.array_types import Int32Array, Int64Array, UInt8Array
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
    rules: Sequence[object],
    atoms: AtomTable,
    progress: Progress | None = None,
    threads: int = 1,
) -> GatheredPrograms:
    """The programs of rules; texts go through the compiled splitter, others through the parser."""
    with collection_paused():
        encoded, offsets = utf8_of(rules)
        words, ends, texts = split(encoded, offsets, threads)
        put_literals(words, _literals(encoded, texts, atoms))
        return _assemble(rules, words, ends, atoms, progress)


def gather_trees(trees: Iterable[Node], atoms: AtomTable) -> GatheredPrograms:
    """The programs of trees that were checked as parts of rules, and call no operators."""
    programs = Programs(atoms)
    for tree in trees:
        programs.add(index_form(tree))
    words, ends = np.array(programs.words, np.int32), np.array(programs.ends, np.int64)
    return GatheredPrograms(words, ends, np.arange(len(ends) - 1), [], {})


def _literals(data: UInt8Array, texts: Int64Array, atoms: AtomTable) -> Int32Array:
    """The program word of each distinct predicate text; LEFT where the parser refuses it."""
    columns, bounds, values = read_integer_predicates(data, texts)
    is_read = columns[:, PREDICATE] >= 0
    axis = np.full(len(texts), -1, np.int64)
    axis[is_read] = _axes(data, texts[is_read], columns[is_read], atoms)
    numbers = atoms.integers(axis, np.ascontiguousarray(columns[:, PREDICATE]), bounds, values)
    words: Int64Array = pack_literal(numbers, columns[:, NEGATED])
    for i in np.flatnonzero(axis < 0).tolist():
        low, high = texts[i, :TEXT_HASH].tolist()
        words[i] = _parsed(data[low:high].tobytes(), atoms)
    return words.astype(np.int32)


def _axes(data: UInt8Array, texts: Int64Array, columns: Int64Array, atoms: AtomTable) -> Int64Array:
    """The axis of each predicate over integers; -1 if its name is none to the parser."""
    names = np.stack([texts[:, TEXT_START], columns[:, NAME_END], columns[:, NAME_HASH]], 1)
    distinct, (number,) = merged_texts(data, [names])
    axes = np.full(len(distinct), -1, np.int64)
    for i, (low, high, _) in enumerate(distinct.tolist()):
        name = data[low:high].tobytes().decode()
        if name.partition(".")[0].lower() not in KEYWORDS:
            axes[i] = pack_axis(atoms.slot(name), Family.NUMBER)
    return axes[number]


def _parsed(text: bytes, atoms: AtomTable) -> int:
    try:
        node = parse(text.decode())
    except RuleError:
        return LEFT
    if node.operands or is_costly(node) or index_form(node) is not node:
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
    atoms: AtomTable,
    progress: Progress | None,
) -> GatheredPrograms:
    """Parse the rules that were left one by one, and add their programs to those of the others."""
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
        programs.add(index_form(known))
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
