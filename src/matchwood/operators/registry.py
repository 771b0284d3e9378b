"""`@operator`: a function becomes an operator that rules call by name; registries of them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from matchwood.language.arithmetic import Variable
from matchwood.language.bindings import Answer, AnswerError, rows_of
from matchwood.language.calls import BUILT_IN
from matchwood.language.events import Event
from matchwood.language.tokens import KEYWORDS, is_name
from matchwood.language.tree import Call
from matchwood.operators.running import Overdue, Watched, run_together

COST = 1e-3  # seconds: what a call is taken to cost until it has been made
Function = Callable[..., Any]


class Failure(Exception):
    """A call that has no answer: `kind` is "exception", "timeout" or "answer"."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        if isinstance(error, Failure):
            return error
        if isinstance(error, Overdue | TimeoutError):
            return cls("timeout", str(error) or "it ran over its time")
        if isinstance(error, AnswerError):
            return cls("answer", str(error))
        return cls("exception", f"{type(error).__name__}: {error}"[:500])


class Operator:
    """A function that rules call by name; call it, and it is the function that it was."""

    def __init__(
        self,
        name: str,
        function: Function | None,
        *,
        cost: float = COST,
        timeout: float | None = None,
        binds: Sequence[str] = (),
        columns: Function | None = None,
        takes_event: bool = True,
        check: Callable[[Call], None] | None = None,
    ) -> None:
        if not is_name(name) or name.lower() in KEYWORDS:
            raise ValueError(f"an operator's name is letters, digits and _, found {name!r}")
        if name in BUILT_IN:
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
        self._watched = Watched()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        function = self.function or self.columns
        assert function is not None
        return function(*arguments, **named)

    def batch(self, function: Function) -> Function:
        """Give the operator a batch form: Arrow columns of the arguments in, a column out."""
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
        """The rows of one call; undefined where it fails."""
        try:
            return self.ask(call, values, seen)
        except Failure:
            return None

    def ask(self, call: Call, values: Sequence[object], seen: Event) -> Answer:
        """The rows of one call; a `Failure` where there are none."""
        if self.function is None:
            return _good(self.ask_columns([call], [values])[0])
        try:
            if self.asynchronous:
                [result] = run_together([lambda: self._call(call, values, seen)], self.timeout)
                if isinstance(result, BaseException):
                    raise result
            elif self.timeout is not None:
                result = self._watched.run(lambda: self._call(call, values, seen), self.timeout)
            else:
                result = self._call(call, values, seen)
            return rows_of(result, call, self.binds)
        except Exception as error:
            raise Failure.of(error) from error

    def ask_many(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]], seen: Sequence[Event]
    ) -> list[Answer | Failure]:
        """The rows of many calls, with as many variables each: together, if it knows how."""
        if self.columns is not None and len({len(some) for some in values}) == 1:
            return self.ask_columns(calls, values)
        if not self.asynchronous:
            asked = zip(calls, values, seen, strict=True)
            return [self._ask_softly(*one) for one in asked]
        started = [
            (lambda one=one: self._call(*one)) for one in zip(calls, values, seen, strict=True)
        ]
        found: list[Answer | Failure] = []
        for call, result in zip(calls, run_together(started, self.timeout), strict=True):
            found.append(self._read(result, call))
        return found

    def ask_columns(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]]
    ) -> list[Answer | Failure]:
        """The rows of calls through the batch form, type by type: a column has one."""
        from matchwood.arrow.making import by_types

        groups = by_types(values)
        if len(groups) == 1:
            return self._ask_group(calls, values)
        found: dict[int, Answer | Failure] = {}
        for places in groups:
            some = self._ask_group([calls[p] for p in places], [values[p] for p in places])
            found.update(zip(places, some, strict=True))
        return [found[place] for place in range(len(calls))]

    def _ask_group(
        self, calls: Sequence[Call], values: Sequence[Sequence[object]]
    ) -> list[Answer | Failure]:
        from matchwood.arrow.making import array_of

        columns = self.columns
        assert columns is not None
        try:
            given = [array_of(column) for column in zip(*values, strict=True)]
            if self.timeout is None:
                result = columns(*given)
            else:
                result = self._watched.run(lambda: columns(*given), self.timeout)
            rows = result.to_pylist() if hasattr(result, "to_pylist") else list(result)
            if len(rows) != len(calls):
                raise AnswerError(
                    f"{self.name} answered with a column of {len(rows)} for {len(calls)} calls"
                )
        except Exception as error:
            if len(calls) == 1 or isinstance(error, Overdue):
                return [Failure.of(error)] * len(calls)
            alone = zip(calls, values, strict=True)  # one bad event is not to spoil the others
            return [self._ask_group([call], [some])[0] for call, some in alone]
        return [self._read(row, call) for row, call in zip(rows, calls, strict=True)]

    def _call(self, call: Call, values: Sequence[object], seen: Event) -> Any:
        function = self.function
        assert function is not None
        given = (seen.raw, *values) if self._takes_event else values
        if not self._takes_variables:
            return function(*given)
        places = [i for i, a in enumerate(call.arguments) if isinstance(a, Variable)]
        return function(*given, variables=tuple(places))

    def _ask_softly(self, call: Call, values: Sequence[object], seen: Event) -> Answer | Failure:
        try:
            return self.ask(call, values, seen)
        except Failure as failure:
            return failure

    def _read(self, result: Any, call: Call) -> Answer | Failure:
        if isinstance(result, BaseException):
            return Failure.of(result)
        try:
            return rows_of(result, call, self.binds)
        except Exception as error:
            return Failure.of(error)


def _good(answer: Answer | Failure) -> Answer:
    if isinstance(answer, Failure):
        raise answer
    return answer


def _has_variables(function: Function) -> bool:
    try:
        found = inspect.signature(function).parameters.get("variables")
    except (TypeError, ValueError):
        return False
    return found is not None and found.kind is inspect.Parameter.KEYWORD_ONLY


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
    cost: float = COST,
    timeout: float | None = None,
    binds: Sequence[str] = (),
    batch: bool = False,
) -> Callable[[Function], Operator]:
    """Make an operator of a function, which rules then call by `name`.

    The function gets the event, a mapping of attributes, and the values of the arguments that are
    no variables. It answers with a bool, with None for undefined, or with the rows that it binds
    its variables to: an iterable of tuples, of dicts by the names in `binds`, or of single values.
    It may be a coroutine function. With `batch` it gets an Arrow column for each of those
    arguments instead, and answers with a column; `name.batch` gives a function such a form beside.

    `cost` is what a call takes, in seconds, before that has been measured. A call that takes
    longer than `timeout` seconds, or raises, is undefined.

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
        for one in operators:
            known = self._by_name.setdefault(one.name, one)
            if known is not one:
                raise ValueError(f"two operators are registered as {one.name!r}")

    @classmethod
    def of(cls, given: Any) -> Operators:
        """A registry of whatever names operators: operators, functions by name, a module.

        A plain function under a name gets the values of the arguments, without the event.
        """
        if given is None:
            return cls()
        if isinstance(given, Operators):
            return given
        if isinstance(given, str):
            return load(given)
        if isinstance(given, ModuleType):
            return _of_module(given)
        if isinstance(given, Operator):
            return cls([given])
        if isinstance(given, Mapping):
            return cls(_of_function(name, function) for name, function in given.items())
        found = list(given)
        for one in found:
            if not isinstance(one, Operator):
                raise TypeError(
                    f"operators are what @operator makes, functions by name, or a module, "
                    f"found {type(one).__name__}"
                )
        return cls(found)

    def __getitem__(self, name: str) -> Operator:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"<operators {', '.join(sorted(self._by_name))}>"


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
    """The operators of a module, by its path: those that it defines or imports.

    An ImportError that says so where there is no such module, a ValueError where it has none.
    """
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and module.split(".")[0] == error.name.split(".")[0]:
            raise ModuleNotFoundError(
                f"operators: there is no module {module!r} where this runs; expected an "
                "importable path such as 'shop.operators'",
                name=error.name,
            ) from error
        raise
    return _of_module(found)


def _of_module(module: ModuleType) -> Operators:
    operators = [one for one in vars(module).values() if isinstance(one, Operator)]
    if not operators:
        raise ValueError(f"operators: the module {module.__name__!r} has none made by @operator")
    return Operators(dict.fromkeys(operators))
