"""`Matcher`: a mapping of ids to rules that says which of them are true of an event.

A matcher has a store of rules (`match.store`). Whoever matches works on the current snapshot of
that store, and waits for nobody.
"""

from __future__ import annotations

import os
from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from matchwood.index.build.rule_programs import Progress
from matchwood.index.build.statistics import Statistics, profile
from matchwood.language import parse
from matchwood.language.aliases import Aliases, AliasForm, aliases_of
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies
from matchwood.language.events import Event
from matchwood.language.explanation import Explanation, explain
from matchwood.language.named_lists import LiveLists, check_lists, live_lists
from matchwood.language.tree import Node
from matchwood.match.json.json_text import JsonText, event_of
from matchwood.match.parts.given_rules import GivenRules
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.event_matches import EventMatches
from matchwood.match.search.near_misses import NearMiss
from matchwood.match.store.index_stats import Stats
from matchwood.match.store.part_store import Id
from matchwood.match.store.rule_input import (
    count_of,
    distinct_ids,
    given_rules,
    priority_of,
    tag_set,
)
from matchwood.match.store.rule_lists import RuleLists
from matchwood.match.store.rule_store import RuleStore
from matchwood.match.store.snapshot import Snapshot
from matchwood.operators.registry import Operators
from matchwood.operators.report import OperatorReport
from matchwood.tables.rule_data import data_text

if TYPE_CHECKING:
    import pyarrow

    from matchwood.match.batch.gpu.card_matches import CardMatches
    from matchwood.match.search.json_search import RejectedText
    from matchwood.match.search.runs_search import RuleRuns

# The substitutions that satisfy the variables of a rule, each by the name of the variable.
Bindings = list[dict[str, object]]

Default = TypeVar("Default")


class Matcher(MutableMapping[Id, Node]):
    """Rules by id, and which of them are true of an event.

    >>> m = Matcher({"adults": "age >= 18", "vip": "tier in ('gold', 'platinum')"})
    >>> m["teens"] = "age between 13 and 19"
    >>> sorted(m.match({"age": 18, "tier": "gold"}))
    ['adults', 'teens', 'vip']

    `store` is for the package itself: it has the current snapshot, `store.snapshot`.
    """

    def __init__(
        self,
        rules: Any = None,
        *,
        statistics: Statistics | None = None,
        operators: Any = None,
        schema: Hierarchies | None = None,
        enforce: bool = False,
        lists: Mapping[str, Iterable[object]] | LiveLists | None = None,
        aliases: Aliases | AliasForm | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Rules are a mapping, pairs, or a table with columns `id` and `rule`.

        `lists` are the values of each list that rules name with `in list`. `aliases` are other
        names under which events have an attribute: the first one that is there counts.

        With `enforce`, rules and events are held to the schema. Without it the schema only answers
        `isa`, and rules that compare attributes whose order it defines are refused.
        """
        spelled, live = aliases_of(aliases), live_lists(lists)
        self.store = RuleStore(statistics, operators, schema, enforce, spelled, live)
        if rules is not None:
            self.update(rules, progress=progress)

    @property
    def lists(self) -> RuleLists:
        """The lists that rules name, by their names: `in list 'tor'` asks `lists["tor"]`.

        >>> m = Matcher({"exit node": "ip in list 'tor'"}, lists={"tor": ["10.0.0.1"]})
        >>> m.match({"ip": "10.0.0.1"})
        ['exit node']
        """
        return RuleLists(self.store)

    @property
    def aliases(self) -> Aliases | None:
        """The other names under which events have attributes, if there are any.

        `*` at the end stands for the rest of a name.

        >>> aliases = {"host": ["Host Name", "computer"], "*": "Event.EventData.*"}
        >>> m = Matcher({"mine": "host = 'pc-1'"}, aliases=aliases)
        >>> m.match({"computer": "pc-1"}), m.match({"Event": {"EventData": {"host": "pc-1"}}})
        (['mine'], ['mine'])
        >>> m.match({"host": "pc-2", "computer": "pc-1"})
        []
        """
        return self.store.aliases

    # Matching

    @overload
    def match(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        bindings: Literal[False] = False,
    ) -> list[Any]: ...
    @overload
    def match(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        bindings: Literal[True],
    ) -> dict[Any, Bindings]: ...
    @overload
    def match(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        bindings: bool,
    ) -> list[Any] | dict[Any, Bindings]: ...
    def match(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        bindings: bool = False,
    ) -> list[Any] | dict[Any, Bindings]:
        """The ids of the rules that are true of an event, in no promised order.

        `tags`: only rules with one of these tags. `limit`: only so many, those of the highest
        priority, highest first. With `bindings` the result is a dict: for each id the
        substitutions that satisfy the variables of its rule, an empty list if it has none.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> m.add("eu", "country in ('DE', 'FR')", tags={"region"}, priority=2)
        >>> sorted(m.match({"age": 30, "country": "DE"}))
        ['adults', 'eu']
        >>> m.match({"age": 30, "country": "DE"}, tags={"region"})
        ['eu']
        >>> m.match({"age": 30, "country": "DE"}, limit=1)
        ['eu']
        >>> friends = {"ann": ["bob", "eve"]}
        >>> m = Matcher({"friend": "knows(user, ?f)"}, operators={"knows": friends.get})
        >>> m.match({"user": "ann"}, bindings=True)
        {'friend': [{'f': 'bob'}, {'f': 'eve'}]}
        """
        matches = self._matches(event, tags)
        ids = matches.ids() if limit is None else matches.best(limit)
        return matches.bindings(ids, self.store.decider) if bindings else ids

    def match_ids(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        dictionary: bool = False,
    ) -> pyarrow.Array[Any]:
        """`match` as a `pyarrow.Array` of ids, without a Python object for each of them.

        For events that thousands of rules are true of: making a list of their ids would take as
        long as finding them, and hold Python's lock meanwhile. With `limit` the rule of highest
        priority comes first. With `dictionary` the array has the numbers of rules as indices into
        all ids, and none is copied: the fastest way, above all from many threads.

        >>> m = Matcher({1: "a > 0", 2: "a > 1", 3: "a > 2"})
        >>> ids = m.match_ids({"a": 2})
        >>> ids.type, sorted(ids.to_pylist())
        (DataType(int64), [1, 2])
        >>> m.match_ids({"a": 2}, dictionary=True).type
        DictionaryType(dictionary<values=int64, indices=int32, ordered=0>)
        """
        return self._matches(event, tags).id_array(limit, dictionary)

    def count(
        self,
        event: Mapping[str, object],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> int:
        """The number of rules that are true of an event, at most `limit`.

        >>> Matcher({1: "a > 0", 2: "a > 1", 3: "a > 2"}).count({"a": 2})
        2
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be 0 or more, found {limit}")
        matches = len(self._matches(event, tags))
        return matches if limit is None else min(matches, limit)

    def _matches(self, event: Mapping[str, object], tags: Iterable[str] | None) -> EventMatches:
        store = self.store
        seen: Mapping[str, object] | Event = event
        if store.enforced is not None:
            seen = store.admit(event)
        snapshot = store.snapshot
        matches = snapshot.match(seen, None if tags is None else tag_set(tags))
        if snapshot.pending:
            store.hurry()
        return matches

    def match_batch(
        self,
        events: Any,
        key: str | None = None,
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        threads: int | None = 1,
        device: str | None = None,
        rule_columns: Iterable[str] = (),
    ) -> Any:
        """All matches of many events: a `pyarrow.Table` of `event` (row or key) and `rule_id`.

        Events are an Arrow table or batch, pandas, polars, anything that exports an Arrow stream,
        or an iterable of mappings. `threads` is how many threads match; None: one per core.
        `device` is "cpu", "gpu", or "auto" for the faster of the two; None: what the environment
        variable MATCHWOOD_DEVICE says, or else "cpu". `rule_columns` are columns about each rule
        to add: `rule` (its text), `tags`, `priority`, and `data` (as JSON text).

        >>> m = Matcher({"adults": "age >= 18", "teens": "age between 13 and 19"})
        >>> found = m.match_batch([{"age": 15}, {"age": 40}, {"age": 5}])
        >>> found.to_pylist()
        [{'event': 0, 'rule_id': 'teens'}, {'event': 1, 'rule_id': 'adults'}]
        >>> m.add("vip", "tier = 'gold'", data={"owner": "ann"})
        >>> m.match_batch([{"tier": "gold"}], rule_columns=["priority", "data"]).to_pylist()
        [{'event': 0, 'rule_id': 'vip', 'priority': 0.0, 'data': '{"owner":"ann"}'}]
        """
        from matchwood.match.search.rule_facts import FactColumns

        snapshot, events = self._settled(events, key)
        facts = FactColumns(snapshot, rule_columns)
        table = snapshot.search(tags, limit, device).table(events, key, threads)
        self.store.hurry()
        return facts.added(table)

    def match_batches(
        self,
        events: Any,
        key: str | None = None,
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        threads: int | None = 1,
        device: str | None = None,
        rule_columns: Iterable[str] = (),
    ) -> Iterator[Any]:
        """`match_batch` in slices, each a `pyarrow.RecordBatch`, made as they are asked for.

        With several threads, slices come in the order in which they are done.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> [batch.num_rows for batch in m.match_batches([{"age": 15}, {"age": 40}])]
        [1]
        """
        from matchwood.match.search.rule_facts import FactColumns

        snapshot, events = self._settled(events, key)
        facts = FactColumns(snapshot, rule_columns)
        batches = snapshot.search(tags, limit, device).batches(events, key, threads)
        return map(facts.added, batches) if facts.names else batches

    def count_batch(
        self,
        events: Any,
        key: str | None = None,
        *,
        by: Literal["rule", "event"] = "rule",
        tags: Iterable[str] | None = None,
        threads: int | None = 1,
        device: str | None = None,
    ) -> Any:
        """How many matches `match_batch` would give, as a `pyarrow.Table`.

        By rule it has `rule_id` and `matches`, for each rule with a match; by event it has `event`
        and `matches`, for each event. On a GPU the matches themselves never leave the card.

        >>> m = Matcher({"adults": "age >= 18", "old": "age >= 80"})
        >>> m.count_batch([{"age": 15}, {"age": 40}]).to_pylist()
        [{'rule_id': 'adults', 'matches': 1}]
        >>> m.count_batch([{"age": 15}, {"age": 40}], by="event").to_pylist()
        [{'event': 0, 'matches': 0}, {'event': 1, 'matches': 1}]
        """
        from matchwood.match.search.match_counts import count_table

        snapshot, events = self._settled(events, key)
        table = count_table(snapshot.search(tags, None, device), events, by, key, threads)
        self.store.hurry()
        return table

    def match_runs(
        self,
        events: Any,
        *,
        tags: Iterable[str] | None = None,
        threads: int | None = 1,
        device: str | None = None,
    ) -> Iterator[RuleRuns]:
        """`match_batch` in fewer bytes where matches are many: of each rule which events it has.

        Each `RuleRuns` is about at most 1,024 events that follow each other. It has the rules that
        have any of them, how many, and which: 2 bytes per match, or 128 per rule if that is less.
        A GPU writes this form by itself, so that less is copied. `items()` gives ids of rules with
        rows of events, and `to_arrow()` what `match_batches` gives.

        >>> m = Matcher({"adults": "age >= 18", "teens": "age between 13 and 19"})
        >>> for some in m.match_runs([{"age": 15}, {"age": 40}, {"age": 18}]):
        ...     print(sorted((rule_id, rows.tolist()) for rule_id, rows in some.items()))
        [('adults', [1, 2]), ('teens', [0, 2])]
        """
        from matchwood.match.search.runs_search import runs_of_search

        snapshot, events = self._settled(events, None)
        runs = runs_of_search(snapshot.search(tags, None, device), events, threads)
        self.store.hurry()
        return runs

    def match_on_card(
        self, events: Any, *, tags: Iterable[str] | None = None
    ) -> Iterator[CardMatches]:
        """`match_batch` with the matches left on a GPU, for whoever works on there.

        Each `CardMatches` is some of them: `events` and `rules`, numbers in the memory of the card
        for what reads DLPack or the CUDA array interface, and as a whole a table for what reads
        Arrow's C device data interface. `rule_ids` has the id of each rule at its number, and
        `first_event` is the row of the event with number 0. Without a GPU, a CardError says why.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> for some in m.match_on_card([{"age": 40}]):  # doctest: +SKIP
        ...     torch.bincount(torch.from_dlpack(some.rules))
        """
        from matchwood.match.search.matches_on_card import matches_on_card

        snapshot, events = self._settled(events, None)
        matches = matches_on_card(snapshot.search(tags, None, None), events)
        self.store.hurry()
        return matches

    def match_json(
        self, text: JsonText, *, tags: Iterable[str] | None = None, limit: int | None = None
    ) -> list[Any]:
        """`match` for an event that is given as JSON text, in UTF-8 or as a string.

        The text means what `json.loads` makes of it: of a repeated key the last value counts. No
        Python object is made for the event where rules ask for nothing unusual. Text that is not
        JSON, or not UTF-8, raises an EventError that says where.

        >>> m = Matcher({"adults": "age >= 18", "rome": "address.city = 'Rome'"})
        >>> sorted(m.match_json(b'{"age": 20, "address": {"city": "Rome"}}'))
        ['adults', 'rome']
        """
        store = self.store
        if store.enforced is not None:
            return self.match(event_of(text), tags=tags, limit=limit)
        snapshot = store.snapshot
        if limit is None and tags is None and type(text) is bytes:
            ids = snapshot.json_ids(text)
            if ids is not None:
                return ids
        matches = snapshot.match_json(text, None if tags is None else tag_set(tags))
        if snapshot.pending:
            store.hurry()
        return matches.ids() if limit is None else matches.best(limit)

    def match_json_batch(
        self,
        texts: Any,
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
        rejects: list[RejectedText] | None = None,
    ) -> Any:
        """All matches of many JSON texts: a `pyarrow.Table` of `event`, its number, and `rule_id`.

        Texts are the lines of bytes, of a string, or of a file (a path, or a file that is open for
        bytes), the values of an Arrow column of strings or bytes, or an iterable of texts. Events
        are numbered from 0 on; blank lines do not count.

        Texts that are bad are added to the list `rejects`, each with its line, and all others are
        matched. Without such a list, the first bad text raises an EventError.

        >>> m = Matcher({"adults": "age >= 18", "teens": "age between 13 and 19"})
        >>> rejects = []
        >>> lines = b'{"age": 15}\\n{"age": \\n{"age": 40}'
        >>> m.match_json_batch(lines, rejects=rejects).to_pylist()
        [{'event': 0, 'rule_id': 'teens'}, {'event': 2, 'rule_id': 'adults'}]
        >>> rejects[0].line, rejects[0].reason
        (2, 'not JSON: Expecting value at column 9')
        """
        from matchwood.match.search.json_texts import count_of as count_of_texts

        store = self.store
        snapshot = store.settled(count_of_texts(texts))
        admit = None if store.enforced is None else store.admit
        table = snapshot.json_search(tags, limit, admit).table(texts, rejects)
        store.hurry()
        return table

    def _settled(self, events: Any, key: str | None) -> tuple[Snapshot, Any]:
        """A snapshot for so many events, and the events, which the schema admits."""
        store = self.store
        snapshot = store.settled(count_of(events))
        if store.enforced is not None:
            from matchwood.match.search.event_slices import admitted

            events = admitted(events, key, store.admit)
        return snapshot, events

    # Answers about rules

    def explain(self, rule: object, event: Mapping[str, object] | Event) -> Explanation:
        """The tree of a rule (its id, or a rule) with true, false or undefined at each node.

        >>> m = Matcher({"adults": "age >= 18 and country = 'DE'"})
        >>> print(m.explain("adults", {"age": 15}))
        false      and
        false      ├─ age >= 18       age: 15
        undefined  └─ country = 'DE'  country: missing
        """
        is_id = isinstance(rule, str | int) and not isinstance(rule, bool)
        try:
            tree = self[rule] if is_id else parse(rule)  # type: ignore[index]
        except KeyError:
            tree = parse(rule)
        store = self.store
        check_lists(tree, store.lists)
        seen = event if isinstance(event, Event) else Event(event, store.aliases)
        return explain(
            tree, seen, operators=store.operators, schema=store.schema, lists=store.lists
        )

    def why_not(self, event: Mapping[str, object] | Event, n: int = 5) -> list[NearMiss]:
        """The n rules that came nearest to matching, with what each lacked.

        >>> m = Matcher({"adults": "age >= 18", "vip": "tier = 'gold' and age >= 30"})
        >>> for near in m.why_not({"age": 15}):
        ...     print(near)
        adults: lacked age >= 18
        vip: lacked age >= 30, tier = 'gold'
        """
        return self.store.snapshot.near_misses(event, n)

    def operator_report(self) -> OperatorReport:
        """How often operators were called, how long they took, and which calls failed.

        >>> m = Matcher({1: "big(a)"}, operators={"big": lambda value: value > 10})
        >>> m.match({"a": 11})
        [1]
        >>> [(figures.operator, figures.calls) for figures in m.operator_report().operators]
        [('big', 1)]
        """
        return self.store.decider.report

    def stats(self) -> Stats:
        """Rules, predicates, nodes, sharing, bytes and levels of the index.

        Rules that are not built because kernels are still being compiled are built for this, which
        waits for the kernels.

        >>> Matcher({1: "a = 1 and b = 2", 2: "a = 1 or c = 3"}).stats().predicates
        3
        """
        store = self.store
        if store.holds_back():
            store.flush()
        return store.snapshot.stats()

    @property
    def calls_operators(self) -> bool:
        """Whether a rule calls an operator, and so may bind variables.

        >>> Matcher({1: "a = 1"}).calls_operators
        False
        """
        return self.store.snapshot.calls_operators

    @staticmethod
    def profile(events: Iterable[Mapping[str, object]]) -> Statistics:
        """Statistics of a sample of events, for `Matcher(..., statistics=…)`.

        >>> statistics = Matcher.profile([{"age": 15}, {"age": 40}])
        >>> Matcher({"adults": "age >= 18"}, statistics=statistics).match({"age": 20})
        ['adults']
        """
        return profile(events)

    # What rules are answered with

    @property
    def operators(self) -> Operators:
        """The operators that rules may call, built-in ones included.

        >>> "big" in Matcher(operators={"big": lambda value: value > 10}).operators
        True
        """
        return self.store.operators

    @property
    def schema(self) -> Hierarchies | None:
        """The schema that answers `isa`, if there is one.

        >>> Matcher().schema is None
        True
        """
        return self.store.schema

    @property
    def statistics(self) -> Statistics | None:
        """The statistics of events that rules are built with, if there are any.

        >>> Matcher().statistics is None
        True
        """
        return self.store.statistics

    def use_schema(self, schema: Hierarchies | None) -> None:
        """Answer by another schema; raises RuleError, and changes nothing, if a rule forbids it.

        >>> from matchwood import Schema
        >>> def schema(*kinds):
        ...     hierarchy = dict.fromkeys(kinds, "furniture")
        ...     form = {"attributes": {"category": "kinds"}, "hierarchies": {"kinds": hierarchy}}
        ...     return Schema.from_dict(form)
        >>> m = Matcher({"any": "isa(category, 'furniture')"}, schema=schema("table"))
        >>> m.match({"category": "chair"})
        []
        >>> m.use_schema(schema("table", "chair"))
        >>> m.match({"category": "chair"})
        ['any']
        """
        self.store.use_schema(schema)

    # The mapping

    def __len__(self) -> int:
        return self.store.snapshot.rule_count

    def __iter__(self) -> Iterator[Id]:
        return iter(self.store.ids())

    def __contains__(self, rule_id: object) -> bool:
        return rule_id in self.store.where

    def __getitem__(self, rule_id: Id) -> Node:
        """The rule, as a tree; `str` of it is its text."""
        return parse(self.store.details(rule_id).rule)

    def __setitem__(self, rule_id: Id, rule: object) -> None:
        self.add(rule_id, rule)

    def __delitem__(self, rule_id: Id) -> None:
        if not self.store.remove([rule_id]):
            raise KeyError(rule_id)

    @overload
    def get(self, rule_id: Id) -> Node | None: ...
    @overload
    def get(self, rule_id: Id, default: Node | Default) -> Node | Default: ...
    def get(self, rule_id: Id, default: Any = None) -> Any:
        """The rule with this id, as a tree, or `default` if there is none.

        >>> str(Matcher({"adults": "age>=18"}).get("adults"))
        'age >= 18'
        """
        return super().get(rule_id, default)

    def keys(self) -> KeysView[Id]:
        """The ids of all rules; iterating goes over those of one moment.

        >>> sorted(Matcher({"adults": "age >= 18", "vip": "tier = 'gold'"}).keys())
        ['adults', 'vip']
        """
        return super().keys()

    def items(self) -> ItemsView[Id, Node]:
        """Ids and rules; iterating goes over those of one moment.

        >>> [(rule_id, str(rule)) for rule_id, rule in Matcher({"adults": "age>=18"}).items()]
        [('adults', 'age >= 18')]
        """
        return _Items(self)

    def values(self) -> ValuesView[Node]:
        """All rules, as trees; iterating goes over those of one moment.

        >>> [str(rule) for rule in Matcher({"adults": "age>=18"}).values()]
        ['age >= 18']
        """
        return _Values(self)

    def add(
        self,
        rule_id: Id,
        rule: object,
        *,
        tags: Iterable[str] = (),
        priority: float = 0,
        data: object = None,
    ) -> None:
        """Set a rule, with tags to select it by and a priority; a bad rule changes nothing.

        `data` is any JSON that the rule carries, which `details` and matches give back.

        >>> m = Matcher()
        >>> m.add("vip", "tier = 'gold'", tags={"eu"}, priority=5)
        >>> m.match({"tier": "gold"}, tags={"us"})
        []
        """
        about = tag_set(tags), priority_of(priority), data_text(data)
        self.store.add(RuleDetails(rule_id, rule, *about))

    def details(self, rule_id: Id) -> RuleDetails:
        """The text of a rule with its tags, its priority and the data that it carries.

        >>> m = Matcher()
        >>> m.add("vip", "tier = 'gold'", tags={"eu"}, priority=5, data={"owner": "ann"})
        >>> vip = m.details("vip")
        >>> vip.rule, set(vip.tags), vip.priority, vip.data
        ("tier = 'gold'", {'eu'}, 5.0, {'owner': 'ann'})
        """
        return self.store.details(rule_id)

    def update(  # type: ignore[override]
        self,
        rules: Any = (),
        *,
        errors: str = "raise",
        progress: Progress | None = None,
    ) -> list[tuple[Id, RuleError]]:
        """Set many rules: a mapping, pairs, or a table with columns `id` and `rule`.

        A bad rule raises, and nothing is changed. With errors="collect" the good rules are set,
        and the bad ones are returned, each with its error.

        >>> m = Matcher()
        >>> m.update({"adults": "age >= 18", "bad": "age >="}, errors="collect")[0][0]
        'bad'
        >>> list(m)
        ['adults']
        """
        given = (
            GivenRules.of(rules.store.snapshot.details())
            if isinstance(rules, Matcher)
            else given_rules(rules)
        )
        return self.store.update(given, errors, progress)

    def remove(self, ids: Iterable[Id]) -> int:
        """Remove many rules at once, and return how many were there; to remove one, use `del`.

        >>> m = Matcher({1: "a = 1", 2: "a = 2", 3: "a = 3"})
        >>> m.remove([1, 2, 4])
        2
        """
        return self.store.remove(distinct_ids(ids))

    @overload
    def pop(self, rule_id: Id, /) -> Node: ...
    @overload
    def pop(self, rule_id: Id, default: Node | Default, /) -> Node | Default: ...
    def pop(self, rule_id: Id, /, *default: Any) -> Any:
        """Remove a rule and return it, or a default if there is none with this id.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> str(m.pop("adults")), m.pop("adults", None)
        ('age >= 18', None)
        """
        with self.store.lock:
            return super().pop(rule_id, *default)

    def popitem(self) -> tuple[Id, Node]:
        """Remove any one rule, and return its id and the rule.

        >>> rule_id, rule = Matcher({"adults": "age >= 18"}).popitem()
        >>> rule_id, str(rule)
        ('adults', 'age >= 18')
        """
        with self.store.lock:
            return super().popitem()

    @overload
    def setdefault(self, rule_id: Id, /) -> Node: ...
    @overload
    def setdefault(self, rule_id: Id, default: Default, /) -> Node | Default: ...
    def setdefault(self, rule_id: Id, default: Any = None, /) -> Any:
        """The rule with this id, which is set to a default first if there is none.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> str(m.setdefault("adults", "age >= 21"))
        'age >= 18'
        """
        with self.store.lock:
            return super().setdefault(rule_id, default)

    def clear(self) -> None:
        """Remove all rules.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> m.clear()
        >>> len(m)
        0
        """
        self.store.clear()

    # Merges

    def compact(self) -> None:
        """Merge all rules into one part of the index now.

        >>> m = Matcher({"adults": "age >= 18"})
        >>> m["vip"] = "tier = 'gold'"
        >>> m.compact()
        >>> m.stats().segments, m.stats().pending
        (1, 0)
        """
        self.store.compact()

    def join(self) -> None:
        """Wait for the merges that run in the background, and for those that follow from them.

        >>> m = Matcher({number: f"a = {number}" for number in range(100)})
        >>> m.join()
        """
        self.store.join()

    # Copies and files

    def __getstate__(self) -> dict[str, Any]:
        return self.store.state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.store = RuleStore.from_state(state)

    def __copy__(self) -> Matcher:
        other = Matcher.__new__(Matcher)
        other.__setstate__(self.__getstate__())
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all rules and their index to one file, in one step.

        >>> import tempfile
        >>> m = Matcher({"adults": "age >= 18"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     m.save(f"{folder}/rules.mw")
        """
        self.store.save(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        operators: Any = None,
        schema: Hierarchies | None = None,
        enforce: bool = False,
        lists: Mapping[str, Iterable[object]] | LiveLists | None = None,
        aliases: Aliases | AliasForm | None = None,
        verify: bool = True,
    ) -> Matcher:
        """A matcher from a file that `save` wrote, memory-mapped.

        `verify` looks for damage and for indices that are out of bounds; without it the file is
        trusted. `enforce` holds events and new rules to the schema, not the rules in the file.
        Lists and aliases are not in the file: `lists` has those that its rules name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Matcher({"adults": "age >= 18"}).save(f"{folder}/rules.mw")
        ...     m = Matcher.load(f"{folder}/rules.mw")
        >>> m.match({"age": 20})
        ['adults']
        """
        matcher = cls(
            operators=operators, schema=schema, enforce=enforce, lists=lists, aliases=aliases
        )
        snapshot = Snapshot.load([path], matcher.store.decider, verify=verify)
        snapshot.check(schema)
        matcher.store.adopt(snapshot)
        return matcher

    def __repr__(self) -> str:
        return f"<Matcher of {len(self):,} rules>"


class _Items(ItemsView[Id, Node]):
    """Ids and rules of one moment."""

    _mapping: Matcher

    def __iter__(self) -> Iterator[tuple[Id, Node]]:
        details = self._mapping.store.snapshot.details()
        return ((rule.id, parse(rule.rule)) for rule in details)


class _Values(ValuesView[Node]):
    """The rules of one moment."""

    _mapping: Matcher

    def __iter__(self) -> Iterator[Node]:
        return (parse(rule.rule) for rule in self._mapping.store.snapshot.details())
