"""Takes the pictures that the documentation shows: `make images`.

They are of the service's page and of the report page that a pipeline on Spark writes.
"""

from __future__ import annotations

import os
import subprocess
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
# A small pipeline, whose report page has something in every plot.
REPORT_RULES, REPORT_EVENTS = 20_000, 20_000
REPORT_PICTURE = {"viewport": {"width": 1100, "height": 860}}


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"])
        take_service(browser, Path(folder) / "service")
        take_report(browser, Path(folder) / "report")
        browser.close()


def take_service(browser: Browser, folder: Path) -> None:
    folder.mkdir()
    with served(settings_in(folder)) as running:
        for name, rule in RULES.items():
            running.http.put(f"/rules/{name}", json={"rule": rule}).raise_for_status()
        for name, options in PICTURES.items():
            take(browser, running, name, options)


def take_report(browser: Browser, folder: Path) -> None:
    """Runs a pipeline on Spark and takes the page of plots that it leaves."""
    if "JAVA_HOME" not in os.environ:
        script = REPOSITORY / "scripts" / "java-home.sh"
        os.environ["JAVA_HOME"] = subprocess.check_output([script], text=True).strip()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # no network is needed
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
    from pyspark.sql import SparkSession

    from matchwood.lab.workloads.spark_tables import generate, write_pipeline
    from matchwood.spark import run
    from matchwood.warm import warm_up

    warm_up()  # so that the times of the stages do not include compiling kernels
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    generate(spark, "audiences", str(folder), rules=REPORT_RULES, events=REPORT_EVENTS)
    run(write_pipeline("audiences", "parquet", folder), spark)
    spark.stop()
    page = browser.new_context(**REPORT_PICTURE).new_page()  # type: ignore[arg-type]
    page.goto((folder / "matches-report" / "page.html").as_uri())
    save(page, "report")
    page.context.close()


def take(browser: Browser, running: Served, name: str, options: dict[str, object]) -> None:
    context = browser.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(running.url)
    use(page)
    save(page, name)
    page.click("#watched button")  # so that the next picture is of one subscription too
    page.wait_for_selector("#watched li", state="detached")
    context.close()


def save(page: Page, name: str) -> None:
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    # 128 colours are plenty for a page of text, in a third of the bytes.
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
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
