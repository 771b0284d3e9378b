"""Our rules in the syntaxes of peers; `Untranslatable` says what a syntax cannot express.

- `a_tree_text`: expressions of the crate a-tree.
- `event_patterns`: patterns of event-ruler.
- `filters`: SQL for DuckDB, and expressions for Polars.
- `quamina_patterns`: patterns of quamina.
- `sigma_rules`: Sigma rules for rsigma-eval.
- `text_patterns`: what tests of strings have in common.

For the package rule-engine see `matchwood.lab.bench.rule_engine_syntax`.
"""
