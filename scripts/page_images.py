"""Takes the pictures of the service's page that the documentation shows: `make images`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

from service.serving import Served, served, settings_in  # noqa: E402

IMAGES = REPOSITORY / "docs" / "images"
RULES = {
    "adults": "age >= 18",
    "big-spenders": "basket.total > 500 and returns < 3",
    "families": "children between 1 and 5 and city in ('Rome', 'Milan', 'Turin')",
    "gone-quiet": "last_visit < date '2026-01-01' and not unsubscribed",
    "vip": "tier in ('gold', 'platinum') and not blocked",
}
RULE = "age >= 18 and (tier in ('gold', 'platinum') or basket.total > 200)"
EVENTS = ('{"age": 35, "tier": "gold", "city": "Rome"}', '{"age": 20, "basket": {"total": 250}}')
PICTURES = {
    "page": {"viewport": {"width": 1100, "height": 980}},
    "page-dark": {"viewport": {"width": 1100, "height": 980}, "color_scheme": "dark"},
    "page-phone": {"viewport": {"width": 390, "height": 1000}},
}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(settings_in(Path(folder))) as running,
        sync_playwright() as playwright,
    ):
        for name, rule in RULES.items():
            running.http.put(f"/rules/{name}", json={"rule": rule}).raise_for_status()
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"])
        for name, options in PICTURES.items():
            take(browser, running, name, options)
        browser.close()


def take(browser: Browser, running: Served, name: str, options: dict[str, object]) -> None:
    context = browser.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(running.url)
    use(page)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    # 128 colours are plenty for a page of text, in a third of the bytes
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
    page.click("#watched button")  # so that the next picture is of one subscription too
    page.wait_for_selector("#watched li", state="detached")
    context.close()
    print(path.relative_to(REPOSITORY), f"{path.stat().st_size:,} bytes")


def use(page: Page) -> None:
    page.fill("#rule", RULE)
    page.wait_for_selector("#rule-verdict.good")
    page.click("#subscribe")
    page.wait_for_selector("#watched li")
    for number, event in enumerate(EVENTS, 1):
        page.fill("#event", event)
        page.click("#publish")
        page.wait_for_selector(f"#matches > li:nth-child({number})")
    page.click("#matches summary")
    page.wait_for_selector("#matches .nodes")
    page.locator("#event").evaluate("field => field.blur()")
    page.evaluate("scrollTo(0, 0)")


if __name__ == "__main__":
    main()
