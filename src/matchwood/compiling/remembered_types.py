"""Less work for Numba where it works out the same thing again, in a process that only compiles.

Half of the time that compiling takes is spent in Numba's own Python code. Three answers are
remembered here: the signature of a function for given types, which is asked about ten times for
each that differs; whether two sets of flags are equal; and the size of a type of LLVM.

This uses insides of Numba. It changes nothing if they are not as expected.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import targetconfig, types
from numba.core.compiler import Flags
from numba.core.typing import templates

# Without types.
_function: Any = types.BaseFunction
_flags: Any = targetconfig.TargetConfig
_stack: Any = targetconfig.ConfigStack
_overload: Any = getattr(templates, "_OverloadFunctionTemplate", None)
_type: Any = ir.Type

# The flags that a function which does not set them takes over from the one that calls it; see
# `CPUTargetOptions.finalize` of Numba. Only these make the same function another one.
_INHERITED = ("nrt", "fastmath", "error_model", "forceinline")


def remember_types() -> bool:
    """Remember what Numba works out from now on; whether that is possible."""
    known = (
        hasattr(_function, "get_call_type")
        and hasattr(_overload, "_get_impl")
        and hasattr(_overload, "_build_impl")
        and hasattr(_type, "get_abi_size")
        and all(name in Flags.options for name in _INHERITED)
    )
    if known:
        _compare_flags_by_values()
        _remember_signatures()
        _remember_implementations()
        _remember_sizes()
    return known


def _inherited() -> tuple[str, ...]:
    """The flags of the function that is being compiled, as far as other functions inherit them."""
    flags = _stack.top_or_none()
    return () if flags is None else tuple(str(getattr(flags, name)) for name in _INHERITED)


def _compare_flags_by_values() -> None:
    """Compare flags without asking for each default, which Numba does at every call it resolves."""

    def chosen(flags: Any) -> dict[str, Any]:
        options = flags.options
        return {n: value for n, value in flags._values.items() if value != options[n].default}

    def equal(flags: Any, other: Any) -> Any:
        if not isinstance(other, _flags):
            return NotImplemented
        if flags._values == other._values:
            return flags.options.keys() == other.options.keys()
        return flags.options.keys() == other.options.keys() and chosen(flags) == chosen(other)

    _flags.__eq__ = equal
    _flags.__hash__ = lambda flags: len(flags.options)  # Numba's is that of their names alone


def _remember_signatures() -> None:
    """Remember the signature that each function has for given types."""
    resolve = _function.get_call_type
    remembered: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, arguments: Any, named: Any) -> Any:
        key = id(function), context, tuple(arguments), tuple(named.items()), _inherited()
        known = remembered.get(key)
        if known is None:
            signature = resolve(function, context, arguments, named)
            # The function is kept, so that no other one gets its identity.
            remembered[key] = function, signature, function._impl_keys[signature.args]
            return signature
        _, signature, implementation = known
        function._impl_keys[signature.args] = implementation
        return signature

    _function.get_call_type = get_call_type


def _remember_implementations() -> None:
    """Compile a function once for all callers whose inherited flags are the same."""

    def get_implementation(template: Any, arguments: Any, named: Any) -> Any:
        key = template.context, tuple(arguments), tuple(named.items()), _inherited()
        known = template._impl_cache.get(key)
        return template._build_impl(key, arguments, named) if known is None else known

    _overload._get_impl = get_implementation


def _remember_sizes() -> None:
    """Remember the size of each type, for which LLVM parses a module that declares it."""
    measure = _type.get_abi_size
    remembered: dict[tuple[str, int], Any] = {}

    def get_abi_size(kind: Any, target_data: Any, context: Any = None) -> Any:
        key = str(kind), id(target_data)  # of which there is one in a process
        if "%" in key[0]:  # a type of a name, which modules define
            return measure(kind, target_data, context=context)
        if key not in remembered:
            remembered[key] = measure(kind, target_data, context=context)
        return remembered[key]

    _type.get_abi_size = get_abi_size
