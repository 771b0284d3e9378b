"""Files of filter policies: the scopes, and what AWS prints of subscriptions."""

import json
from pathlib import Path
from typing import Any

import pytest

from matchwood.imports import ImportedRule, NotImported, read
from matchwood.language import evaluate, parse

POLICY = {"store": ["a", {"prefix": "b"}], "price.usd": [{"numeric": [">", 5]}]}
BODY = {"order": {"id": [1], "lines": {"sku": ["x"], "count": [2]}}}


def rules(path: Path, value: Any, **options: str) -> list[ImportedRule | NotImported]:
    path.write_text(json.dumps(value))
    return list(read("sns", path, **options))


def only(path: Path, value: Any, **options: str) -> str:
    (found,) = rules(path, value, **options)
    return found.rule if isinstance(found, ImportedRule) else found.reason


def test_a_policy_of_attributes(tmp_path: Path) -> None:
    rule = only(tmp_path / "policy.json", POLICY)
    assert rule == "price.usd > 5 and (store = 'a' or store like 'b%')"
    assert evaluate(parse(rule), {"store": ["x", "bc"], "price.usd": 6}) is True


def test_a_policy_of_bodies(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    expected = "any(order, id = 1 and any(lines, count = 2 and sku = 'x'))"
    assert only(path, BODY, scope="MessageBody") == expected
    assert only(path, BODY).startswith("order: attributes of messages are not nested")
    with pytest.raises(ValueError, match="MessageAttributes or MessageBody, found 'body'"):
        only(path, BODY, scope="body")


def test_attributes_of_subscriptions(tmp_path: Path) -> None:
    def attributes(number: int, **more: str) -> dict[str, Any]:
        arn = f"arn:aws:sns:eu-west-1:1:orders:{number}"
        return {"Attributes": {"SubscriptionArn": arn, "Protocol": "sqs", **more}}

    policy, body = json.dumps(POLICY), json.dumps(BODY)
    path = tmp_path / "subscriptions.json"
    found = rules(
        path,
        [
            attributes(1, FilterPolicy=policy, FilterPolicyScope="MessageAttributes"),
            attributes(2, FilterPolicy=body, FilterPolicyScope="MessageBody"),
            attributes(3),
            attributes(4, FilterPolicy=policy, FilterPolicyScope="Everything"),
        ],
    )
    assert [each.id.rpartition(":")[2] for each in found] == ["1", "2", "3", "4"]
    kept = [each for each in found if isinstance(each, ImportedRule)]
    assert kept[0].data == {"Protocol": "sqs", "FilterPolicyScope": "MessageAttributes"}
    assert kept[1].rule.startswith("any(order, ")
    assert kept[2].rule == "true"
    assert str(found[3]).endswith("no scope of filter policies is called 'Everything'")
    pending = attributes(6, FilterPolicy=policy, PendingConfirmation="true")
    assert only(path, pending) == "the subscription is not confirmed, and gets no message"
    alone = attributes(5, FilterPolicy=policy)
    assert only(path, alone).startswith("price.usd > 5")


def test_a_list_of_subscriptions_has_no_policies(tmp_path: Path) -> None:
    listed = {"Subscriptions": [{"SubscriptionArn": "arn:1", "Protocol": "sqs"}]}
    assert "prints no filter policies" in only(tmp_path / "listed.json", listed)
