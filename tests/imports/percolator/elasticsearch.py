"""A plain evaluator of queries, written from Elasticsearch's documentation.

A document is indexed first: each field has a list of values of its type, nulls and empty lists have
none, and each element of a nested object is a document of its own. A query is true or false.
"""

import ipaddress
import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def true_of(query, document, types, prefix=""):
    """Whether a query is true; `types` are the types of fields, by their whole names."""
    ((name, form),) = query.items()
    if name == "match_all":
        return True
    if name == "match_none":
        return False
    if name == "bool":
        return boolean(form, lambda inner: true_of(inner, document, types, prefix))
    if name == "constant_score":
        return true_of(form["filter"], document, types, prefix)
    if name == "dis_max":
        return any(true_of(inner, document, types, prefix) for inner in form["queries"])
    if name == "boosting":
        return true_of(form["positive"], document, types, prefix)
    if name == "nested":
        path = form["path"]
        elements = list(nested_documents(document, path[len(prefix) :].split(".")))
        return any(true_of(form["query"], each, types, f"{path}.") for each in elements)
    if name == "exists":
        return bool(indexed(document, form["field"], types, prefix))
    ((field, value),) = form.items()
    values = indexed(document, field, types, prefix)
    return any(OF_VALUE[name](value, each, types[field]) for each in values)


def boolean(form, holds):
    def clauses(name):
        given = form.get(name, [])
        return given if isinstance(given, list) else [given]

    if not all(map(holds, clauses("must") + clauses("filter"))):
        return False
    if any(map(holds, clauses("must_not"))):
        return False
    should = clauses("should")
    required = bool(clauses("must") + clauses("filter"))
    wanted = minimum(form.get("minimum_should_match"), len(should))
    if wanted <= 0 and should and not required:
        wanted = 1
    return sum(map(holds, should)) >= wanted


def minimum(spec, count):
    """Of the documentation: integers, negative ones, percentages rounded down, combinations."""
    if spec is None:
        return 0
    spec = str(spec)
    if "<" in spec:
        chosen = None
        for part in spec.split():
            bound, inner = part.split("<")
            if count > int(bound):
                chosen = inner
        return count if chosen is None else minimum(chosen, count)
    if spec.endswith("%"):
        percent = int(spec[:-1])
        share = abs(percent) * count // 100
        return share if percent >= 0 else count - share
    return int(spec) if int(spec) >= 0 else count + int(spec)


# Documents


def nested_documents(document, path):
    found = [document]
    for name in path:
        found = [inner for each in found for inner in listed(each.get(name))]
        found = [each for each in found if isinstance(each, dict)]
    return found


def listed(value):
    if isinstance(value, list):
        return [inner for each in value for inner in listed(each)]
    return [] if value is None else [value]


def indexed(document, field, types, prefix):
    """The values of a field, of its type."""
    kind = types[field]
    found = [document]
    for name in kind.get("path", field)[len(prefix) :].split("."):
        inner = [listed(each.get(name)) for each in found if isinstance(each, dict)]
        found = [each for several in inner for each in several]
    values = [to_type(value, kind) for value in found]
    return [value for value in values if value is not None]


def to_type(value, kind):
    name = kind["type"]
    if name == "keyword":
        text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
        if len(text) > kind.get("ignore_above", len(text)):
            return None
        return lower(text) if "normalizer" in kind else text
    if name == "boolean":
        return value in (True, "true")
    if name == "date":
        return moment(value) if isinstance(value, str) else int(value)
    if name == "ip":
        return address(value)
    return value


def lower(text):
    return "".join(each.lower()[0] for each in text)


def moment(text):
    read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    read = read if read.tzinfo else read.replace(tzinfo=UTC)
    return (read - EPOCH) // timedelta(milliseconds=1)


def address(text):
    found = ipaddress.ip_address(text)
    return int(found) + (0xFFFF << 32 if found.version == 4 else 0)


# Queries of one value


def term(value, has, kind):
    case = isinstance(value, dict) and value.get("case_insensitive")
    wanted = value["value"] if isinstance(value, dict) else value
    name = kind["type"]
    if name == "ip" and "/" in str(wanted):
        network = ipaddress.ip_network(wanted)
        first = address(str(network.network_address))
        return first <= has < first + network.num_addresses
    if name == "date":
        return between({"gte": wanted, "lte": wanted}, has, kind)
    if name in ("long", "double"):
        return has == float(wanted)
    wanted = to_type(wanted, {**kind, "ignore_above": 10_000})
    return ascii_folded(has) == ascii_folded(wanted) if case else has == wanted


def ascii_folded(text):
    return "".join(each.lower() if each.isascii() else each for each in text)


def between(form, has, kind):
    for op, holds in BOUNDS.items():
        if op in form and not holds(has, bound(form[op], op, kind)):
            return False
    return True


BOUNDS = {
    "gte": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "lte": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
}


def bound(value, op, kind):
    """A bound; of a date without a time, `gt` and `lte` mean the end of the day."""
    if kind["type"] == "date" and isinstance(value, str):
        if len(value) == 10 and op in ("gt", "lte"):
            return moment(f"{value}T23:59:59.999Z")
        return moment(value)
    if kind["type"] in ("long", "double"):
        return float(value)
    return to_type(value, {**kind, "ignore_above": 10_000})


def prefix(value, has, kind):
    case = isinstance(value, dict) and value.get("case_insensitive")
    wanted = value["value"] if isinstance(value, dict) else value
    wanted = lower(wanted) if "normalizer" in kind else wanted
    return ascii_folded(has).startswith(ascii_folded(wanted)) if case else has.startswith(wanted)


def wildcard(value, has, kind):
    case = isinstance(value, dict) and value.get("case_insensitive")
    pattern = value["value"] if isinstance(value, dict) else value
    pattern = lower(pattern) if "normalizer" in kind else pattern
    return covers(ascii_folded(pattern), ascii_folded(has)) if case else covers(pattern, has)


def covers(pattern, text):
    """`*` is any text, `?` one character, and a backslash makes the next one ordinary."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(covers(pattern[1:], text[at:]) for at in range(len(text) + 1))
    if pattern[0] == "\\" and len(pattern) > 1:
        return text[:1] == pattern[1] and covers(pattern[2:], text[1:])
    return bool(text) and (pattern[0] in ("?", text[0])) and covers(pattern[1:], text[1:])


def regexp(value, has, kind):
    """For patterns that Python reads alike; `^` and `$` are ordinary characters in Lucene."""
    pattern = value.replace("^.", "\\^.").replace("$", "\\$")
    return re.fullmatch(pattern, has, re.DOTALL | re.ASCII) is not None


OF_VALUE = {
    "term": term,
    "match": lambda value, has, kind: term(value, has, kind),
    "terms": lambda values, has, kind: any(term(value, has, kind) for value in values),
    "range": between,
    "prefix": prefix,
    "wildcard": wildcard,
    "regexp": regexp,
}
