"""The report: one HTML page with the questions, the plots, and the papers' claims beside ours.

- `page`: the page.
- `comparisons`: the questions at its top, answered from all points together.
- `plots`: one plot per measure of an experiment, as SVG.
"""
