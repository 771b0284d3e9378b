"""matchwood as a target of pySigma: conditions become rules.

A `not` of Sigma has two values: an event without the field satisfies `not (field: value)`. It
becomes a test of truth, `(…) is not true`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, cast

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionItem,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.conversion.base import Backend
from sigma.conversion.state import ConversionState
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError, SigmaFeatureNotSupportedByBackendError
from sigma.rule import SigmaRule
from sigma.types import SigmaExpansion

from matchwood.imports.sigma.chains import either, every, otherwise
from matchwood.imports.sigma.misread import CORRELATION, refuse_misread
from matchwood.imports.sigma.predicates import field_predicate, keyword_predicate, unsupported
from matchwood.imports.sigma.rule_rows import any_of_texts, identity, rule_row
from matchwood.language import Node, RuleError

Leaf = ConditionFieldEqualsValueExpression
Callback = Callable[[Any, str | None, int, Any, Any], Any]


class MatchwoodBackend(Backend):
    """Converts Sigma rules for `sigma convert -t matchwood` and for `matchwood import sigma`."""

    name: ClassVar[str] = "matchwood"
    formats: ClassVar[dict[str, str]] = {
        "default": "Rules as text, one for each condition",
        "jsonl": "A table of rules as JSON lines, with ids, titles, tags and priorities",
    }
    requires_pipeline: ClassVar[bool] = False

    def __init__(
        self,
        processing_pipeline: Any = None,
        collect_errors: bool = False,
        text_patterns: bool | int | str = False,
        **options: Any,
    ) -> None:
        super().__init__(processing_pipeline, collect_errors, **options)
        self.text_patterns = str(text_patterns).lower() in ("true", "1", "yes")

    def convert_rule(
        self, rule: SigmaRule, output_format: str | None = None, callback: Callback | None = None
    ) -> list[Any]:
        try:
            refuse_misread(rule)
        except SigmaError as error:
            return self._refuse(rule, error)
        return super().convert_rule(rule, output_format, callback)

    def convert_correlation_rule(
        self,
        rule: SigmaCorrelationRule,
        output_format: str | None = None,
        method: str | None = None,
        callback: Callback | None = None,
    ) -> list[Any]:
        return self._refuse(rule, unsupported(CORRELATION))

    def _refuse(self, rule: Any, error: SigmaError) -> list[Any]:
        if not self.collect_errors:
            raise error
        self.errors.append((rule, error))
        return []

    # Conditions, as nodes; None for a part that a pipeline has dropped

    def convert_condition(self, cond: Any, state: ConversionState) -> Node | None:
        try:
            return cast(Node | None, super().convert_condition(cond, state))
        except RuleError as error:
            reason = str(error).splitlines()[0]
            raise unsupported(
                f"{cond.field}: {reason}" if isinstance(cond, Leaf) else reason
            ) from None

    def convert_condition_or(
        self, cond: ConditionOR | ConditionAND, state: ConversionState
    ) -> Node | None:
        parts = self._parts(cond, state)
        return either(parts) if parts else None

    def convert_condition_and(self, cond: ConditionAND, state: ConversionState) -> Node | None:
        parts = self._parts(cond, state)
        return every(parts) if parts else None

    def convert_condition_not(self, cond: ConditionNOT, state: ConversionState) -> Node | None:
        parts = self._parts(cond, state)
        return otherwise(parts[0]) if parts else None

    def _parts(self, cond: ConditionItem, state: ConversionState) -> list[Node]:
        parts = [self.convert_condition(part, state) for part in cond.args]
        return [part for part in parts if part is not None]

    def convert_condition_field_eq_val(self, cond: Leaf, state: ConversionState) -> Node | None:
        if isinstance(cond.value, SigmaExpansion):
            return cast(Node | None, self.convert_condition_field_eq_expansion(cond, state))
        try:
            return field_predicate(cond.field, cond.value, self.text_patterns)
        except SigmaFeatureNotSupportedByBackendError as error:
            raise unsupported(f"{cond.field}: {error}") from None

    def convert_condition_val(
        self, cond: ConditionValueExpression, state: ConversionState
    ) -> Node | None:
        if isinstance(cond.value, SigmaExpansion):
            values = [ConditionValueExpression(value) for value in cond.value.values]
            return self.convert_condition_or(ConditionOR(list(values), None), state)
        try:
            return keyword_predicate(cond.value, self.text_patterns)
        except SigmaFeatureNotSupportedByBackendError as error:
            raise unsupported(f"keyword: {error}") from None

    # pySigma declares a method for each kind of value, to which the two above dispatch.
    convert_condition_as_in_expression = convert_condition_or
    convert_condition_field_eq_val_str = convert_condition_field_eq_val
    convert_condition_field_eq_val_str_case_sensitive = convert_condition_field_eq_val
    convert_condition_field_eq_val_num = convert_condition_field_eq_val
    convert_condition_field_eq_val_timestamp_part = convert_condition_field_eq_val
    convert_condition_field_eq_val_bool = convert_condition_field_eq_val
    convert_condition_field_eq_val_re = convert_condition_field_eq_val
    convert_condition_field_eq_val_cidr = convert_condition_field_eq_val
    convert_condition_field_compare_op_val = convert_condition_field_eq_val
    convert_condition_field_eq_field = convert_condition_field_eq_val
    convert_condition_field_eq_val_null = convert_condition_field_eq_val
    convert_condition_field_exists = convert_condition_field_eq_val
    convert_condition_field_not_exists = convert_condition_field_eq_val
    convert_condition_field_eq_query_expr = convert_condition_field_eq_val
    convert_condition_val_str = convert_condition_val
    convert_condition_val_num = convert_condition_val
    convert_condition_val_re = convert_condition_val
    convert_condition_query_expr = convert_condition_val

    # The same for kinds of correlations, all of which convert_correlation_rule refuses.
    def _convert_correlation(
        self, rule: SigmaCorrelationRule, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        return self._refuse(rule, unsupported(CORRELATION))

    convert_correlation_event_count_rule = _convert_correlation
    convert_correlation_value_count_rule = _convert_correlation
    convert_correlation_temporal_rule = _convert_correlation
    convert_correlation_temporal_ordered_rule = _convert_correlation
    convert_correlation_extended_temporal_rule = _convert_correlation
    convert_correlation_extended_temporal_ordered_rule = _convert_correlation
    convert_correlation_value_sum_rule = _convert_correlation
    convert_correlation_value_avg_rule = _convert_correlation
    convert_correlation_value_percentile_rule = _convert_correlation
    convert_correlation_value_median_rule = _convert_correlation

    # Formats

    def finish_query(self, rule: Any, query: Any, state: ConversionState) -> str:
        return str(query)

    def finalize_query_jsonl(
        self, rule: SigmaRule, query: str, index: int, state: ConversionState
    ) -> str:
        source = str(rule.source.path) if rule.source else ""
        row = rule_row(rule, query, source, identity(rule)).row()
        return json.dumps(row, ensure_ascii=False)

    def finalize_output_jsonl(self, queries: list[str]) -> str:
        """The lines of a table; the conditions of one rule become one line."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in map(json.loads, queries):
            rows.setdefault(json.dumps(row | {"rule": ""}), []).append(row)
        return "\n".join(
            json.dumps(of[0] | {"rule": any_of_texts([r["rule"] for r in of])}, ensure_ascii=False)
            for of in rows.values()
        )
