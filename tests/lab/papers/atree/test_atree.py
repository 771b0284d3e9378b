"""The A-Tree's structure: the paper's own examples, and what holds after any change."""

import random
from collections import Counter
from itertools import permutations

import pytest

from matcher.expected import expected
from matchwood.lab.papers.atree import tree_kernels as layout
from matchwood.lab.papers.atree.atree import ATree
from matchwood.lab.papers.atree.match_kernels import on_demand


def rows(tree):
    """Number → fields by name, and lists, of all nodes that are there."""
    names = ["op", "level", "uses", "width"]
    found = {}
    for number in range(int(tree._state[layout.TOP])):
        row = tree._rows[number].tolist()
        if row[layout.OP] == layout.FREE:
            continue
        node = dict(zip(names, row, strict=False), pushed=row[layout.PUSHED])
        for name, at, size in [
            ("expr", layout.EXPR_AT, layout.EXPR_N),
            ("kids", layout.KIDS_AT, layout.KIDS_N),
            ("parents", layout.PAR_AT, layout.PAR_N),
        ]:
            node[name] = tree._pool[row[at] : row[at] + row[size]].tolist()
        found[number] = node
    return found


def base(nodes, number, by):
    """Operands with those of the same operator taken apart."""
    op = nodes[number]["op"]
    if op not in (1, 2):
        return sorted(nodes[number][by])
    todo, found = list(nodes[number][by]), set()
    while todo:
        child = todo.pop()
        if nodes[child]["op"] == op:
            todo.extend(nodes[child]["expr"])
        else:
            found.add(child)
    return sorted(found)


def check(tree, rules):
    """Everything that must hold between changes."""
    nodes = rows(tree)
    assert len(nodes) == tree.nodes
    uses, parents = Counter(), {number: Counter() for number in nodes}
    for number, node in nodes.items():
        uses.update(node["expr"])
        for child in node["kids"]:
            parents[child][number] += 1
        if node["op"] != layout.LEAF:
            assert node["level"] == 1 + max(nodes[child]["level"] for child in node["kids"])
            assert base(nodes, number, "kids") == base(nodes, number, "expr")
            if node["op"] in (1, 2):
                assert node["width"] == len(base(nodes, number, "expr"))
    roots = [tree._root[tree._rule_numbers._number[rule_id]] for rule_id in rules]
    uses.update(int(root) for root in roots if root >= 0)
    for number, node in nodes.items():
        assert node["uses"] == uses[number] > 0
        assert Counter(node["parents"]) == parents[number]
        for i, parent in enumerate(node["parents"]):
            wakes = not tree._on_demand or nodes[parent]["op"] != 1
            first = nodes[parent]["kids"][0] == number
            assert (i < node["pushed"]) == (wakes or first)
    levels = Counter(node["level"] for node in nodes.values())
    assert {i: n for i, n in enumerate(tree._levels.tolist()) if n} == levels
    check_table(tree, nodes)


def check_table(tree, nodes):
    """Inner nodes are in the expression-to-node table, each once."""
    chained = []
    for first in tree._table.tolist():
        while first >= 0:
            chained.append(first)
            first = int(tree._rows[first, layout.NEXT])
    assert sorted(chained) == [n for n, node in nodes.items() if node["op"] != layout.LEAF]


LETTERS = "abcdefgh"
EVENTS = [{letter: number >> i & 1 == 1 for i, letter in enumerate(LETTERS)} for number in range(9)]
EVENTS += [{letter: True for letter in LETTERS if letter not in left_out} for left_out in "abcah"]


def subset_rule(dice, depth=2):
    """Few predicates and many subsets of them: what reorganisation and adjustment live on."""
    operands = dice.sample(LETTERS, dice.randint(2, 6))
    if depth and dice.random() < 0.6:
        operands[0] = f"({subset_rule(dice, depth - 1)})"
    if dice.random() < 0.2:
        operands[-1] = f"not {operands[-1]}"
    return dice.choice([" and ", " or ", " and ", " or ", " xor "]).join(operands)


SWITCHES = [
    {},
    {"access": "estimated"},
    {"on_demand": False},
    {"reorganize": False},
    {"self_adjust": False},
    {"sharing": False},
    {"zero_suppression": False},
    {"binary": True},
]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_any_changes_leave_a_sound_tree(switches):
    dice = random.Random(5)
    rules = {i: subset_rule(dice) for i in range(60)}
    tree = ATree(rules, **switches)
    for step in range(400):
        if rules and dice.random() < (0.45 if step < 250 else 0.7):
            gone = dice.choice(sorted(rules))
            del rules[gone]
            tree.remove(gone)
        else:
            rules[1000 + step] = subset_rule(dice)
            tree.add(1000 + step, rules[1000 + step])
        if step % 10 == 0:
            check(tree, rules)
            event = dice.choice(EVENTS)
            assert {(0, rule_id) for rule_id in tree.match(event)} == expected(rules, [event])
    for rule_id in rules:
        tree.remove(rule_id)
    assert tree.nodes == 0
    check(tree, {})


def test_order_of_operands_is_of_no_account():
    """§4.2.1, Expr1 and Expr2."""
    tree = ATree({1: "(a or b or c) and d and (e or f)", 2: "d and (c or b or a) and (f or e)"})
    assert tree.nodes == 6 + 2 + 1
    assert sorted(tree.match({"c": True, "d": True, "e": True})) == [1, 2]


def test_figure_4_and_reorganisation():
    """§4.2.2: a or b or c is reused; without reorganisation it is not."""
    rules = {1: "(a or b or c) and d and (e or f)", 2: "(e or f) and (g or h)"}
    for reorganize, links in [(True, 2), (False, 4)]:
        tree = ATree(rules, reorganize=reorganize)
        assert tree.nodes == 8 + 3 + 2
        tree.add(3, "a or b or c or d")
        assert len(rows(tree)[int(tree._root[2])]["kids"]) == links
        check(tree, {**rules, 3: ""})


def test_a_node_is_covered_by_several():
    """§4.2.2: (a and b and c) and (c and d)."""
    tree = ATree({1: "a and b and c", 2: "c and d", 3: "a and b and c and d"}, on_demand=False)
    nodes = rows(tree)
    roots = [int(root) for root in tree._root[:3]]
    assert sorted(nodes[roots[2]]["kids"]) == sorted(roots[:2])


def test_a_cover_may_lie_above_others():
    """The largest subset is no parent of the operands: it was made of smaller subsets itself."""
    rules = {1: "a or b", 2: "c or d", 3: "a or b or c or d", 4: "a or b or c or d or e"}
    tree = ATree(rules)
    nodes, roots = rows(tree), tree._root[:4].tolist()
    assert sorted(nodes[roots[2]]["kids"]) == sorted(roots[:2])
    assert roots[2] in nodes[roots[3]]["kids"]
    assert len(nodes[roots[3]]["kids"]) == 2
    check(tree, rules)
    longer = {**rules, 5: "a or b or c or d or e or f"}
    tree.add(5, longer[5])
    assert roots[3] in rows(tree)[int(tree._root[4])]["kids"]
    check(tree, longer)


def test_the_largest_cover_is_found_in_any_order():
    """Every order of arrival gives the same number of links, with self-adjustment."""
    rules = ["a and b", "c and d", "a and b and c and d", "e and f", "a and b and c and d and e"]
    found = set()
    for arrival in permutations(rules):
        tree = ATree(dict(enumerate(arrival)))
        found.add(sum(len(node["kids"]) for node in rows(tree).values()))
    assert max(found) - min(found) <= 1


def test_self_adjustment_and_deletion():
    """§4.2.3: the new node becomes a child of an older, larger one, until it is deleted."""
    rules = {1: "(a or b or c) and d and (e or f)"}
    plain, tree = ATree(rules, self_adjust=False), ATree(rules)
    for each in (plain, tree):
        each.add(2, "(a or b or c) and d")
    older, newer = int(tree._root[0]), int(tree._root[1])
    assert newer in rows(tree)[older]["kids"]
    assert len(rows(tree)[older]["kids"]) == 2
    assert len(rows(plain)[int(plain._root[0])]["kids"]) == 3
    tree.remove(2)
    assert len(rows(tree)[older]["kids"]) == 3
    check(tree, rules)


def test_work_shrinks_with_each_optimisation():
    """Fewer nodes are visited with zero suppression, and fewer still on demand."""
    dice = random.Random(1)
    rules = {i: rule for i in range(400) if "xor" not in (rule := subset_rule(dice))}
    visited = []
    for switches in [{"zero_suppression": False}, {"on_demand": False}, {}]:
        tree = ATree(rules, **switches)
        total = 0
        for event in EVENTS:
            tree.match(event)
            total += tree.work.nodes
        visited.append(total)
    assert visited[0] > visited[1] > visited[2]


def test_long_chains():
    """Each rule holds the one before it: as many levels as rules; and a wide rule."""
    names = [f"x{i}" for i in range(300)]
    rules = {i: " and ".join(names[: i + 2]) for i in range(298)}
    rules["wide"] = " or ".join(f"y{i}" for i in range(5000))
    tree = ATree(rules)
    check(tree, rules)
    assert sorted(tree.match(dict.fromkeys(names[:100], True))) == list(range(99))
    assert tree.match({"y4999": True}) == ["wide"]


def test_switches_that_exclude_each_other():
    with pytest.raises(ValueError, match="on_demand needs zero_suppression"):
        ATree(zero_suppression=False, on_demand=True)
    with pytest.raises(ValueError, match="reuse shared nodes"):
        ATree(sharing=False, reorganize=True)
    with pytest.raises(ValueError, match="access is 'best'"):
        ATree(access="best")


def test_signatures_start_again():
    tree = ATree({1: "a and b"})
    assert tree.match({"a": True, "b": True}) == [1]
    tree._event = (1 << 30) - 1
    assert tree.match({"a": True}) == []
    assert tree._event == 1
    assert tree.match({"a": True, "b": True}) == [1]


def test_the_kernel_is_compiled_once():
    ATree({1: "a and b"}).match({"a": True})
    ATree().match({})
    assert len(on_demand.signatures) == 1
