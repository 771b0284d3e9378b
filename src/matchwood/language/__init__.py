"""The rule language: text, JSON and Python forms of one tree, and `evaluate`, its meaning."""

from matchwood.language.builder import attr, call, var
from matchwood.language.errors import EventError, RuleError
from matchwood.language.evaluation import evaluate
from matchwood.language.explanation import explain
from matchwood.language.json_form import from_json, to_json
from matchwood.language.text import parse
from matchwood.language.tree import Node

__all__ = [
    "EventError",
    "Node",
    "RuleError",
    "attr",
    "call",
    "evaluate",
    "explain",
    "from_json",
    "parse",
    "to_json",
    "var",
]
