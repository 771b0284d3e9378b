"""The rule language: rules, events, why a rule is true or not, and what the checker reports.

Run it with `python examples/language.py` if matchwood is installed.
"""

import json
import sys
import tempfile
from pathlib import Path

from matchwood import Matcher, RuleError, parse
from matchwood.check import check_rules

RULES = {
    "new card": "amount > 500 and card_age_days < 7",
    "odd hour": "hour not between 6 and 22 and country != home_country",
    "resale": "tags = 'gift card' or items.price > 1000",
    "stolen": "not (device_known xor country = home_country) and attempts >= 3",
    "test account": "email ilike '%@example.com' and in_network(ip, '10.0.0.0/8')",
}

EVENTS = [
    {
        "name": "a large basket, at night",
        "amount": 740.50,
        "card_age_days": 2,
        "hour": 3,
        "country": "FR",
        "home_country": "FR",
        "items": [{"price": 40}, {"price": 700.50}],
        "tags": ["gift card", "toys"],
    },
    {
        "name": "abroad, on an unknown device",
        "amount": 20,
        "hour": 23,
        "country": "BR",
        "home_country": "FR",
        "device_known": False,
        "attempts": 4,
    },
    {"name": "our own test", "amount": 1, "email": "Kim@Example.com", "ip": "10.20.30.40"},
    {"name": "groceries", "amount": 31.90, "hour": 12, "country": "FR", "home_country": "FR"},
]

# A table of rules with typical mistakes: two rules with the same meaning, a misspelt attribute, a
# rule that never matches, and one that cannot be read.
TABLE = [
    {"id": "adults", "rule": "age >= 18"},
    {"id": "grown-ups", "rule": "18 <= age"},
    {"id": "seniors", "rule": "agee >= 65"},
    {"id": "teens", "rule": "age < 13 and age > 19"},
    {"id": "gold", "rule": 'tier = "gold"'},
]
PEOPLE = [{"age": 20, "tier": "gold"}, {"age": 71, "tier": "silver"}]


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}\n")


def show_matches(matcher: Matcher) -> None:
    heading("Five rules and four events: which rules are true")
    for name, rule in RULES.items():
        print(f"  {name:<14}{rule}")
    print()
    for event in EVENTS:
        matched = ", ".join(sorted(matcher.match(event))) or "no rule"
        print(f"  {event['name']:<40}→ {matched}")


def show_why(matcher: Matcher) -> None:
    heading("Why does 'odd hour' not match the large basket, nor 'new card' the groceries?")
    print(matcher.explain("odd hour", EVENTS[0]))
    print()
    print(matcher.explain("new card", EVENTS[3]))
    print("\n  card_age_days is missing, so its predicate is undefined: neither true nor false.")


def show_an_error() -> None:
    heading("A rule with a mistake says where, and what was expected")
    try:
        parse("amount > 500 and tags in ('gift card', 7)")
    except RuleError as error:
        print(error)


def show_the_checker() -> None:
    heading(
        "Most mistakes are silent. The checker reports them: matchwood check rules.jsonl --events …"
    )
    with tempfile.TemporaryDirectory() as folder:
        rules, events = Path(folder, "rules.jsonl"), Path(folder, "people.jsonl")
        rules.write_text("".join(json.dumps(row) + "\n" for row in TABLE), encoding="utf-8")
        events.write_text("".join(json.dumps(row) + "\n" for row in PEOPLE), encoding="utf-8")
        report = check_rules([rules], events=events)
        for finding in report.findings:
            print(str(finding).replace(f"{folder}/", ""))
        print(report.summary())


def main() -> None:
    matcher = Matcher(RULES)
    show_matches(matcher)
    show_why(matcher)
    show_an_error()
    show_the_checker()
    print("\nMore: README.md, docs/language.md, and `matchwood --help` in .venv/bin.")


if __name__ == "__main__":
    main()
