"""A matcher at work for minutes or hours: threads write, match, save, load and fork all at once.

    python -m matchwood.lab.bench.matcher_soak [--rules 5000] [--seconds 60] [--growth 40]

Two threads write: rules are added, replaced and deleted one by one and in bulk, with tags; no
text is used twice, so that whatever is kept per text piles up unless it is released. Three threads
match single events and batches, with and without tags; one saves and loads; one forks, and the
child matches, adds rules, joins, saves and loads. Every answer is compared with `evaluate`: all
rules that it names and a sample of the others, as far as they did not change meanwhile.

Whatever is remembered of rules and events has a budget. The budgets are made smaller at the start,
so that all of them are used up long before the first measurement, and the buffers that sweeps use
again are made and written to. What still grows after that has no bound, but for what the allocator
cannot return because it is scattered among what is in use.

Each quarter of the time has a column: the memory of the process and what it is made of
(`process_memory`), the buffers that sweeps use again, the blocks that Python has allocated, and the
predicates that the parser remembers. Before each measurement, the allocator returns its free memory
to the system (with glibc only). `held_mib` is what is resident then, without pages of files; it is
the least of ten moments, because merges and copies of all rules take memory for a moment. The
column `ended` follows once all threads have ended. The program fails where an answer differs, where
anything raises or hangs, and where `held_mib` rises by more than `--growth` MiB between the first
quarter and the last.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from matchwood.lab.bench.kernel import warm_up
from matchwood.lab.bench.matcher_model import TAGS, Model, check_alone, new_event, new_rule
from matchwood.lab.bench.process_memory import held_memory, memory
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.language import strings
from matchwood.language.remembered import RememberedFunction
from matchwood.language.text import fast_path
from matchwood.match.batch.sweep import pair_buffers
from matchwood.match.event import element_index, string_hits, value_tables
from matchwood.match.patterns import pattern_index
from matchwood.matcher import Matcher

# Threads that change rules; each has rules of its own.
WRITERS = 2

# Seconds that a child may take, and that a thread may take to end.
PATIENCE = 300

# Parts of the time, at the end of each of which memory is measured.
QUARTERS = 4

# Moments of which the least memory counts, and the part of a quarter that they are spread over.
MOMENTS = 10
LAST_PART = 0.1

# By how much the budgets of what is remembered are divided.
LESS = 16

# The budgets that are read when something is built.
BUDGETS = (
    (fast_path, "_MAX_INTERNED"),
    (string_hits, "LISTS_BUDGET"),
    (element_index, "ELEMENTS_BUDGET"),
    (pattern_index, "ELEMENTS_BUDGET"),
    (pattern_index, "VALUES_BUDGET"),
    (value_tables, "MOST_VALUES"),
)

# The functions of patterns whose results are remembered, but for expressions, which take longer to
# compile than to evaluate, and of which no more than the budget are soon remembered.
PATTERNS: tuple[RememberedFunction[Any], ...] = (
    strings.like_pieces,
    strings.folded_pieces,
    strings.compiled_program,
)


class Soak:
    """A matcher, what it must answer, and the threads that work on it."""

    def __init__(self, rules: int, seed: int, folder: Path) -> None:
        self.rules = rules
        self.seed = seed
        self.folder = folder
        self.model = Model()
        self.matcher = Matcher()
        self.done: Counter[str] = Counter()
        self.samples: dict[str, Figures] = {}
        self.ended = threading.Event()
        chance = random.Random(seed)
        self._update({rule_id: self._rule(chance) for rule_id in range(rules)})

    def run(self, seconds: float) -> None:
        """Run all threads for this many seconds."""
        works: list[Callable[[random.Random], None]] = [self.match, self.match, self.match_batch]
        works += [self.save_and_load, self.fork]
        works += [partial(self.write, writer=writer) for writer in range(WRITERS)]
        threads = [
            threading.Thread(target=self._again, args=(work, random.Random(self.seed + number)))
            for number, work in enumerate(works)
        ]
        self.take("start")
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        length = seconds / QUARTERS
        for quarter in range(1, QUARTERS + 1):
            held = []
            for moment in range(MOMENTS):
                part = quarter - LAST_PART * (1 - moment / (MOMENTS - 1))
                self.ended.wait(max(0.0, begun + length * part - time.monotonic()))
                held.append(held_memory())
            self.take(f"{quarter}/{QUARTERS}", min(held))
        self.ended.set()
        for thread in threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                self.model.differs("a thread hangs")
        self.take("ended")
        self._finish()

    def _again(self, work: Callable[[random.Random], None], chance: random.Random) -> None:
        try:
            while not self.ended.is_set():
                work(chance)
        except BaseException:
            self.model.differs(traceback.format_exc())
            self.ended.set()

    def _finish(self) -> None:
        """Compare every rule, once all threads have ended."""
        self.matcher.join()
        before = self.model.moment()
        self.model.check_rules(before, dict(self.matcher.items()))
        chance = random.Random(self.seed)
        wrong = check_alone(self.matcher, [new_event(chance) for _ in range(20)], chance)
        if wrong is not None:
            self.model.differs(wrong)

    def take(self, moment: str, held: float | None = None) -> None:
        """Memory and counts at this moment; `held` was measured before."""
        self.samples[moment] = {
            "held_mib": held_memory() if held is None else held,
            **memory(),
            "buffers_mib": pair_buffers.kept_bytes() / 2**20,  # part of what malloc has allocated
            # not `gc.get_objects`: it would refer to tuples that other threads are still building,
            # and make those threads fail
            "blocks": sys.getallocatedblocks(),
            "interned": fast_path.remembered_predicates(),
            "rules": len(self.matcher),
            **{name: self.done[name] for name in ("updates", "matches", "batches", "files")},
            "forks": self.done["forks"],
            "checked": self.model.checked,
        }

    # Writing

    def _rule(self, chance: random.Random) -> tuple[str, frozenset[str]]:
        tags = frozenset(chance.sample(TAGS, chance.randrange(3)))
        return new_rule(chance), tags

    def _update(self, rules: dict[int, tuple[str, frozenset[str]]]) -> None:
        """Change rules in bulk; tags are given in a table."""
        import pyarrow as pa

        texts = [text for text, _ in rules.values()]
        tags = [sorted(rule_tags) for _, rule_tags in rules.values()]
        kinds = pa.list_(pa.string())
        table = pa.table({"id": list(rules), "rule": texts, "tags": pa.array(tags, kinds)})
        self.model.begin(rules)
        self.matcher.update(table)
        self.model.end(rules)

    def write(self, chance: random.Random, writer: int) -> None:
        """Make one change to the rules of this thread."""
        own_ids = range(writer, 2 * self.rules, WRITERS)
        step = chance.random()
        if step < 0.9:
            rule_id = chance.choice(own_ids)
            self.model.begin([rule_id])
            made = self._rule(chance) if step < 0.6 or rule_id not in self.matcher else None
            if made is not None:
                self.matcher.add(rule_id, made[0], tags=made[1])
            else:
                del self.matcher[rule_id]
            self.model.end({rule_id: made})
            self.done["updates"] += 1
            self.ended.wait(0.0005)  # so that the other threads get their turn
            return
        rule_ids = chance.sample(own_ids, min(len(own_ids), chance.randrange(1, 100)))
        if step < 0.95:
            self._update({rule_id: self._rule(chance) for rule_id in rule_ids})
        elif step < 0.9998:
            self.model.begin(rule_ids)
            self.matcher.remove(rule_ids)
            self.model.end(dict.fromkeys(rule_ids))
        else:
            self.matcher.compact()
        self.done["updates"] += len(rule_ids)

    # Reading

    def match(self, chance: random.Random) -> None:
        event, wanted = new_event(chance), chance.choice((None, None, *TAGS))
        before = self.model.moment()
        answer = self.matcher.match(event, tags=None if wanted is None else [wanted])
        self.model.check(before, event, answer, wanted, chance)
        self.done["matches"] += 1

    def match_batch(self, chance: random.Random) -> None:
        events = [new_event(chance) for _ in range(chance.choice((3, 40)))]
        wanted = chance.choice((None, None, *TAGS))
        before = self.model.moment()
        table = self.matcher.match_batch(events, tags=None if wanted is None else [wanted])
        rows, ids = table["event"].to_pylist(), table["rule_id"].to_pylist()
        for number in chance.sample(range(len(events)), 3):
            answer = [rule_id for row, rule_id in zip(rows, ids, strict=True) if row == number]
            self.model.check(before, events[number], answer, wanted, chance)
        self.done["batches"] += 1
        self.ended.wait(0.01)

    def save_and_load(self, chance: random.Random) -> None:
        path = self.folder / "rules.mw"
        before = self.model.moment()
        self.matcher.save(path)
        self.model.check_rules(before, dict(Matcher.load(path).items()))
        self.done["files"] += 1
        self.ended.wait(1)

    def fork(self, chance: random.Random) -> None:
        """Fork a child, which goes on with the rules of this moment."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(PATIENCE)
            try:
                os.write(writing, (self._life_of_a_child(chance) or "").encode()[:60_000])
            except BaseException:
                os.write(writing, traceback.format_exc().encode()[:60_000])
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            failure = pipe.read().decode()
        _, status = os.waitpid(child, 0)
        if failure or status:
            self.model.differs(f"in a child: {failure or f'it ended with {status}'}")
        self.done["forks"] += 1
        self.ended.wait(0.5)

    def _life_of_a_child(self, chance: random.Random) -> str | None:
        matcher = self.matcher
        events = [new_event(chance) for _ in range(5)]
        if wrong := check_alone(matcher, events, chance):
            return wrong
        for number in range(40):
            matcher[1_000_000 + number] = new_rule(chance)
        matcher.remove(range(0, self.rules, 7))
        matcher.join()
        path = self.folder / f"child-{os.getpid()}.mw"
        matcher.save(path)
        loaded = Matcher.load(path)
        path.unlink()
        if dict(loaded.items()) != dict(matcher.items()):
            return "what was loaded is not what was saved"
        return check_alone(matcher, events, chance) or check_alone(loaded, events, chance)


def lower_budgets() -> None:
    """Make what is remembered small enough to be full within seconds."""
    for module, name in BUDGETS:
        setattr(module, name, getattr(module, name) // LESS)
    for function in PATTERNS:
        function.known.budget //= LESS


def fill_buffers() -> None:
    """Make all buffers that sweeps use again, and write to them."""
    for buffer in [pair_buffers.lease() for _ in range(pair_buffers.MOST_KEPT)]:
        buffer.fill(0)


def main() -> None:
    parser = BenchOptions(__doc__)
    parser.size("rules", full=5_000, small=300)
    parser.size("seconds", full=60, small=4)
    parser.size("growth", full=40, small=40)
    options = parser.read()
    warm_up()
    lower_budgets()
    fill_buffers()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(options.rules, options.seed, Path(folder))
        soak.run(options.seconds)
    samples = soak.samples
    grown = samples[f"{QUARTERS}/{QUARTERS}"]["held_mib"] - samples[f"1/{QUARTERS}"]["held_mib"]
    differences = soak.model.differences
    common = {"rules": options.rules, "seconds": options.seconds}
    report("matcher_soak", {**common, "differences": len(differences)}, samples)
    for difference in differences[:10]:
        print(difference, file=sys.stderr)
    if grown > options.growth:
        print(f"memory rose by {grown:.0f} MiB after the first quarter", file=sys.stderr)
    if differences or grown > options.growth:
        sys.exit(1)


if __name__ == "__main__":
    main()
