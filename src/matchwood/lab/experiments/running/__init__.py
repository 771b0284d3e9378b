"""Runs experiments, point by point.

    experiment ── points.plan ── experiment_runner.run ── point_worker ── measuring ── result_file
                  each point     what is missing          another        one point     one JSON line
                  once                                    process                      per point

- `points`: the points of experiments, their order, and the budget of one.
- `experiment_runner`: runs the points that have no result yet.
- `point_worker`: the process that measures, and is ended when a point takes too much.
- `measuring`: makes the workload, builds the contestant, times it and checks its answers.
- `contestants`: the algorithms of the papers and the engine, behind the same methods.
- `operator_calls`: the points whose predicates are calls of operators.
- `answer_check`: whether answers are right.
- `result_file`: the results, one line of JSON per point.
"""
