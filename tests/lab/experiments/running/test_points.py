"""Points of experiments are planned once each, and in an order that a run can stop and go on in."""

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.fontoura_figures import DEWEY
from matchwood.lab.experiments.running.points import plan, point

KNOWN = experiments()


def test_figures_of_the_same_runs_share_their_points():
    one = plan([KNOWN["atree-fig12b"]], "small")
    assert len(one) == 6 * 8
    both = plan([KNOWN["atree-fig12b"], KNOWN["atree-fig11b"], KNOWN["atree-fig13b"]], "small")
    assert {step.point.key for step in both} == {step.point.key for step in one}


def test_rules_in_their_own_order_are_those_of_other_figures():
    orders = {step.point.key for step in plan([KNOWN["atree-fig9-orders"]], "small")}
    others = {step.point.key for step in plan([KNOWN["atree-fig9"]], "small")}
    assert len(orders & others) == 6


def test_contestants_of_a_workload_follow_each_other_the_engine_first():
    steps = plan(KNOWN.values(), "small")
    keys = [step.point.workload_key for step in steps]
    firsts = [keys.index(place) for place in dict.fromkeys(keys)]
    assert len(dict.fromkeys(keys)) == len(set(keys))
    for begin, end in zip(firsts, [*firsts[1:], len(keys)], strict=True):
        assert len(set(keys[begin:end])) == 1
        assert steps[begin].point.algorithm == "engine"


def test_what_a_point_may_be_bound_by_comes_before_it():
    seen: set[str] = set()
    for step in plan(KNOWN.values(), "small"):
        assert set(step.before) <= seen
        seen.add(step.point.key)


def test_only_more_of_the_same_is_bound():
    deeper = [step for step in plan([KNOWN["atree-fig12b"]], "small") if step.before]
    assert len(deeper) == 5 * 8
    assert not any(step.before for step in plan([KNOWN["atree-fig12d"]], "small"))


def test_a_switch_may_be_a_setting_of_one_workload():
    """The depth of a rule is that of its leaves only among the paper's own rules."""
    papers = {"walk": True, "share": False}
    assert point(DEWEY, "fontoura", {"depth": 3}).switches == {**papers, "depth": 3}
    assert point(DEWEY, "fontoura", {}).switches == {**papers, "depth": 2}
    assert point(DEWEY, "abe-gen", {"depth": 3}).switches == papers
