"""Single words of bits: what processors have instructions for, and what does the same without them.

Three instructions matter to a sweep: `pdep`, which spreads the bits of a word over the set bits of
another, and `vpcompressb` and `vpcompressd`, which pack the chosen ones of 64 bytes and of sixteen
integers. Kernels are compiled for the processor that Numba names, and use an instruction if that
processor has it, and has it as a fast one. Numba's own settings (NUMBA_CPU_NAME,
NUMBA_CPU_FEATURES) choose another processor.
"""

from __future__ import annotations

from typing import Any

import numba.extending
import numpy as np

from matchwood.kernels.compiled import config, inlined, trailing_zeros
from matchwood.kernels.masks import WORDS

# Integers that are written at once. A buffer needs this much room after the last one written.
LANES = 16

# Processors on which `pdep` is a loop of microcode that takes longer than `_spread` does.
_SLOW_DEPOSIT = ("bdver4", "znver1", "znver2")

# Set bits of a word whose numbers are written at a time, whether there are as many or not. With
# four, masks of few events take a sixth less time, and those of many a sixth more.
_AT_A_TIME = 6

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inlined
def _spread(word: Any, mask: Any) -> Any:
    """What `pdep` does: bit i of a word goes to the place of the i-th set bit of the mask."""
    result = _ZERO
    while mask:
        rest = mask & (mask - _ONE)
        if word & _ONE:
            result |= mask ^ rest
        word >>= _ONE
        mask = rest
    return result


@inlined
def _write_each(masks: Any, at: int, out: Any, found: int) -> int:
    """What `vpcompressb` does: the numbers of the set bits of a mask go to out[found:].

    Several of a word are written at a time, even of a word without any, because how many there are
    cannot be foreseen.
    """
    for word in range(WORDS):
        bits = read(masks, at + word)
        end = found + count_ones(bits)
        while True:
            for i in range(_AT_A_TIME):
                write(out, found + i, 64 * word + lowest(bits))
                bits &= bits - _ONE
            found += _AT_A_TIME
            if found >= end:
                break
        found = end
    return found


if config.DISABLE_JIT:

    def has_deposit() -> bool:
        """Whether `pdep` is used."""
        return False

    def has_compress() -> bool:
        """Whether `vpcompressd` is used."""
        return False

    def has_byte_compress() -> bool:
        """Whether `vpcompressb` is used."""
        return True

    def count_ones(word: Any) -> int:
        """How many bits of a word are set."""
        return int(word).bit_count()

    def lowest(word: Any) -> int:
        """The place of the lowest set bit of a word; 64 if there is none."""
        return trailing_zeros(word) if word else 64

    def fill(out: Any, begin: int, end: int, value: int) -> None:
        """Write a value to out[begin:end]."""
        out[begin:end] = value

    def _deposit(word: Any, mask: Any) -> Any:
        return _spread(word, mask)

    def _compress(masks: Any, at: int, out: Any, found: int) -> Any:
        places = np.flatnonzero(
            np.unpackbits(masks[at : at + WORDS].view(np.uint8), bitorder="little")
        )
        out[found : found + len(places)] = places
        return found + len(places)

    _compress_bytes = _compress

    def read(array: Any, at: int) -> Any:
        """The element array[at]."""
        return array[at]

    def write(array: Any, at: int, value: Any) -> None:
        """Write an integer to array[at]."""
        array[at] = value

    def load_word(words: Any, at: int) -> Any:
        """The word words[at]."""
        return words[at]

    def store_word(words: Any, at: int, word: Any) -> None:
        """Write a word to words[at]."""
        words[at] = word

else:
    from llvmlite import ir
    from numba.core import cgutils, types

    _BITS = 64
    _WORD = ir.IntType(_BITS)
    _INTEGERS = ir.VectorType(ir.IntType(32), LANES)
    _CHOICE = ir.VectorType(ir.IntType(1), LANES)
    _BYTES = ir.VectorType(ir.IntType(8), _BITS)
    _BYTE_CHOICE = ir.VectorType(ir.IntType(1), _BITS)
    _INT = ir.IntType(32)

    def _features(context: Any) -> set[str]:
        """What the processor that is compiled for has."""
        return set(context.codegen()._tm_features.split(","))

    def _has_deposit(context: Any) -> bool:
        slow = context.codegen()._get_host_cpu_name() in _SLOW_DEPOSIT
        return "+bmi2" in _features(context) and not slow

    def _has_compress(context: Any) -> bool:
        return "+avx512f" in _features(context)

    def _has_byte_compress(context: Any) -> bool:
        return "+avx512vbmi2" in _features(context)

    def _constant(ask: Any) -> Any:
        @numba.extending.intrinsic
        def constant(typing_context: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return ir.IntType(1)(ask(context))

            return types.boolean(), generate

        return constant

    has_deposit = _constant(_has_deposit)
    has_compress = _constant(_has_compress)
    has_byte_compress = _constant(_has_byte_compress)

    @numba.extending.intrinsic
    def count_ones(typing_context: Any, word: Any) -> Any:
        """How many bits of a word are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @numba.extending.intrinsic
    def lowest(typing_context: Any, word: Any) -> Any:
        """The place of the lowest set bit of a word; 64 if there is none."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.IntType(1)(0))

        return types.int64(types.uint64), generate

    @numba.extending.intrinsic
    def _deposit(typing_context: Any, word: Any, mask: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if not _has_deposit(context):
                return _WORD(0)  # in a branch that is never taken
            kind = ir.FunctionType(_WORD, [_WORD, _WORD])
            function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, kind, "llvm.x86.bmi.pdep.64"
            )
            return builder.call(function, arguments)

        return types.uint64(types.uint64, types.uint64), generate

    def _word_at(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        return builder.gep(context.make_array(kind)(context, builder, array).data, [at])

    @numba.extending.intrinsic
    def read(typing_context: Any, array: Any, at: Any) -> Any:
        """The element array[at], where `at` is not below zero, which Numba would check."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_word_at(context, builder, signature.args[0], *arguments))

        return array.dtype(array, types.int64), generate

    @numba.extending.intrinsic
    def write(typing_context: Any, array: Any, at: Any, value: Any) -> Any:
        """Write an integer, of which the low bits count, to array[at]; `at` is not below zero."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, at, value = arguments
            place = _word_at(context, builder, signature.args[0], array, at)
            if value.type.width > place.type.pointee.width:
                value = builder.trunc(value, place.type.pointee)
            builder.store(value, place)
            return context.get_dummy_value()

        return types.void(array, types.int64, value), generate

    @numba.extending.intrinsic
    def load_word(typing_context: Any, words: Any, at: Any) -> Any:
        """The word words[at], loaded by itself and never as part of a vector.

        LLVM would join loads and stores of neighbouring words. A vector of words that were written
        one by one just before cannot be loaded until all of them have left the store buffer.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _word_at(context, builder, signature.args[0], *arguments)
            return builder.load_atomic(place, "monotonic", 8)

        return types.uint64(words, types.int64), generate

    @numba.extending.intrinsic
    def store_word(typing_context: Any, words: Any, at: Any, word: Any) -> Any:
        """Write a word to words[at], by itself, as `load_word` does."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _word_at(context, builder, signature.args[0], *arguments[:2])
            builder.store_atomic(arguments[2], place, "monotonic", 8)
            return context.get_dummy_value()

        return types.void(words, types.int64, types.uint64), generate

    def _lanes(builder: Any, number: Any) -> Any:
        """A vector with the same integer in every lane."""
        one = builder.insert_element(_INTEGERS(ir.Undefined), number, ir.IntType(32)(0))
        zeros = ir.VectorType(ir.IntType(32), LANES)(None)
        return builder.shuffle_vector(one, _INTEGERS(ir.Undefined), zeros)

    def _store(builder: Any, data: Any, at: Any, vector: Any) -> None:
        place = builder.bitcast(builder.gep(data, [at]), _INTEGERS.as_pointer())
        builder.store(vector, place).align = 4

    @numba.extending.intrinsic
    def fill(typing_context: Any, out: Any, begin: Any, end: Any, value: Any) -> Any:
        """Write a value to out[begin:end], and anything to the `LANES` integers after them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, begin, end, value = arguments
            data = context.make_array(signature.args[0])(context, builder, array).data
            vector = _lanes(builder, value)
            step = _WORD(LANES)
            with cgutils.for_range_slice(builder, begin, end, step, intp=_WORD) as (at, _):
                _store(builder, data, at, vector)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.int64, types.int32), generate

    def _packing(builder: Any, name: str, kind: Any, choice: Any) -> Any:
        """The instruction that packs the chosen lanes of a vector."""
        function = ir.FunctionType(kind, [kind, kind, choice])
        return cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, function, f"llvm.x86.avx512.mask.compress.{name}"
        )

    @numba.extending.intrinsic
    def _compress(typing_context: Any, masks: Any, at: Any, out: Any, found: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            masks, at, out, found = arguments
            if not _has_compress(context):
                return found  # in a branch that is never taken
            words = context.make_array(signature.args[0])(context, builder, masks).data
            data = context.make_array(signature.args[2])(context, builder, out).data
            pack = _packing(builder, "v16i32", _INTEGERS, _CHOICE)
            end = cgutils.alloca_once_value(builder, found)  # type: ignore[no-untyped-call]
            with cgutils.for_range(builder, _WORD(WORDS)) as loop:
                bits = builder.load(builder.gep(words, [builder.add(at, loop.index)]))
                with builder.if_then(builder.icmp_unsigned("!=", bits, _WORD(0))):
                    first = builder.shl(builder.trunc(loop.index, ir.IntType(32)), _INT(6))
                    for lane in range(0, _BITS, LANES):
                        numbers = _INTEGERS([lane + i for i in range(LANES)])
                        numbers = builder.add(numbers, _lanes(builder, first))
                        some = builder.trunc(builder.lshr(bits, _WORD(lane)), ir.IntType(LANES))
                        chosen = builder.bitcast(some, _CHOICE)
                        packed = builder.call(pack, [numbers, _INTEGERS(None), chosen])
                        here = builder.load(end)
                        _store(builder, data, here, packed)
                        count = builder.zext(builder.ctpop(some), _WORD)
                        builder.store(builder.add(here, count), end)
            return builder.load(end)

        return types.int64(masks, types.int64, out, types.int64), generate

    @numba.extending.intrinsic
    def _compress_bytes(typing_context: Any, masks: Any, at: Any, out: Any, found: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            masks, at, out, found = arguments
            if not _has_byte_compress(context):
                return found  # in a branch that is never taken
            words = context.make_array(signature.args[0])(context, builder, masks).data
            data = context.make_array(signature.args[2])(context, builder, out).data
            pack = _packing(builder, "v64i8", _BYTES, _BYTE_CHOICE)
            end = cgutils.alloca_once_value(builder, found)  # type: ignore[no-untyped-call]
            for word in range(WORDS):
                bits = builder.load(builder.gep(words, [builder.add(at, _WORD(word))]))
                chosen = builder.bitcast(bits, _BYTE_CHOICE)
                packed = builder.call(pack, [_BYTES(list(range(_BITS))), _BYTES(None), chosen])
                here, count = builder.load(end), builder.ctpop(bits)
                _widen(builder, packed, 0, _BITS * word, data, here)
                is_more = builder.icmp_unsigned(">", count, _WORD(LANES))
                with builder.if_then(is_more, likely=False):
                    for lane in range(LANES, _BITS, LANES):
                        with builder.if_then(builder.icmp_unsigned(">", count, _WORD(lane))):
                            _widen(builder, packed, lane, _BITS * word, data, here)
                builder.store(builder.add(here, count), end)
            return builder.load(end)

        return types.int64(masks, types.int64, out, types.int64), generate

    def _widen(builder: Any, packed: Any, lane: int, first: int, data: Any, at: Any) -> None:
        """Write the bytes from `lane` on, plus `first`, as integers to data[at + lane:]."""
        lanes = ir.VectorType(ir.IntType(32), LANES)([lane + i for i in range(LANES)])
        part = builder.shuffle_vector(packed, _BYTES(ir.Undefined), lanes)
        numbers = builder.add(builder.zext(part, _INTEGERS), _INTEGERS([first] * LANES))
        _store(builder, data, builder.add(at, _WORD(lane)), numbers)


@inlined
def deposit(word: Any, mask: Any) -> Any:
    """Bit i of a word goes to the place of the i-th set bit of the mask."""
    if has_deposit():
        return _deposit(word, mask)
    return _spread(word, mask)


@inlined
def write_places(masks: Any, at: int, out: Any, found: int) -> Any:
    """Write the numbers of the set bits of a mask to out[found:]; returns where they end.

    Anything may be written to the `LANES` integers after them.
    """
    if has_byte_compress():
        return _compress_bytes(masks, at, out, found)
    if has_compress():
        return _compress(masks, at, out, found)
    return _write_each(masks, at, out, found)
