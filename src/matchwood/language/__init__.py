"""The rule language: text, JSON and Python forms of one tree, and what the tree means.

    text    ── text/parser ──┐
    JSON    ── json/form   ──┼── tree ──┬── evaluation   true, false or undefined of an event
    Python  ── builder     ──┘          ├── explanation  why, node by node
                                        └── text/printing, json/form

    rule_forms    `parse`, for a rule in any of the three forms
    tree/         what a rule is made of
    text/         rule text to tree, and back
    json/         the JSON form to tree, and back
    builder       rules in Python: attr, it, at_least, var, call
    evaluation    `evaluate`: the meaning of the language
    joins         which calls and comparisons share variables
    bindings      the values that calls bind to variables
    explanation   `explain`: a rule with a truth at each node
    predicate_truth  the truth of one predicate
    events        an event as attributes with values
    seen          what predicates see of a value
    lists         what predicates see of a list
    subjects      what predicates see of `lower(a)` and `*`
    aliases       other names under which events have attributes
    named_lists   the lists that `in list` looks up
    values        numbers, strings, booleans and times
    strings       `like`, `ilike` and `rlike`
    wildcards     where a piece of a `like` pattern is found
    remembered    what was computed lately, within a budget of bytes
    names         names and keywords
    errors        RuleError and EventError

The tree is the lowest layer: it imports neither the text nor the JSON form.
"""

from matchwood.language.builder import at_least, attr, call, it, var
from matchwood.language.errors import EventError, RuleError
from matchwood.language.evaluation import evaluate
from matchwood.language.explanation import explain
from matchwood.language.json.form import from_json, to_json
from matchwood.language.rule_forms import parse
from matchwood.language.text.parser import parse_canonical
from matchwood.language.text.printing import to_text
from matchwood.language.tree import Node
from matchwood.language.tree.nodes import TextForm, use_text_form

__all__ = [
    "EventError",
    "Node",
    "RuleError",
    "at_least",
    "attr",
    "call",
    "evaluate",
    "explain",
    "from_json",
    "it",
    "parse",
    "to_json",
    "var",
]

use_text_form(TextForm(to_text, parse_canonical))
