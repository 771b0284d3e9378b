"""The page of the service, in a headless Chromium."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from matchwood.service.rules.timed_matching import Suspension
from service.delivery.receiver import Receiver
from service.serving import Served, served, settings_in

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("page")]
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "chromium.sh"
expect.set_options(timeout=15_000)  # the machine may be busy with other tests
SIZES = {"desk": (1200, 900), "phone": (360, 740)}
# Relative luminance as WCAG has it, and the contrast of an element's text with what is behind it.
CONTRAST = """element => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = colour => rgb(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = element;
  while (rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const [a, b] = [light(getComputedStyle(element).color),
                  light(getComputedStyle(behind).backgroundColor)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("page"), stream_seconds=2.0)) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or subprocess.check_output(
        [str(SCRIPT), sys.executable], text=True
    )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path.strip())
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, service: Served) -> Iterator[Page]:
    service.http.put("/rules", json=[]).raise_for_status()
    yield from opened(browser, service.url)


def opened(browser: Browser, url: str, size: str = "desk", **more: Any) -> Iterator[Page]:
    """A page in a browser context of its own; errors on its console fail the test."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    page = context.new_page()
    page.set_default_timeout(15_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text)
            if message.type in ("error", "warning") and "status of 4" not in message.text
            else None
        ),
    )
    page.goto(f"{url}/")
    expect(page.locator("#status")).not_to_have_text("…")
    yield page
    context.close()
    assert not wrong


def subscribe(page: Page, rule: str) -> None:
    page.fill("#rule", rule)
    page.click("#subscribe")
    expect(page.locator("#rule-done")).to_contain_text("its matches appear below")


def test_a_rule_is_checked_as_it_is_typed(page: Page) -> None:
    verdict = page.locator("#rule-verdict")
    page.locator("#rule").press_sequentially("age >= 18 and tier in ('gold'")
    expect(verdict).to_contain_text("column 30: expected ',' or ')', found the end of the rule")
    line, caret = verdict.locator("pre").inner_text().split("\n")
    assert (line, caret.index("^")) == ("age >= 18 and tier in ('gold'", 29)
    expect(page.locator("#rule")).to_have_attribute("aria-invalid", "true")
    page.locator("#rule").press_sequentially(")")
    expect(verdict).to_have_text("✓ Uses age, tier")
    expect(page.locator("#rule")).to_have_attribute("aria-invalid", "false")
    page.fill("#rule", "near(city, 'Rome')")
    expect(verdict).to_contain_text("no operator is registered as 'near'")


def test_matches_arrive_and_say_why(page: Page, service: Served) -> None:
    subscribe(page, "age >= 18 and (tier = 'gold' or not blocked)")
    page.fill("#event", '{"age": 20, "tier": "gold"}')
    page.click("#publish")
    expect(page.locator("#event-done")).to_contain_text("1 subscription matches")
    matches = page.locator("#matches > li")
    expect(matches).to_have_count(1)
    service.publish([{"age": 5, "tier": "gold"}, {"age": 30, "blocked": False}])
    expect(matches).to_have_count(2)
    expect(matches.first).to_contain_text('{"age":30,"blocked":false}')  # the newest
    matches.first.locator("summary").click()
    nodes = matches.first.locator(".nodes li")
    expect(nodes).to_have_count(6)
    expect(nodes.nth(1)).to_have_text("✓ true  age >= 18age: 30", use_inner_text=False)
    expect(nodes.nth(3)).to_contain_text("? undefined")
    expect(nodes.nth(3)).to_contain_text("tier: missing")
    expect(nodes.nth(5)).to_contain_text("✗ false")


def test_streams_that_end_are_resumed_and_nothing_comes_twice(page: Page, service: Served) -> None:
    subscribe(page, "resumed >= 0")
    for number in range(4):  # over three seconds, where a stream ends after two
        service.publish({"resumed": number})
        time.sleep(0.8)
    expect(page.locator("#matches > li")).to_have_count(4)
    texts = page.locator("#matches summary code").all_inner_texts()
    assert texts == [f'{{"resumed":{number}}}' for number in (3, 2, 1, 0)]


def test_many_subscriptions_leave_connections_for_the_rest(page: Page, service: Served) -> None:
    """A browser opens six connections to a host; one stream per subscription would use them up."""
    for number in range(8):
        subscribe(page, f"several >= {number}")
    expect(page.locator("#watched li")).to_have_count(8)
    service.publish({"several": 9})
    expect(page.locator("#matches > li")).to_have_count(8)
    page.click("#watched li:nth-child(8) button")  # another one has the stream now
    expect(page.locator("#watched li")).to_have_count(7)
    service.publish({"several": 6})
    expect(page.locator("#matches > li")).to_have_count(15)
    page.fill("#rule", "still =")
    expect(page.locator("#rule-verdict")).to_contain_text("expected")


def test_what_is_watched_outlives_a_reload_until_it_is_cancelled(
    page: Page, service: Served
) -> None:
    subscribe(page, "kept = 1")
    page.reload()
    expect(page.locator("#watched li")).to_contain_text("kept = 1")
    service.publish({"kept": 1})
    expect(page.locator("#matches > li")).to_have_count(1)
    page.click("#pause")
    service.publish({"kept": 1})
    expect(page.locator("#live-status")).to_contain_text("(1 more while paused)")
    page.click("#pause")
    expect(page.locator("#matches > li")).to_have_count(2)
    before = service.http.get("/status").json()["subscriptions"]
    with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        page.click("#watched button")
    expect(page.locator("#watched li")).to_have_count(0)
    assert service.http.get("/status").json()["subscriptions"] == before - 1
    page.click("#clear")
    expect(page.locator("#matches > li")).to_have_count(0)


def test_which_rules_match_and_why_others_do_not(page: Page) -> None:
    for name, rule in (("adults", "age >= 18"), ("old & grey", "age >= 60 and grey")):
        page.fill("#rule", rule)
        page.fill("#rule-id", name)
        page.click("#save")
        expect(page.locator("#rule-done")).to_have_text(f"Rule {name} created.")
    page.fill("#event", '{"age": 20}')
    page.click("#match")
    expect(page.locator("#event-done .match")).to_have_text(["adults"])
    expect(page.locator("#near li").first).to_contain_text("lacks age >= 60")
    page.click("#near button")
    dialog = page.locator("#dialog")
    expect(dialog).to_contain_text("Rule old & grey")
    expect(dialog).to_contain_text("The rule does not match.")
    expect(dialog.locator(".nodes li").nth(1)).to_contain_text("✗ false")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    page.fill("#rule", "age > 5")
    page.click("#explain")
    expect(dialog).to_contain_text("The rule matches.")


def test_lists_have_pages_and_search(page: Page, service: Served) -> None:
    rules = [{"id": f"r{n:02}", "rule": f"n = {n}", "tags": ["t"]} for n in range(23)]
    service.http.put("/rules", json=rules).raise_for_status()
    page.reload()
    rows = page.locator("#list-body tr")
    expect(rows).to_have_count(10)
    expect(page.locator("#list-count")).to_have_text("23 in total, page 1")
    expect(page.locator("#previous")).to_be_disabled()
    page.click("#next")
    expect(rows.first).to_contain_text("r10")
    page.click("#next")
    expect(rows).to_have_count(3)
    expect(page.locator("#next")).to_be_disabled()
    page.click("#previous")
    expect(rows.first).to_contain_text("r10")
    page.fill("#search", "n = 2")
    expect(rows).to_have_count(4)  # 2, 20, 21, 22
    page.fill("#event", '{"n": 3}')
    page.click("[aria-label='Explain r20 for the event']")
    expect(page.locator("#dialog")).to_contain_text("The rule does not match.")
    page.keyboard.press("Escape")
    page.click("[aria-label='Edit the rule of r21']")
    expect(page.locator("#rule")).to_have_value("n = 21")
    page.fill("#search", "nothing has this")
    expect(page.locator("#list-count")).to_contain_text("no results")


def test_with_the_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#rule")).to_be_focused()
    page.keyboard.type("keys = 1")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#watched li")).to_have_count(1)
    page.locator("#event").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type('{"keys": 1}')
    page.keyboard.press("Control+Enter")
    expect(page.locator("#matches > li")).to_have_count(1)
    page.locator("#matches summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#matches .nodes li")).to_contain_text("keys = 1")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.locator("#tab-rules").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-subscriptions")).to_be_focused()
    expect(page.locator("#list")).to_have_attribute("aria-labelledby", "tab-subscriptions")
    expect(page.locator("#list-body")).to_contain_text("keys = 1")


def test_words_of_others_are_never_markup(page: Page, service: Served) -> None:
    evil = "<img src=x onerror=document.title=1>"
    service.http.put("/rules", json=[{"id": evil, "rule": f"a = '{evil}'"}]).raise_for_status()
    page.reload()
    expect(page.locator("#list-body td").first).to_have_text(evil)
    subscribe(page, "evil is not null")
    service.publish({"evil": evil, evil: 1})
    expect(page.locator("#matches summary")).to_contain_text(evil)
    assert page.locator("img").count() == 0
    assert page.title() == "matchwood"
    policy = service.http.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_every_size_and_both_schemes(
    browser: Browser, service: Served, size: str, scheme: str
) -> None:
    long = " and ".join(f"attribute_with_a_long_name_{n} = 'value {n}'" for n in range(20))
    rules = [{"id": f"long-{n}" * 5, "rule": long, "tags": ["a", "b"]} for n in range(12)]
    service.http.put("/rules", json=rules).raise_for_status()
    for page in opened(browser, service.url, size, color_scheme=scheme):
        subscribe(page, f"x = 1 or {long}")
        service.publish({"x": 1, "text": "word" * 200})
        page.locator("#matches summary").click()
        expect(page.locator("#matches .nodes li").first).to_contain_text("true")
        page.fill("#rule", "x =")
        expect(page.locator("#rule-verdict")).to_contain_text("expected")
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) == 0
        texts = (
            "h1",
            "#status",
            "#rule",
            "#subscribe",
            "#save",
            "label[for=subscriber]",
            "a[href=docs]",
        )
        inner = (
            "#rule-verdict",
            ".truth.true",
            ".truth.undefined",
            ".nodes .seen",
            "#list-body td",
            "time",
        )
        for selector in (*texts, *inner):
            found = page.locator(selector).first.evaluate(CONTRAST)
            assert found >= 4.5, (selector, found)
        if size == "phone":
            box = page.locator("#publish").bounding_box()
            assert box is not None
            assert box["height"] >= 44  # a finger's width


def test_a_key_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    key = {"name": "a", "role": "admin", "sha256": hashlib.sha256(b"key_x").hexdigest()}
    with served(settings_in(tmp_path, keys=[key])) as running:
        for page in opened(browser, running.url):
            expect(page.locator("#status")).to_have_text("This service requires a key.")
            page.fill("#key", "key_x")
            expect(page.locator("#status")).to_have_text("0 rules, 0 subscriptions")
            subscribe(page, "x = 1")
            page.fill("#event", '{"x": 1}')
            page.click("#publish")
            expect(page.locator("#matches > li")).to_have_count(1)


def test_large_integers_are_not_rounded(page: Page, service: Served) -> None:
    """JavaScript's own numbers end at 2^53: this one would become …992."""
    subscribe(page, "big = 9007199254740993")
    page.fill("#event", '{"big": 9007199254740993, "price": 1.0}')
    page.click("#publish")
    expect(page.locator("#event-done")).to_contain_text("1 subscription matches")
    match = page.locator("#matches summary code")
    expect(match).to_have_text('{"big":9007199254740993,"price":1.0}')
    page.locator("#matches summary").click()
    expect(page.locator("#matches .nodes li")).to_contain_text("✓ true")
    page.click("#explain")
    expect(page.locator("#dialog")).to_contain_text("The rule matches.")
    page.keyboard.press("Escape")
    service.http.put("/rules", json=[{"id": "big", "rule": "big = 9007199254740993"}])
    page.click("#match")
    expect(page.locator("#event-done .match")).to_have_text(["big"])


def test_a_rule_that_is_edited_keeps_all_else(page: Page, service: Served) -> None:
    kept = {"tags": ["t"], "priority": 5, "data": {"n": 2**53 + 1, "x": [1.0, None]}}
    rule = {"id": "a\nb", "rule": "n = 1", **kept}
    service.http.put("/rules", json=[rule, {"id": "..", "rule": "n = 2"}]).raise_for_status()
    page.reload()
    page.click("[aria-label^='Edit the rule of a']")
    expect(page.locator("#rule")).to_have_value("n = 1")
    page.fill("#rule", "n = 3")
    with page.expect_request(lambda request: request.method == "PUT") as saved:
        page.click("#save")
    assert saved.value.post_data_json == {"rule": "n = 3", **kept}
    page.click("[aria-label='Edit the rule of ..']")
    expect(page.locator("#rule-id")).to_have_value("..")
    page.fill("#rule", "n = 4")
    page.click("#save")
    expect(page.locator("#rule-done")).to_have_text("Rule .. updated.")
    found = {one["id"]: one["rule"] for one in service.http.get("/rules").json()["rules"]}
    assert found == {"..": "n = 4", "a\nb": "n = 3"}


@pytest.mark.parametrize(
    "text", ["東京東京 =", "'👩‍🚀👩‍🚀' = = 1", "a\t\t= 'é' = = 1", "x = 1 and\n東 ="]
)
def test_a_caret_is_below_its_place(page: Page, text: str) -> None:
    page.fill("#rule", text)
    pre = page.locator("#rule-verdict pre")
    expect(pre).to_have_count(1)
    # Where the caret is, and where the character above it is, in pixels.
    caret, above = pre.evaluate(
        """pre => {
          const [line, unseen, caret] = pre.childNodes;
          const left = (node, at) => {
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, Math.min(at + 1, node.length));
            return range.getBoundingClientRect().left;
          };
          return [left(caret, 0), left(line, Math.min(unseen.textContent.length, line.length - 1))];
        }"""
    )
    assert abs(caret - above) < 2


def test_the_description_of_the_api_loads_nothing_from_elsewhere(
    browser: Browser, service: Served
) -> None:
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    asked: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(f"{service.url}/docs")
    expect(opened.locator("#status")).to_contain_text("Version")
    publish = opened.locator("summary", has_text="POST /events")
    publish.click()
    expect(opened.locator("details[open]")).to_contain_text("application/x-ndjson")
    expect(opened.locator("#model-RuleIn")).to_have_count(1)
    context.close()
    assert all(url.startswith(service.url) for url in asked), asked
    assert not wrong
    policy = service.http.get("/docs").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert service.http.get("/redoc").status_code == 404


def becomes_empty(page: Page, tab: str) -> None:
    """A list shows what there is when it is opened, and a delivery takes a moment."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        page.click(tab)
        try:
            return expect(page.locator("#list-count")).to_contain_text("no results", timeout=500)
        except AssertionError:
            continue
    expect(page.locator("#list-count")).to_contain_text("no results")


def test_failing_webhooks_and_dead_letters_are_seen_and_handled(
    browser: Browser, tmp_path: Path
) -> None:
    receiver = Receiver()
    receiver.answer = lambda message: 500
    key = {"name": "a", "role": "admin", "sha256": hashlib.sha256(b"key_x").hexdigest()}
    webhooks = {"private_addresses": True, "first_delay": 600, "longest_delay": 600}
    hostile = "<img src=x onerror=document.title=1>"
    try:
        with served(settings_in(tmp_path, keys=[key], webhooks=webhooks)) as running:
            running.http.headers["Authorization"] = "Bearer key_x"
            delivery = {"kind": "webhook", "url": receiver.url}
            made = running.subscribe("n >= 0", delivery=delivery)
            running.publish([{"n": 9007199254740993, hostile: hostile}, {"n": 1}])
            for page in opened(browser, running.url):
                page.fill("#key", "key_x")
                expect(page.locator("#status")).to_have_text("0 rules, 1 subscription")
                page.click("#tab-deliveries")
                row = page.locator("#list-body tr")
                expect(row).to_contain_text("answered 500")
                expect(row).to_contain_text("2 since")
                page.click(f"[aria-label='Retry {made['id']} now']")
                page.click("#tab-deliveries")
                expect(row).to_contain_text("2, again")
                receiver.answer = lambda message: 204
                page.click(f"[aria-label='Skip event 1 of {made['id']}']")
                becomes_empty(page, "#tab-deliveries")
                page.click("#tab-dead-letters")
                expect(row).to_contain_text("skipped by hand: answered 500")
                expect(row).to_contain_text("9007199254740993")
                expect(row).to_contain_text(hostile)
                page.click("[aria-label='Send letter 1 again']")
                becomes_empty(page, "#tab-dead-letters")
                assert page.locator("img").count() == 0
            assert receiver.numbers()[-1] == 9007199254740993
    finally:
        receiver.close()


def test_a_suspended_rule_says_why(page: Page, service: Served) -> None:
    service.http.put("/rules/slow", json={"rule": "n = 1"}).raise_for_status()
    service.service.rules.suspend([Suspension("slow", "it took <b>long</b>")])
    page.reload()
    expect(page.locator("#list-body .suspended")).to_have_text("Suspended: it took <b>long</b>")
    page.click("[aria-label='Edit the rule of slow']")
    page.fill("#rule", "n = 2")
    page.click("#save")
    expect(page.locator("#rule-done")).to_have_text("Rule slow updated.")
    expect(page.locator("#list-body .suspended")).to_have_count(0)


def test_operators_delete_cancel_and_see_webhooks_and_rates(
    browser: Browser, tmp_path: Path
) -> None:
    key = {"name": "a", "role": "admin", "sha256": hashlib.sha256(b"key_x").hexdigest()}
    hostile = "<img src=x onerror=document.title=1>"
    url = "http://203.0.114.1/<script>document.title=1</script>"
    with served(settings_in(tmp_path, keys=[key])) as running:
        running.http.headers["Authorization"] = "Bearer key_x"
        rules = [{"id": hostile, "rule": "n = 1"}, {"id": "..", "rule": f"a = '{hostile}'"}]
        running.http.put("/rules", json=rules).raise_for_status()
        pull = running.subscribe(f"a = '{hostile}'", subscriber=hostile)
        hook = running.subscribe("n = 1", delivery={"kind": "webhook", "url": url})
        running.publish({"other": 1})
        running.run(running.service.rates.take())
        for page in opened(browser, running.url):
            page.fill("#key", "key_x")
            expect(page.locator("#status")).to_have_text("2 rules, 2 subscriptions")
            expect(page.locator("#rate-list li").first).to_contain_text("Events")
            expect(page.locator("#rate-list li").first).to_contain_text("per second")
            rows, count = page.locator("#list-body tr"), page.locator("#list-count")
            page.once("dialog", lambda dialog: dialog.dismiss())
            page.click("[aria-label='Delete the rule ..']")
            expect(rows).to_have_count(2)
            for left, name in ((1, ".."), (0, hostile)):
                page.once("dialog", lambda dialog: dialog.accept())
                page.click(f"[aria-label='Delete the rule {name}']")
                expect(rows).to_have_count(left)
            page.click("#tab-webhooks")
            expect(rows).to_have_count(1)
            expect(rows).to_contain_text(url)
            page.click(f"[aria-label='State of {hook['id']}']")
            expect(page.locator("#dialog")).to_contain_text("waiting: 0")
            page.keyboard.press("Escape")
            page.fill("#search", "203.0.114.1")
            expect(rows).to_have_count(1)
            page.fill("#search", "nothing has this")
            expect(count).to_contain_text("no results")
            page.fill("#search", "")
            page.click("#tab-subscriptions")
            expect(rows).to_have_count(2)
            for left, made in ((1, pull), (0, hook)):
                page.once("dialog", lambda dialog: dialog.accept())
                page.click(f"[aria-label='Cancel the subscription {made['id']}']")
                expect(rows).to_have_count(left)
            running.http.put("/lists/a%3Fb%27%23", json=["x", 5]).raise_for_status()
            page.click("#tab-value-lists")
            expect(rows).to_contain_text("a?b'#2")
            page.once("dialog", lambda dialog: dialog.accept())
            page.click("#list-body button")
            expect(rows).to_have_count(0)
            assert page.locator("img").count() == 0
            assert page.title() == "matchwood"
        assert running.http.get("/status").json()["subscriptions"] == 0
        assert running.http.get("/rules").json()["count"] == 0
