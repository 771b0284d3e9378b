"""Rules with every kind of predicate, and events with every kind of value."""

import numpy as np

ALL_KINDS = [
    "a{0} > {1} and a{2} < {3}",
    "a{0} > {1} and a{2} is null",
    "a{0} is not null and a{2} >= {3}",
    "a{0} between {1} and 30 and a{2} in ({3}, 5, 9, 20)",
    "a{0} != {1} and a{2} not in ({3}, 4)",
    "a{0} > {1} and a{0} != 12 and a{2} > {3}",
    "a{0} > {1} and (a{2} > {3} or name = 'x{1}')",
    "a{0} > {1} and name like '%{3}' and a{2} < 40",
    "a{0} > {1} and not (name like 'x1%')",
    "a{0} < a{2} and a{0} > {1}",
    "a{0} > {1} and a{2} = 'x{3}'",
    "a{0} >= 'x{1}' and a{2} != true",
    "(a{0} > {1} and a{2} < {3}) or (a{2} > {1} and name != 'x3')",
    "a{0} > {1}",
    "not (a{0} > {1} and a{2} < {3})",
    "a{0} < {1} and a{0} > 45 and a{2} > {3}",
]


def all_kinds(count, seed=1):
    random = np.random.default_rng(seed)
    return {
        i: ALL_KINDS[i % len(ALL_KINDS)].format(
            random.integers(6), random.integers(40), random.integers(6), random.integers(40)
        )
        for i in range(count)
    }


def events_of_all_kinds(count, seed=1):
    random = np.random.default_rng(seed)

    def value():
        kind = random.integers(10)
        if kind == 0:
            return f"x{random.integers(40)}"
        if kind == 1:
            return bool(random.integers(2))
        if kind == 2:
            return None
        if kind in (3, 4):
            return [int(n) for n in random.integers(0, 50, random.integers(4))]
        if kind == 5:
            return [7, f"x{random.integers(9)}", 41]
        return int(random.integers(50))

    return [
        {f"a{i}": value() for i in range(6) if random.random() < 0.8}
        | ({"name": f"x{random.integers(40)}"} if random.random() < 0.7 else {})
        for _ in range(count)
    ]
