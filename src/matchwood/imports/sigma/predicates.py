"""The values of Sigma detections as predicates.

Sigma compares case-insensitively, as strings: the value `4625` is found in an event that has the
number 4625, and in one that has the text '4625'; the value `true` also in one that has a boolean.
There is no predicate for the numbers whose texts a pattern matches, so a pattern that matches some
of them is refused, unless the caller says that patterns are meant for text only.
"""

from __future__ import annotations

from decimal import Decimal

from sigma.exceptions import SigmaFeatureNotSupportedByBackendError
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaQueryExpression,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
)

from matchwood.imports.sigma.chains import either
from matchwood.imports.sigma.number_texts import (
    Numbers,
    Wildcard,
    expression_may_match,
    number_of_text,
    numbers_matched,
    text_of_number,
)
from matchwood.language import Node, attr, parse
from matchwood.language.builder import Attr
from matchwood.language.strings import ilike, like, rlike
from matchwood.language.text.printing import attribute_text

WILDCARDS = {
    SpecialChars.WILDCARD_MULTI: Wildcard.MANY,
    SpecialChars.WILDCARD_SINGLE: Wildcard.ONE,
}
BOOLEANS = {"true": True, "false": False}

Pattern = list[str | Wildcard]  # characters and wildcards


def field_predicate(field: str, value: SigmaType, text_patterns: bool) -> Node:
    """That a field has a value."""
    subject = Attr(field)
    match value:
        case SigmaNull():
            return subject.is_null()
        case SigmaExists():
            return subject.is_not_null() if value.exists else subject.is_null()
        case SigmaFieldReference():
            return _is_same_as(subject, value)
        case SigmaCIDRExpression():
            return subject.in_network(str(value.network))
        case SigmaCompareExpression():
            return _compares(subject, value)
        case SigmaQueryExpression():
            return parse(value.finalize(field=attribute_text(field)))
        case SigmaRegularExpression():
            return _has_expression(subject, value, text_patterns)
    return _matches(subject, _pattern_of(value), _is_cased(value), text_patterns)


def keyword_predicate(value: SigmaType, text_patterns: bool) -> Node:
    """That some value of the event has a keyword in it."""
    everything = attr("*")
    match value:
        case SigmaQueryExpression():
            return parse(value.finalize())
        case SigmaRegularExpression():
            return _has_expression(everything, value, text_patterns)
    keyword = _pattern_of(value)
    part = _matches(
        everything, [Wildcard.MANY, *keyword, Wildcard.MANY], _is_cased(value), text_patterns
    )
    if text_patterns and number_of_text(_text_of(keyword)) is not None:
        return either([part, _is_text(everything, _text_of(keyword), cased=True)])
    return part


def unsupported(reason: str) -> SigmaFeatureNotSupportedByBackendError:
    """The error for what cannot be said exactly."""
    return SigmaFeatureNotSupportedByBackendError(reason)


# Text and patterns


def _pattern_of(value: SigmaType) -> Pattern:
    """The characters and wildcards of a value."""
    match value:
        case SigmaTimestampPart():
            part = value.timestamp_part.name.lower()
            raise unsupported(f"it asks for the {part} of a time, which a rule cannot")
        case SigmaNumber():
            return list(text_of_number(value.number))
        case SigmaBool():
            return list(str(value).lower())
        case SigmaString():
            _refuse_placeholders(value)
            pattern: Pattern = []
            for piece in value.s:
                if isinstance(piece, SpecialChars):
                    pattern.append(WILDCARDS[piece])
                else:
                    pattern.extend(str(piece))
            return pattern
    raise unsupported(f"a value of the type {type(value).__name__} is not known")


def _is_cased(value: SigmaType) -> bool:
    return isinstance(value, SigmaCasedString)


def _refuse_placeholders(value: SigmaString) -> None:
    names = [f"%{part.name}%" for part in value.s if isinstance(part, Placeholder)]
    if names:
        raise unsupported(
            f"the placeholder {', '.join(names)} has no values: give a pipeline that expands it"
        )


def _text_of(pattern: Pattern) -> str:
    return "".join(part.value if isinstance(part, Wildcard) else part for part in pattern)


def _matches(subject: Attr, pattern: Pattern, cased: bool, text_patterns: bool) -> Node:
    if not any(isinstance(part, Wildcard) for part in pattern):
        return _is_text(subject, _text_of(pattern), cased)
    written = _like_pattern(pattern)
    covers = like if cased else ilike
    found = [subject.like(written) if cased else subject.ilike(written)]
    found += [subject.eq(truth) for text, truth in BOOLEANS.items() if covers(text, written)]
    numbers = numbers_matched(pattern)
    if numbers is Numbers.ALL:
        found += [subject >= 0, subject < 0]
    elif numbers is Numbers.SOME and not text_patterns:
        raise _would_match_numbers(f"the pattern {_text_of(pattern)!r}")
    return either(found)


def _would_match_numbers(what: str) -> SigmaFeatureNotSupportedByBackendError:
    return unsupported(
        f"{what} also matches numbers as text, which a rule cannot ask for; if it is meant for "
        "text only, import with --text-patterns"
    )


def _is_text(subject: Attr, text: str, cased: bool) -> Node:
    """That a value is this text, or what has this text."""
    values: list[object] = []
    number = number_of_text(text)
    if number is not None:
        values.append(number)
    truth = BOOLEANS.get(text if cased else text.lower())
    if truth is not None:
        values.append(truth)
    if cased or (text.isascii() and text.lower() == text.upper()):
        return either([subject.eq(value) for value in (*values, text)])
    return either([*(subject.eq(value) for value in values), subject.ilike(_escaped(text))])


def _like_pattern(pattern: Pattern) -> str:
    written = {Wildcard.MANY: "%", Wildcard.ONE: "_"}
    return "".join(
        written[part] if isinstance(part, Wildcard) else _escaped(part) for part in pattern
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


# Regular expressions, fields and numbers


def _has_expression(subject: Attr, value: SigmaRegularExpression, text_patterns: bool) -> Node:
    _refuse_placeholders(value.regexp)
    source = str(value.regexp)
    flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
    expression = f"(?{flags}){source}" if flags else source
    found = [subject.rlike(expression)]
    found += [subject.eq(truth) for text, truth in BOOLEANS.items() if rlike(text, expression)]
    if not text_patterns and expression_may_match(source):
        raise _would_match_numbers(f"the regular expression {source!r}")
    return either(found)


def _is_same_as(subject: Attr, value: SigmaFieldReference) -> Node:
    if value.starts_with or value.ends_with:
        raise unsupported(
            f"it asks whether the value of {value.field!r} is a part of another field's value "
            "regardless of case, which a rule cannot"
        )
    other = Attr(value.field)
    return either([subject.lower() == other.lower(), subject == other])


def _compares(subject: Attr, value: SigmaCompareExpression) -> Node:
    text = _text_of(_pattern_of(value.number))
    number = Decimal(text)
    match value.op:
        case CompareOperators.LT:
            return subject < number
        case CompareOperators.LTE:
            return subject <= number
        case CompareOperators.GT:
            return subject > number
        case CompareOperators.GTE:
            return subject >= number
        case CompareOperators.NEQ:
            return _is_text(subject, text, cased=True).is_not_true()
