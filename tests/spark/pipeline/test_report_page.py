"""The page of a run shows its figures and loads nothing from elsewhere."""

import json
import re
from html.parser import HTMLParser

from matchwood.spark.pipeline.report_page import page
from matchwood.spark.pipeline.summary import Counts, Summary, bars

SUMMARY = Summary(
    "<night> & day",
    started="2026-01-01T00:00:00+00:00",
    rules_version="0123456789abcdef",
    rules=1000,
    rules_rejected=2,
    warnings=("no column provides the attribute 'agee'",),
    counts=Counts(
        events=2000,
        events_rejected=3,
        events_matched=1500,
        matches=4000,
        matches_per_event=bars({-1: 497, 0: 100, 3: 1400}),
        rules_matched=900,
        matches_per_rule=bars({-1: 100, 2: 900}),
        top_rules=(("<b>first</b>", 70), (7, 60)),
    ),
    stages={"open": 0.5, "match": 3.0, "count": 0.5, "write": 0.5},
)


class Tags(HTMLParser):
    """The tags of a page, in order, and whether each is closed."""

    VOID = ("meta",)

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_whole_and_alone():
    text = page(SUMMARY)
    tags = Tags(text)
    assert tags.open == []
    names = [tag for tag, _ in tags.seen]
    assert names.count("svg") == 3
    assert not {"script", "link", "img", "iframe"} & set(names)
    assert not re.search(r"https?://|@import|url\(", text)
    assert "&lt;night&gt; &amp; day" in text
    assert "&lt;b&gt;first&lt;/b&gt;" in text
    for shown in ("4,000", "2,000", "3 rejected", "1,400", "8–15", "3.00 s", "'agee'"):
        assert shown.replace("'", "&#x27;") in text


def test_bars_are_as_long_as_their_numbers():
    bars_ = [a for tag, a in Tags(page(SUMMARY)).seen if tag == "rect"]
    widths = [float(a["width"]) for a in bars_]
    assert max(widths[:5]) == widths[4] > widths[0] > widths[1] > widths[2] == 0


def test_nothing_at_all_is_a_page_too():
    tags = Tags(page(Summary("empty")))
    assert tags.open == []
    # Only the time of stages is known, and what is not known is absent.
    assert [tag for tag, _ in tags.seen].count("section") == 1


def test_summary():
    form = json.loads(SUMMARY.to_json())
    assert form["events_per_second"] == 500
    assert form["seconds"] == 4.5
    assert form["top_rules"] == [
        {"rule_id": "<b>first</b>", "matches": 70},
        {"rule_id": 7, "matches": 60},
    ]
    assert form["matches_per_rule"][0] == {"low": 0, "high": 0, "count": 100}
    assert SUMMARY.sentences()[2] == "matches  4,000 of 900 rules, 2.0 per event"
