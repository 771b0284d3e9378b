"""The schema of the paper's example: auctions of antiques and furniture."""

from matchwood import Schema

FORM = {
    "domains": {
        "rating": {"minimum": 0, "maximum": 5},
        "century": {"values": ["XVI", "XVII", "XVIII"], "order": "listed"},
        "condition": {
            "values": ["poor", "restored", "good", "mint"],
            "order": [["poor", "restored", "mint"], ["poor", "good", "mint"]],
        },
    },
    "hierarchies": {
        "furniture": {
            "dining table": "table",
            "table": "furniture",
            "chair": "furniture",
            "picnic table": "table",
        }
    },
    "attributes": {
        "price": "number",
        "quantity": "number",
        "rating": "rating",
        "period": "century",
        "condition": "condition",
        "furniture_category": "furniture",
        "material": {"values": ["oak", "pine"]},
        "seller.name": "string",
        "listed": "time",
        "size": {"values": [10, 2, 33]},
    },
    "types": {
        "antiques": {"price": "mandatory", "period": "mandatory", "quantity": "mandatory"},
        "furniture": {
            "price": "mandatory unique",
            "quantity": "mandatory",
            "furniture_category": "mandatory",
            "material": "optional",
        },
        "lot": {
            "material": "optional multiple",
            "rating": "optional",
            "condition": "optional",
            "seller.name": "optional",
            "listed": "optional",
            "size": "optional",
        },
    },
}
SCHEMA = Schema.from_dict(FORM)
BOTH = {
    "event_type": ["antiques", "furniture"],
    "price": 200,
    "quantity": 2,
    "period": "XVI",
    "furniture_category": "table",
}
