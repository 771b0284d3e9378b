"""Dialects: rules that were written as another engine's SQL, and what to write here instead.

The hints come from the text alone, token by token, so rules that do not parse have them too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matchwood.check.dialects.spark import spark_hints
from matchwood.language.errors import RuleError


@dataclass(frozen=True)
class Dialect:
    """An engine whose rules may have to be rewritten."""

    name: str
    hints: Callable[[str], list[RuleError]]  # each with its place in the text
    casts: str  # what to add where a literal is of another family than the attribute
    folds_names: bool  # `Age` and `age` are one name


DIALECTS = {
    "spark": Dialect(
        "spark",
        spark_hints,
        "Spark would cast; here nothing is cast: write a literal of the attribute's own family",
        True,
    )
}
