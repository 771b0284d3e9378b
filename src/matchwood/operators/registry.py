"""`@operator`, which makes a function an operator that rules call by name, and registries."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from matchwood.language.bindings import Answer, AnswerError, rows_of
from matchwood.language.events import Event
from matchwood.language.names import KEYWORDS, SPECIAL_WORDS, is_name
from matchwood.language.tree import Call
from matchwood.language.tree.arithmetic import Variable
from matchwood.language.tree.calls import BUILT_IN
from matchwood.operators.call_execution import Overdue, TimedThreads, run_directly, run_together

# Seconds that a call is assumed to take until it has been measured.
ASSUMED_SECONDS = 1e-3
Function = Callable[..., Any]


class CallFailure(Exception):
    """A call without an answer: `kind` is "exception", "timeout" or "answer"."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason

    @classmethod
    def of(cls, error: BaseException) -> CallFailure:
        if isinstance(error, CallFailure):
            return error
        if isinstance(error, Overdue | TimeoutError):
            return cls("timeout", str(error) or "it exceeded its time limit")
        if isinstance(error, AnswerError):
            return cls("answer", str(error))
        return cls("exception", f"{type(error).__name__}: {error}"[:500])


class Operator:
    """A function that rules call by name; calling the operator calls that function."""

    def __init__(
        self,
        name: str,
        function: Function | None,
        *,
        cost: float = ASSUMED_SECONDS,
        timeout: float | None = None,
        binds: Sequence[str] = (),
        columns: Function | None = None,
        takes_event: bool = True,
        check: Callable[[Call], None] | None = None,
    ) -> None:
        if not is_name(name) or name.lower() in KEYWORDS:
            raise ValueError(
                f"the name of an operator consists of letters, digits and _, found {name!r}"
            )
        if name in BUILT_IN or name.lower() in SPECIAL_WORDS:
            raise ValueError(f"{name} is built into the language: choose another name")
        if not cost >= 0 or (timeout is not None and not timeout > 0):
            raise ValueError("cost and timeout are seconds, cost 0 or more and timeout over 0")
        self.name = name
        self.function = function
        self.columns = columns
        self.cost = cost
        self.timeout = timeout
        self.binds = (binds,) if isinstance(binds, str) else tuple(binds)
        self.check = check  # refuses, with a RuleError, calls that could never be answered
        self._takes_event = takes_event
        self._takes_variables = function is not None and _has_variables(function)
        self.asynchronous = inspect.iscoroutinefunction(function)
        self._watched = TimedThreads()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        function = self.function or self.columns
        assert function is not None
        return function(*arguments, **named)

    def batch(self, function: Function) -> Function:
        """Add a batch form: it takes one Arrow column per argument and returns a column."""
        self.columns = function
        return function

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> Any:
        inner = self.function or self.columns
        module, name = getattr(inner, "__module__", ""), getattr(inner, "__qualname__", "")
        if getattr(importlib.import_module(module), name, None) is self:
            return _named, (module, name)
        settings = (self.cost, self.timeout, self.binds, self.columns, self._takes_event)
        return _made, (self.name, self.function, *settings)

    # Answers

    def answer(self, call: Call, values: Sequence[object], seen: Event) -> Answer:
        """The rows of one call, or None (undefined) if it fails."""
        try:
            return self.ask(call, values, seen)
        except CallFailure:
            return None

    def ask(self, call: Call, values: Sequence[object], seen: Event) -> Answer:
        """The rows of one call; raises `CallFailure` if it fails."""
        if self.function is None:
            return _good(self.ask_columns([call], [values])[0])
        try:
            if self.asynchronous:
                [result] = run_together([lambda: self._call(call, values, seen)], self.timeout)
                if isinstance(result, BaseException):
                    raise result
            else:
                result = self._run(lambda: self._call(call, values, seen))
            return rows_of(result, call, self.binds)
        except Exception as error:
            raise CallFailure.of(error) from error

    def ask_many(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]], seen: Sequence[Event]
    ) -> list[Answer | CallFailure]:
        """The rows of many calls, answered together if the operator has a batch form."""
        if self.columns is not None and len({len(row) for row in values}) == 1:
            return self.ask_columns(calls, values)
        if not self.asynchronous:
            asked = zip(calls, values, seen, strict=True)
            return [self._ask_softly(*question) for question in asked]
        started = [
            (lambda question=question: self._call(*question))
            for question in zip(calls, values, seen, strict=True)
        ]
        answers: list[Answer | CallFailure] = []
        for call, result in zip(calls, run_together(started, self.timeout), strict=True):
            answers.append(self._read(result, call))
        return answers

    def ask_columns(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]]
    ) -> list[Answer | CallFailure]:
        """The rows of calls through the batch form, one column per type of value."""
        from matchwood.arrow.making import by_types

        groups = by_types(values)
        if len(groups) == 1:
            return self._ask_group(calls, values)
        answers: dict[int, Answer | CallFailure] = {}
        for rows in groups:
            group = self._ask_group([calls[row] for row in rows], [values[row] for row in rows])
            answers.update(zip(rows, group, strict=True))
        return [answers[row] for row in range(len(calls))]

    def _ask_group(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]]
    ) -> list[Answer | CallFailure]:
        from matchwood.arrow.making import array_of

        columns = self.columns
        assert columns is not None
        try:
            arguments = [array_of(column) for column in zip(*values, strict=True)]
            result = self._run(lambda: columns(*arguments))
            rows = result.to_pylist() if hasattr(result, "to_pylist") else list(result)
            if len(rows) != len(calls):
                raise AnswerError(
                    f"{self.name} answered with a column of {len(rows)} for {len(calls)} calls"
                )
        except Exception as error:
            if len(calls) == 1 or isinstance(error, Overdue):
                return [CallFailure.of(error)] * len(calls)
            alone = zip(calls, values, strict=True)  # one bad event must not spoil the others
            return [self._ask_group([call], [row])[0] for call, row in alone]
        return [self._read(row, call) for row, call in zip(rows, calls, strict=True)]

    def _run(self, function: Callable[[], Any]) -> Any:
        if self.timeout is None:
            return run_directly(function)
        return self._watched.run(function, self.timeout)

    def _call(self, call: Call, values: Sequence[object], seen: Event) -> Any:
        function = self.function
        assert function is not None
        arguments = (seen.raw, *values) if self._takes_event else values
        if not self._takes_variables:
            return function(*arguments)
        variables = [i for i, a in enumerate(call.arguments) if isinstance(a, Variable)]
        return function(*arguments, variables=tuple(variables))

    def _ask_softly(
        self, call: Call, values: Sequence[object], seen: Event
    ) -> Answer | CallFailure:
        try:
            return self.ask(call, values, seen)
        except CallFailure as failure:
            return failure

    def _read(self, result: Any, call: Call) -> Answer | CallFailure:
        if isinstance(result, BaseException):
            return CallFailure.of(result)
        try:
            return rows_of(result, call, self.binds)
        except Exception as error:
            return CallFailure.of(error)


def _good(answer: Answer | CallFailure) -> Answer:
    if isinstance(answer, CallFailure):
        raise answer
    return answer


def _has_variables(function: Function) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get("variables")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY


def _named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _made(
    name: str,
    function: Function | None,
    cost: float,
    timeout: float | None,
    binds: Sequence[str],
    columns: Function | None,
    takes_event: bool,
) -> Operator:
    return Operator(
        name,
        function,
        cost=cost,
        timeout=timeout,
        binds=binds,
        columns=columns,
        takes_event=takes_event,
    )


def operator(
    name: str,
    *,
    cost: float = ASSUMED_SECONDS,
    timeout: float | None = None,
    binds: Sequence[str] = (),
    batch: bool = False,
) -> Callable[[Function], Operator]:
    """Make a function an operator, which rules then call by `name`.

    The function receives the event, a mapping of attributes, and the values of those arguments
    that are not variables. It answers with a bool, with None for undefined, or with the rows that
    its variables are bound to: an iterable of tuples, of dicts with the names in `binds`, or of
    single values. It may be a coroutine function. With `batch` it receives one Arrow column per
    argument instead, and returns a column; `name.batch` adds such a form to an operator.

    `cost` is the assumed duration of a call in seconds until it has been measured. A call that
    takes longer than `timeout` seconds, or raises, is undefined.

    >>> @operator("near", cost=0.002)
    ... def near(event, city, other):
    ...     return {city, other} <= {"Rome", "Ostia"}
    >>> from matchwood import Matcher
    >>> m = Matcher({"local": "near(city, 'Rome') and age > 17"}, operators=[near])
    >>> m.match({"city": "Ostia", "age": 20})
    ['local']
    """

    def made(function: Function) -> Operator:
        single, columns = (None, function) if batch else (function, None)
        return Operator(name, single, cost=cost, timeout=timeout, binds=binds, columns=columns)

    return made


class Operators(Mapping[str, Operator]):
    """Operators by name."""

    def __init__(self, operators: Iterable[Operator] = ()) -> None:
        self._by_name: dict[str, Operator] = {}
        for added in operators:
            known = self._by_name.setdefault(added.name, added)
            if known is not added:
                raise ValueError(f"two operators are registered as {added.name!r}")

    @classmethod
    def of(cls, operators: Any) -> Operators:
        """A registry of operators, of functions by name, or of the operators of a module.

        A plain function under a name receives the values of the arguments, without the event.
        """
        if operators is None:
            return cls()
        if isinstance(operators, Operators):
            return operators
        if isinstance(operators, str):
            return load(operators)
        if isinstance(operators, ModuleType):
            return _of_module(operators)
        if isinstance(operators, Operator):
            return cls([operators])
        if isinstance(operators, Mapping):
            return cls(_of_function(name, function) for name, function in operators.items())
        listed = list(operators)
        for item in listed:
            if not isinstance(item, Operator):
                raise TypeError(
                    f"expected operators made by @operator, functions by name, or a module, "
                    f"found {type(item).__name__}"
                )
        return cls(listed)

    def unanswered(self) -> Operators:
        """Operators of the same names that answer no call: each is undefined."""
        return Operators(
            Operator(one.name, _undefined, binds=one.binds, cost=one.cost, check=one.check)
            for one in self.values()
        )

    def __getitem__(self, name: str) -> Operator:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"<operators {', '.join(sorted(self._by_name))}>"


def _undefined(*arguments: object) -> None:
    """The answer to any call."""


def _of_function(name: str, function: Any) -> Operator:
    if isinstance(function, Operator):
        if function.name == name:
            return function
        return Operator(
            name,
            function.function,
            cost=function.cost,
            timeout=function.timeout,
            binds=function.binds,
            columns=function.columns,
            takes_event=function._takes_event,
        )
    if not callable(function):
        raise TypeError(f"the operator {name!r} is not a function, found {type(function).__name__}")
    return Operator(name, function, takes_event=False)


def load(module: str) -> Operators:
    """The operators that a module defines or imports; `module` is its import path.

    Raises ImportError if there is no such module, and ValueError if it has no operators.
    """
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and module.split(".")[0] == error.name.split(".")[0]:
            raise ModuleNotFoundError(
                f"operators: there is no module {module!r} where this runs; expected an "
                "importable path such as 'shop.operators'",
                name=error.name,
            ) from error
        raise
    return _of_module(imported)


def _of_module(module: ModuleType) -> Operators:
    operators = [value for value in vars(module).values() if isinstance(value, Operator)]
    if not operators:
        raise ValueError(f"operators: the module {module.__name__!r} has none made by @operator")
    return Operators(dict.fromkeys(operators))
