"""The report: one HTML page with the questions, the plots, and the papers' sentences with verdicts.

- `page`: the page.
- `comparisons`: the questions at its top, answered from all points together.
- `plots`: one plot per measure of an experiment, as SVG.
"""
