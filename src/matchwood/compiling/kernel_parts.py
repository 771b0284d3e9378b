"""Less work for functions that are only parts of kernels, in a process that only compiles.

A kernel calls some tens of functions, which Numba compiles one by one: it optimises each as a
module of its own, and makes machine code of it, before the code is copied into the caller and
optimised again there. Without that, compiling takes two thirds of the time. Only the outermost
function of each compilation then has machine code, so nothing compiled in such a process may be
called: it writes kernels to disk, and other processes load them.

This uses insides of Numba. It changes nothing if they are not as expected.
"""

from __future__ import annotations

import gc
from typing import Any

from numba.core import codegen, event, lowering

_library: Any = codegen.JITCodeLibrary
_generator: Any = codegen.JITCPUCodegen
_lower: Any = lowering.Lower

# What is replaced: names of methods, by class.
_REPLACED = {
    _library: ("get_pointer_to_function", "_finalize_final_module", "_optimize_final_module"),
    _generator: ("set_env", "_module_pass_manager"),
    _lower: ("create_cpython_wrapper", "create_cfunc_wrapper"),
}


class _Depth(event.Listener):
    """How many compilations are going on, one inside the other."""

    def __init__(self) -> None:
        self.now = 0

    def on_start(self, event: Any) -> None:
        self.now += 1

    def on_end(self, event: Any) -> None:
        self.now -= 1


def leave_out_parts() -> bool:
    """Make machine code only of kernels from now on; whether that is possible."""
    known = all(hasattr(owner, name) for owner, names in _REPLACED.items() for name in names)
    if not known or not hasattr(_library, "_finalize_dynamic_globals"):
        return False
    depth = _Depth()
    event.register("numba:compile", depth)  # type: ignore[no-untyped-call]
    get_pointer, finalize, optimise, set_env, create_wrapper = (
        _library.get_pointer_to_function,
        _library._finalize_final_module,
        _library._optimize_final_module,
        _generator.set_env,
        _lower.create_cpython_wrapper,
    )

    def get_pointer_to_function(library: Any, name: str) -> Any:
        if depth.now > 1:  # of a part: nobody calls it
            library._ensure_finalized()
            return 0
        library.is_kernel = True
        return get_pointer(library, name)

    def finalize_final_module(library: Any) -> None:
        if hasattr(library, "is_kernel"):
            return finalize(library)  # type: ignore[no-any-return]
        library._finalize_dynamic_globals()
        library._finalized = True

    def optimize_final_module(library: Any) -> None:
        if hasattr(library, "is_kernel"):
            return optimise(library)  # type: ignore[no-any-return]
        # As Numba begins for every module: only what has to be inlined is.
        made = library._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        # Newer versions of Numba make a builder of passes, too.
        passes, *builder = made if isinstance(made, tuple) else (made,)
        passes.run(library._final_module, *builder)

    def create_cpython_wrapper(lower: Any, *arguments: Any, **named: Any) -> None:
        if depth.now <= 1:  # Python calls nothing but kernels
            create_wrapper(lower, *arguments, **named)

    def set_environment(generator: Any, name: str, environment: Any) -> None:
        # A part that was a kernel on disk already has no code in this process.
        if depth.now <= 1 and generator._engine.get_global_value_address(name):
            set_env(generator, name, environment)

    _library.get_pointer_to_function = get_pointer_to_function
    _library._finalize_final_module = finalize_final_module
    _library._optimize_final_module = optimize_final_module
    _generator.set_env = set_environment
    _lower.create_cpython_wrapper = create_cpython_wrapper
    _lower.create_cfunc_wrapper = lambda lower: None  # nobody calls kernels from C
    gc.disable()  # the compiler makes millions of objects, and this process ends soon
    return True
