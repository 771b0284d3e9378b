"""Less work for Numba where nobody asks for what it works out, in a process that only compiles.

- After most passes, Numba works out which variables are alive in which block of a function. Only
  generators and Python objects need it, of which kernels have none.
- Where each variable is used for the last time is worked out to count references, which kernels
  that make no array leave out.
- Which variables an instruction uses is found out by looking at the class of each of its fields.
- Each call of LLVM and each wait for the compiler's lock is an event that listeners may time.
- Each message is coloured, where colorama is installed, also those of attempts to find a function.
- Whether other modules have declared functions in the meantime is looked up at each call.

This uses insides of Numba. It changes nothing if they are not as expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import base, errors, event, imputils, ir, postproc, targetconfig, transforms
from numba.core.registry import cpu_target
from numba.core.typing import templates

# Without types.
_processor: Any = postproc.PostProcessor
_lifetime: Any = postproc.VariableLifetime
_canonical: Any = transforms.canonicalize_cfg
_instruction: Any = ir.Inst
_events: Any = event
_context: Any = base.BaseContext
_stack: Any = targetconfig.ConfigStack
_errors: Any = errors
_registries: tuple[Any, Any] = imputils.builtin_registry, templates.builtin_registry

# Events that are triggered for each lock that is taken.
_LOCKS = ("numba:llvm_lock", "numba:compiler_lock")


def skip_analysis() -> bool:
    """Leave these things out from now on; whether that is possible."""
    known = (
        hasattr(_processor, "run")
        and hasattr(_processor, "_insert_var_dels")
        and hasattr(_instruction, "_rec_list_vars")
        and hasattr(_events, "start_event")
        and hasattr(_events, "end_event")
        and hasattr(_context, "refresh")
        and hasattr(_stack, "top_or_none")
        and hasattr(_errors, "termcolor")
        and all(hasattr(registry, "functions") for registry in _registries)
        and hasattr(cpu_target.target_context, "_registries")
        and hasattr(cpu_target.typing_context, "_registries")
    )
    if known:
        _leave_lifetimes()
        _find_variables_by_class()
        _time_no_locks()
        _errors.termcolor = _Uncoloured
        _refresh_after_changes()
    return known


def _leave_lifetimes() -> None:
    """Work out where variables are alive when somebody asks."""
    run = _processor.run

    def run_lazily(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = processor.func_ir
        if function.is_generator:
            run(processor, emit_dels, extend_lifetimes)
            return
        function.blocks = _canonical(function.blocks)
        function.variable_lifetime = _lifetime(function.blocks)
        function.generator_info = None
        if emit_dels and _counts_references():
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    _processor.run = run_lazily


def _counts_references() -> bool:
    flags = _stack.top_or_none()
    return flags is None or bool(flags.nrt)


class _Uncoloured:
    """What gives back each message as it is."""

    def __getattr__(self, name: str) -> Callable[[str], str]:
        return str


def _find_variables_by_class() -> None:
    """Look at the class of a field only once for each class that there is."""
    actions: dict[type, Callable[[Any, list[Any]], None] | None] = {}

    def collect(values: Any, found: list[Any]) -> None:
        for value in values:
            kind = type(value)
            if kind not in actions:
                actions[kind] = action_of(kind)
            action = actions[kind]
            if action is not None:
                action(value, found)

    def action_of(kind: type) -> Callable[[Any, list[Any]], None] | None:
        if issubclass(kind, ir.Var):
            return lambda value, found: found.append(value)
        if issubclass(kind, ir.Inst):
            return lambda value, found: found.extend(value.list_vars())
        if issubclass(kind, (list, tuple)):
            return collect
        if issubclass(kind, dict):
            return lambda value, found: collect(value.values(), found)
        return None

    def list_variables(instruction: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        collect((value,), found)
        return found

    _instruction._rec_list_vars = list_variables


def _time_no_locks() -> None:
    """Trigger no events for locks: this process has one thread."""
    for name in ("start_event", "end_event"):
        setattr(_events, name, _without_locks(getattr(_events, name)))


def _without_locks(trigger: Callable[..., None]) -> Callable[..., None]:
    def trigger_others(kind: str, *details: Any, **named: Any) -> None:
        if kind not in _LOCKS:
            trigger(kind, *details, **named)

    return trigger_others


def _refresh_after_changes() -> None:
    """Look for new declarations only if there are more of them than before.

    A function may be declared in any registry of a context: Numba puts intrinsics into the first
    one. Contexts that are copies of each other, with other flags, share what they have found.
    """
    refresh = _context.refresh
    seen: dict[int, int] = {}

    def declared(context: Any) -> int:
        registries = {*_registries, *context._registries, *context.typing_context._registries}
        return sum(
            len(items)
            for registry in registries
            for items in vars(registry).values()
            if isinstance(items, list)
        )

    def refresh_if_changed(context: Any) -> None:
        found, now = id(context._registries), declared(context)
        if seen.get(found) != now:
            refresh(context)
            seen[found] = now

    _context.refresh = refresh_if_changed
