"""JSONLogic, as its library for JavaScript reads it.

    files           files of rules
    conversion      an expression as a rule, operator by operator
    values          what an expression may have as its value, and in which case
    comparisons     the comparisons of two values, with JavaScript's conversions
    membership      `in`: a value in a list, or a text in a string
    spelled_numbers strings that are numbers, as regular expressions

A rule that is made here is true where the expression is truthy. An expression that is converted to
a value, such as one of `if`, becomes cases: a condition, and the value that it has then. Comparing
two expressions compares the values of each pair of cases.

What some events have cannot be said of in the same way, such as a null where there is a default: a
rule for which this may matter names these kinds of events.
"""
