"""What holds for every rule, every text, every JSON and every event.

`pytest --hypothesis-profile thorough` looks further than the same examples of every run.
"""

import copy
import json
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from language.random_rules import (
    any_text,
    evaluable,
    event_values,
    events,
    json_values,
    mutated,
    odd_events,
    python_values,
    spaced_soup,
    token_soup,
    trees,
)
from matchwood import EventError, RuleError, attr, parse
from matchwood.language import at_least, call, evaluate, explain, from_json, to_json, var
from matchwood.language.builder import Attr, Var
from matchwood.language.names import KEYWORDS
from matchwood.language.text.tokens import TOKEN
from matchwood.language.tree import (
    And,
    AtLeast,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Constant,
    Elements,
    In,
    InList,
    IsNull,
    Like,
    LikeMany,
    Not,
    Or,
    SumComparison,
    TruthTest,
    VariableComparison,
    Xnor,
    Xor,
    fold,
    walk,
)
from matchwood.language.tree.arithmetic import Attribute, Sum, Variable

# Round trips


@given(trees)
def test_text_round_trip(tree):
    text = str(tree)
    again = parse(text)
    assert again == tree
    assert hash(again) == hash(tree)
    assert str(again) == text
    assert (again.size, again.levels) == (tree.size, tree.levels)
    assert eval(repr(tree), {"parse": parse}) == tree


@given(trees)
def test_json_round_trip(tree):
    form = to_json(tree)
    assert from_json(form) == tree
    text = json.dumps(form)
    assert from_json(text) == tree
    assert parse(text if text.startswith("{") else form) == tree
    assert json.dumps(to_json(from_json(text))) == text


@given(trees)
def test_copies_are_equal(tree):
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.copy(tree) is tree
    assert copy.deepcopy(tree) is tree


@given(trees, st.randoms(use_true_random=False))
def test_space_comments_and_the_case_of_keywords_mean_nothing(tree, rng):
    text, position = "", 0
    canonical = str(tree)
    while position < len(canonical):
        match = TOKEN.match(canonical, position)
        token, position = match[match.lastgroup], match.end()
        if match.lastgroup == "name" and token in KEYWORDS:
            token = "".join(rng.choice([c.upper(), c]) for c in token)
        text += token + rng.choice([" ", "\n", "  \t", " -- 'comment\n", " --\n--(\n"])
    assert parse(text) == tree


@given(st.text(max_size=3) | st.sampled_from(sorted(KEYWORDS)))
def test_names_that_are_taken_read_back(name):
    for build in (
        lambda: call(name),
        lambda: var(name) > 1,
        lambda: attr(name) > 1,
        lambda: call("f", attr(name)) | (var("x") < attr(name)),
    ):
        try:
            tree = build()
        except RuleError:
            continue
        assert parse(str(tree)) == tree
        assert from_json(json.dumps(to_json(tree))) == tree


COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
JOIN = {
    And: lambda a, b: a & b,
    Or: lambda a, b: a | b,
    Xor: lambda a, b: a ^ b,
}
ADD = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def built_side(side):
    if isinstance(side, Attribute):
        return Attr(side.name)
    if isinstance(side, Variable):
        return var(side.name)
    if not isinstance(side, Sum):
        return side
    stack = []
    for term in side.postfix:
        if not isinstance(term, str):
            stack.append(built_side(term))
            continue
        right, left = stack.pop(), stack.pop()
        # Python itself adds two numbers, so a sum of numbers alone cannot be built with +
        if not isinstance(left, Attr | Var) and not isinstance(right, Attr | Var):
            return Var(side)
        stack.append(ADD[term](left, right))
    return stack[0]


def built(node, operands):
    """The same node, built as Python users build it."""
    no = "not_" if getattr(node, "negated", False) else ""
    match node:
        case Constant():
            return node
        case Not():
            return ~operands[0]
        case Xnor():  # has no operator in Python
            return Xnor(operands)
        case And() | Or() | Xor():
            if type(operands[0]) is type(node):  # would continue the chain
                return type(node)(operands)
            result = operands[0]
            for operand in operands[1:]:
                result = JOIN[type(node)](result, operand)
            return result
        case Comparison():
            return COMPARE[node.op](Attr(node.attribute), node.value)
        case Between():
            return getattr(Attr(node.attribute), f"{no}between")(node.low, node.high)
        case In():
            method = "not_in" if node.negated else "isin"
            return getattr(Attr(node.attribute), method)(*node.values)
        case Like():
            return getattr(Attr(node.attribute), f"{no}{node.kind}")(node.pattern)
        case IsNull():
            subject = Attr(node.attribute)
            return subject.is_not_null() if node.negated else subject.is_null()
        case AttributeComparison():
            return COMPARE[node.op](Attr(node.left), Attr(node.right))
        case Call():
            return call(node.name, *map(built_side, node.arguments))
        case TruthTest():
            return getattr(operands[0], f"is_{no}{node.truth}")()
        case AtLeast():
            return at_least(node.count, *operands)
        case Elements():
            return getattr(Attr(node.attribute), node.kind)(fold(node.rule, built))
        case LikeMany():
            return getattr(Attr(node.attribute), f"{node.kind}_{node.which}")(*node.patterns)
        case InList():
            return getattr(Attr(node.attribute), f"{no}in_list")(node.name)
        case VariableComparison() | SumComparison():
            return COMPARE[node.op](built_side(node.left), built_side(node.right))


@given(trees)
def test_python_round_trip(tree):
    assert fold(tree, built) == tree


# Three-valued logic


@given(evaluable, events)
def test_negation(tree, event):
    truth = ask(tree, event)
    assert ask(~tree, event) == {True: False, False: True, None: None, ERROR: ERROR}[truth]
    assert ask(~~tree, event) == truth


@given(evaluable, evaluable, events)
def test_de_morgan(a, b, event):
    assert ask(~(a & b), event) == ask(~a | ~b, event)
    assert ask(~(a | b), event) == ask(~a & ~b, event)


@given(evaluable, evaluable, evaluable, events)
def test_parity(a, b, c, event):
    assert ask(Xor((a, b)), event) == ask((a & ~b) | (~a & b), event)
    assert ask(Xnor((a, b)), event) == ask(~Xor((a, b)), event)
    assert ask(Xor((a, b, c)), event) == ask(Xor((Xor((a, b)), c)), event)
    assert ask(Xor((a, b, c)), event) == ask(Xor((a, Xor((b, c)))), event)
    assert ask(Xnor((a, b, c)), event) == ask(Xnor((Xnor((a, b)), c)), event)


@given(evaluable, evaluable, evaluable, events)
def test_and_or_laws(a, b, c, event):
    assert ask(And((a, b)), event) == ask(And((b, a)), event)
    assert ask(And((a, b, c)), event) == ask(And((a, And((b, c)))), event)
    assert ask(Or((a, b, c)), event) == ask(Or((Or((a, b)), c)), event)
    assert ask(a & (b | c), event) == ask((a & b) | (a & c), event)
    assert ask(a | (b & c), event) == ask((a | b) & (a | c), event)


@given(
    st.lists(st.tuples(st.sampled_from([" xor ", " xnor "]), st.sampled_from("tfu")), max_size=9)
)
def test_mixed_parity_chains_fold_from_left_to_right(links):
    text, expected = "t", True
    for word, name in links:
        text += word + name
        value = {"t": True, "f": False, "u": None}[name]
        if expected is None or value is None:
            expected = None
        else:
            expected = (expected != value) is (word == " xor ")
    assert evaluate(parse(text), {"t": True, "f": False}) is expected


@given(evaluable, events)
def test_negative_forms_are_exact_negations(tree, event):
    def flipped(node, operands):
        match node:
            case Comparison() if node.op == "!=":
                return ~Comparison(node.attribute, "=", node.value)
            case Between() if node.negated:
                return ~Between(node.attribute, node.low, node.high)
            case In() if node.negated:
                return ~In(node.attribute, node.values)
            case Like() if node.negated:
                return ~Like(node.attribute, node.kind, node.pattern)
            case IsNull() if node.negated:
                return ~IsNull(node.attribute)
        if isinstance(node, Not):
            return ~operands[0]
        return node.over(operands) if operands else node

    assert ask(fold(tree, flipped), event) == ask(tree, event)


@given(evaluable, events)
def test_explanation_agrees(tree, event):
    truth = ask(tree, event)
    if truth is not ERROR:
        explanation = explain(tree, event)
        assert explanation.truth is truth
        assert len(explanation.lines) == len(list(walk(tree)))
        json.dumps(explanation.to_json())
        str(explanation)


ERROR = "EventError"


def ask(tree, event):
    """The truth, or that the event is refused."""
    try:
        return evaluate(tree, event)
    except EventError:
        return ERROR


# Nothing else is ever raised


def parse_or_refuse(text):
    try:
        parse(text)
    except RuleError as error:
        check_error(error, text)


def check_error(error, text):
    """An error of text has its place, can be written out if the text can, and can be pickled."""
    assert error.line >= 1
    assert error.column >= 1
    str(error).encode(errors="strict" if is_text(text) else "replace")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def is_text(text):
    return not any("\ud800" <= character <= "\udfff" for character in text)


@given(any_text)
@example("\ud800")
@example("a = '\udfff'")
@example("")
@example("\x00")
@example("{")
@example('{"attr": "\\ud800", "op": "is null"}')
@example('{"\\ud800": 1}')
@example('{"attr": "a", "op": "=", "value": 1e999}')
@example('{"attr": "a", "op": "=", "value": NaN}')
def test_any_text(text):
    parse_or_refuse(text)


@given(st.one_of(token_soup, spaced_soup))
def test_token_soup(text):
    parse_or_refuse(text)


@given(mutated(trees.map(str)))
def test_mutated_rules(text):
    parse_or_refuse(text)


@given(mutated(trees.map(to_json).map(json.dumps)))
def test_mutated_json(text):
    try:
        from_json(text)
    except RuleError as error:
        check_error(error, text)


@given(st.one_of(json_values, python_values))
@example({"attr": "a", "op": "in", "values": [float("nan")]})
def test_any_json(value):
    try:
        tree = from_json(value)
    except RuleError as error:
        str(error)
    else:
        assert from_json(to_json(tree)) == tree


@given(json_values)
def test_any_json_text(value):
    parse_or_refuse("{" + json.dumps(value)[1:])
    text = json.dumps(value)
    try:
        from_json(text)
    except RuleError as error:
        check_error(error, text)


@given(evaluable, st.one_of(odd_events, event_values))
def test_any_event(tree, event):
    try:
        assert evaluate(tree, event) in (True, False, None)
    except EventError as error:
        check_copy(error)


def check_copy(error):
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.attribute) == (str(error), error.attribute)


def test_values_that_hold_themselves():
    knot = {}
    knot["a"] = knot
    ring = []
    ring.append(ring)
    beads = []
    beads.append({"a": beads})
    rule = parse("a = 1")
    for event in (knot, {"a": beads}):
        with pytest.raises(EventError, match="nest at most"):
            evaluate(rule, event)
    assert evaluate(rule, {"a": ring}) is False

    rope = {}
    rope["and"] = [rope, rope]
    loop = {}
    loop["not"] = loop
    sums = {}
    sums["+"] = [sums, sums]
    for form in (rope, loop, {"left": sums, "op": "<", "right": 1}, {"call": "f", "args": ring}):
        with pytest.raises(RuleError) as caught:
            from_json(form)
        str(caught.value)


def test_integers_that_python_does_not_spell():
    huge = 10**5000
    forms = [huge, {"attr": "a", "op": "=", "value": huge}, {huge: 1}, {"and": [True, huge]}]
    for form in forms:
        with pytest.raises(RuleError) as caught:
            from_json(form)
        str(caught.value)
    for rule, truth in (("a > 1e400", True), ("a < 0", False), ("a like 'x'", None)):
        assert evaluate(parse(rule), {"a": huge}) is truth
        assert "a value of type int" in str(explain(parse(rule), {"a": huge}))
    with pytest.raises(EventError):
        evaluate(parse("a"), {"a": {huge: 1}})
