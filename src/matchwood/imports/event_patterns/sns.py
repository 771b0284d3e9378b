"""Files of filter policies.

A file holds a policy; a subscription with its policy, such as
`aws sns get-subscription-attributes` prints; or a list of either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matchwood.imports.event_patterns.patterns import rule_of_pattern, rule_of_policy
from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.imports.json_documents import documents
from matchwood.imports.records import Columns, Record, imported, records
from matchwood.language.tree import Constant, Node

# What a policy is about.
SCOPES = ("MessageAttributes", "MessageBody")

COLUMNS = Columns(
    listed="Subscriptions",
    names=("SubscriptionArn", "name", "id"),
    conditions=("FilterPolicy", "policy"),
    titles=("description", "title"),
    wrapper="Attributes",
)


def read_rules(
    sources: Sequence[Path], scope: str = SCOPES[0]
) -> Iterator[ImportedRule | NotImported]:
    """The rules of files and folders of policies; `scope` is that of those that name none."""
    if scope not in SCOPES:
        raise ValueError(f"the scope of a filter policy is {' or '.join(SCOPES)}, found {scope!r}")
    return _read(sources, scope)


def _read(sources: Sequence[Path], scope: str) -> Iterator[ImportedRule | NotImported]:
    for document in documents(sources):
        if isinstance(document, NotImported):
            yield document
            continue
        for record in records(document, COLUMNS):
            yield imported(record, lambda record, differs: _rule(record, scope, differs))


def _rule(record: Record, scope: str, differs: set[str]) -> Node:
    if record.fields.get("PendingConfirmation") == "true":
        raise Inexpressible("the subscription is not confirmed, and gets no message")
    if record.condition is None:
        if "SubscriptionArn" in record.fields and not record.wrapped:
            raise Inexpressible(
                "list-subscriptions prints no filter policies; get-subscription-attributes does"
            )
        return Constant(True)  # a subscription without a policy gets every message
    scope = record.fields.get("FilterPolicyScope", scope)
    if scope not in SCOPES:
        raise Inexpressible(f"no scope of filter policies is called {scope!r}")
    if scope == "MessageBody":
        return rule_of_pattern(record.condition, differs=differs)
    _check_flat(record.condition)
    return rule_of_policy(record.condition, differs)


def _check_flat(policy: Any) -> None:
    for name, inner in policy.items() if isinstance(policy, dict) else ():
        if isinstance(inner, dict):
            raise Inexpressible(
                "attributes of messages are not nested; is the scope MessageBody?", name
            )
