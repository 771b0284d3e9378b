"""What rules and subscriptions carry, any JSON, as text that both databases can store."""

from __future__ import annotations

from matchwood.language.events import MAX_DEPTH
from matchwood.service.nesting import nests_within
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Limits
from matchwood.tables.rule_data import data_text


def checked_data(data: object, limits: Limits) -> str:
    """Data as JSON text, empty if there is none, or a problem."""
    try:
        if not nests_within(data, MAX_DEPTH):
            raise ValueError(f"the data of a rule nests at most {MAX_DEPTH} deep")
        text = data_text(data)
        if "\\u0000" in text:
            raise ValueError("the data of a rule must not contain the character U+0000")
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestProblem("invalid-rule", str(error)) from None
    if len(text.encode()) > limits.rule_bytes:
        detail = f"the data of a rule may have at most {limits.rule_bytes:,} bytes"
        raise RequestProblem("rule-too-large", detail, limit=limits.rule_bytes)
    return text
