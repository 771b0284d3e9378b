"""Masks of 1,024 events: sixteen words in an array, processed as one vector.

If they were written as loops, or word by word, Numba would check every index for being negative,
which keeps LLVM from vectorising them. So each operation is given to LLVM directly: load, combine,
store. If kernels are not compiled, NumPy does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba.extending
import numpy as np

from matchwood.kernels.compiled import config

# 64-bit words of a mask.
WORDS = 16

# Events of a mask, one bit each.
EVENTS = 64 * WORDS

# Where a rule's matches are kept by themselves, as a run or a bitmap of words of 16 bits: events of
# a word of a bitmap, and words of a bitmap.
RUN_WORD_EVENTS = 16
RUN_WORDS = EVENTS // RUN_WORD_EVENTS

if config.DISABLE_JIT:

    def clear(masks: Any, at: int) -> None:
        """Make a mask empty."""
        masks[at : at + WORDS] = 0

    def _plain(combine: Callable[[Any, Any], Any], sources: int) -> Callable[..., bool]:
        def operation(masks: Any, at: int, source: Any, *places: int) -> bool:
            operand = source[places[0] : places[0] + WORDS].copy()
            if sources == 2:
                operand ^= source[places[1] : places[1] + WORDS]
            result = combine(masks[at : at + WORDS], operand)
            masks[at : at + WORDS] = result
            return bool(result.any())

        return operation

    copy = _plain(lambda mine, other: other, 1)
    add = _plain(lambda mine, other: mine | other, 1)
    remove = _plain(lambda mine, other: mine & ~other, 1)
    add_range = _plain(lambda mine, other: mine | other, 2)

    def _plain_reduction(ufunc: np.ufunc) -> Callable[..., int]:
        def reduction(masks: Any, at: int, rows: Any, first: int, count: int) -> int:
            operands = [masks[WORDS * int(row) :][:WORDS] for row in rows[first : first + count]]
            result = ufunc.reduce(operands)
            if result.any():
                masks[at : at + WORDS] = result
            return sum(1 << word for word in range(WORDS) if result[word])

        return reduction

    unite = _plain_reduction(np.bitwise_or)
    intersect = _plain_reduction(np.bitwise_and)

else:
    from llvmlite import ir
    from numba.core import cgutils, types

    _VECTOR = ir.VectorType(ir.IntType(64), WORDS)

    def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        """The address of array[at], as a pointer to a mask."""
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())

    def _load(builder: Any, pointer: Any) -> Any:
        mask = builder.load(pointer)
        mask.align = 8
        return mask

    def _operation(combine: Callable[[Any, Any, Any], Any], sources: int) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            target = _place(context, builder, kinds[0], arguments[0], arguments[1])
            operand = None
            for place in arguments[3:]:
                more = _load(builder, _place(context, builder, kinds[2], arguments[2], place))
                operand = more if operand is None else builder.xor(operand, more)
            result = combine(builder, target, operand)
            builder.store(result, target).align = 8
            some = builder.icmp_unsigned("!=", result, _VECTOR(None))
            flags = builder.bitcast(some, ir.IntType(WORDS))
            return builder.icmp_unsigned("!=", flags, ir.IntType(WORDS)(0))

        if sources == 1:

            def typed(typing_context: Any, masks: Any, at: Any, source: Any, place: Any) -> Any:
                return types.boolean(masks, types.int64, source, types.int64), generate

        else:

            def typed(  # type: ignore[misc]
                typing_context: Any, masks: Any, at: Any, source: Any, low: Any, high: Any
            ) -> Any:
                whole = (masks, types.int64, source, types.int64, types.int64)
                return types.boolean(*whole), generate

        return numba.extending.intrinsic(typed)

    @numba.extending.intrinsic
    def clear(typing_context: Any, masks: Any, at: Any) -> Any:
        """Make a mask empty."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target = _place(context, builder, signature.args[0], *arguments)
            builder.store(_VECTOR(None), target).align = 8
            return context.get_dummy_value()

        return types.void(masks, types.int64), generate

    def _copied(builder: Any, target: Any, operand: Any) -> Any:
        return operand

    def _added(builder: Any, target: Any, operand: Any) -> Any:
        return builder.or_(_load(builder, target), operand)

    def _removed(builder: Any, target: Any, operand: Any) -> Any:
        return builder.and_(_load(builder, target), builder.not_(operand))

    # operation(masks, at, source, place) returns whether the resulting mask has any event
    copy = _operation(_copied, 1)
    add = _operation(_added, 1)
    remove = _operation(_removed, 1)
    # operation(masks, at, source, low, high): the operand is the difference of two masks
    add_range = _operation(_added, 2)

    def _reduction(neutral: int, combine: Callable[[Any, Any, Any], Any]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            masks, at, rows, first, count = arguments
            numbers = context.make_array(kinds[2])(context, builder, rows).data
            kept = cgutils.alloca_once(builder, _VECTOR)  # type: ignore[no-untyped-call]
            builder.store(_VECTOR([neutral] * WORDS), kept)
            with cgutils.for_range(builder, count) as loop:
                row = builder.load(builder.gep(numbers, [builder.add(first, loop.index)]))
                place = builder.mul(builder.sext(row, ir.IntType(64)), ir.IntType(64)(WORDS))
                operand = _load(builder, _place(context, builder, kinds[0], masks, place))
                builder.store(combine(builder, builder.load(kept), operand), kept)
            result = builder.load(kept)
            some = builder.icmp_unsigned("!=", result, _VECTOR(None))
            flags = builder.zext(builder.bitcast(some, ir.IntType(WORDS)), ir.IntType(64))
            with builder.if_then(builder.icmp_unsigned("!=", flags, ir.IntType(64)(0))):
                target = _place(context, builder, kinds[0], masks, at)
                builder.store(result, target).align = 8
            return flags

        def typed(
            typing_context: Any, masks: Any, at: Any, rows: Any, first: Any, count: Any
        ) -> Any:
            whole = (masks, types.int64, rows, types.int64, types.int64)
            return types.int64(*whole), generate

        return numba.extending.intrinsic(typed)

    # reduction(masks, at, rows, first, count) combines the masks of the rows[first:first + count],
    # row r being masks[WORDS * r:], into masks[at:], unless the result is empty. Returns a bit for
    # each word of the result that is not 0.
    unite = _reduction(0, lambda builder, mine, other: builder.or_(mine, other))
    intersect = _reduction(-1, lambda builder, mine, other: builder.and_(mine, other))
