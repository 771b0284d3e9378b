"""Operators: functions that rules call, which cost, and may bind variables."""

from matchwood.operators.registry import Operator, Operators, load, operator

__all__ = ["Operator", "Operators", "load", "operator"]
