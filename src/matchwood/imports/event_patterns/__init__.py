"""EventBridge's event patterns and SNS's filter policies, as event-ruler reads them.

A pattern names fields, and for each the values that it may have: a leaf of the event that is
missing has no value, and of a list any value will do. Where several fields are in the objects of
one list, the same object must have them all.

    comparisons    the list of one field: what its value may be
    spellings      texts of patterns, as patterns of the rule language
    branches       a pattern with `$or` as conjunctions of fields
    consistency    a conjunction of fields as a rule, with `any` for what may be a list
    patterns       a pattern as a rule
    eventbridge    files of patterns, and what the command line of AWS prints
    sns            files of filter policies, and attributes of subscriptions

matchwood does not tell null from a missing attribute: a rule means of an event what the pattern
means of the event without its nulls. A pattern that asks for null alone is not imported, and a rule
for which nulls may matter says so, as it does of other events that event-ruler reads otherwise.
"""
