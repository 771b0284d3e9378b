"""Dialects: hints for rules that were written in the SQL of another engine.

A hint says what to write instead. Hints come from the text alone, token by token, so that rules
which do not parse get them too.

    spark_sql    what differs in Spark SQL
    functions    functions of Spark SQL, and what to write instead
    patterns     regular expressions of Java that RE2 lacks or reads in another way
    sql_tokens   the tokens of SQL
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matchwood.check.dialects.spark_sql import spark_hints
from matchwood.language.errors import RuleError


@dataclass(frozen=True)
class Dialect:
    """An engine whose rules may have to be rewritten."""

    name: str
    hints: Callable[[str], list[RuleError]]  # each with its position in the text
    casts: str  # what to add to a warning about a literal of another family than the attribute
    folds_names: bool  # whether `Age` and `age` are the same name


DIALECTS = {
    "spark": Dialect(
        "spark",
        spark_hints,
        "Spark would cast; here nothing is cast: write a literal of the attribute's own family",
        True,
    )
}
