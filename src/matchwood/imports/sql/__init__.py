"""Tables of conditions in SQL: CSV, JSONL, Parquet and Delta.

    rule_tables        `read_rules`: the rows of tables, as rules with tags, priority and data
    spark_syntax       a condition as Spark parses it
    spark_literals     strings and numbers as Spark spells them
    spark_columns      columns with their types
    spark_casts        what casts do, in `cast` and to literals beside columns
    spark_values       operands: columns, literals, and choices between these
    spark_predicates   what a comparison, a pattern or a test for null says of operands
    spark_functions    the functions that are conditions, or choices between values
    spark_rules        a condition of Spark as a rule
    java_patterns      regular expressions of Java, for RE2

Without a dialect, a condition is a rule already. With `dialect="spark"` it is read as Spark reads
it, and rewritten where the language of rules says the same.
"""

from matchwood.imports.sql.rule_tables import read_rules

__all__ = ["read_rules"]
